//! Everything that is wrong with a text, structure and values: what is at fault is mended in a copy, and the copy is looked
//! at again. Pure.

use serde_json::Value;

use super::check::check;
use super::config::PlatformConfig;
use super::decode::decode;
use super::finding::Finding;
use super::positions::Positions;

/// So many faults of structure are looked for. Each takes another decoding.
const MOST: usize = 20;

/// What the text says.
///
/// # Errors
/// Every finding, in the order of the text.
pub(super) fn decode_and_check(text: &str) -> Result<PlatformConfig, Vec<Finding>> {
    let mut findings = Vec::new();
    let config = match decode(text) {
        Ok(config) => Some(config),
        Err(finding) => mended(text, finding, &mut findings),
    };
    let values = config.iter().flat_map(check);
    // What follows from a value that stands in for a wrong one is nobody's fault.
    let is_own = |finding: &Finding| {
        !findings.iter().any(|known| finding.key == known.key || finding.problem.contains(&known.key))
    };
    let values: Vec<_> = values.filter(is_own).collect();
    findings.extend(values);
    match config {
        Some(config) if findings.is_empty() => return Ok(config),
        _ => {}
    }
    let positions = Positions::in_text(text);
    for finding in &mut findings {
        finding.position = positions.nearest(&finding.key).or(finding.position);
    }
    findings.sort_by_key(|finding| finding.position);
    Err(findings)
}

/// What the text would say without the faults of its structure, which are put into `findings`; `None` where one cannot be
/// mended.
fn mended(text: &str, first: Finding, findings: &mut Vec<Finding>) -> Option<PlatformConfig> {
    // As strict as the decoding: `yes` stays a text.
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let (mut copy, mut next) = (serde_saphyr::from_str_with_options::<Value>(text, options).ok(), first);
    let built_in = serde_saphyr::from_str::<Value>(&super::Platform::built_in().to_yaml()).ok()?;
    loop {
        let is_known = findings.iter().any(|known| known.key == next.key);
        if is_known {
            return None;
        }
        let key = next.key.clone();
        findings.push(next);
        let copy = copy.as_mut().filter(|_| findings.len() < MOST)?;
        mend(copy, &built_in, &key)?;
        match decode(&serde_saphyr::to_string(copy).ok()?) {
            Ok(config) => return Some(config),
            Err(finding) => next = finding,
        }
    }
}

/// Puts the built-in value in the place of the one at that path, or takes it out where there is none.
fn mend(value: &mut Value, built_in: &Value, path: &str) -> Option<()> {
    match value {
        Value::Array(members) => {
            let (position, rest) = path.strip_prefix('[')?.split_once(']')?;
            let position: usize = position.parse().ok()?;
            if rest.is_empty() {
                (position < members.len()).then(|| drop(members.remove(position)))
            } else {
                mend(members.get_mut(position)?, &Value::Null, rest)
            }
        }
        Value::Object(fields) => {
            let path = path.strip_prefix('.').unwrap_or(path);
            // A key may have dots.
            let is_next = |key: &&String| {
                path.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
            };
            let next =
                fields.keys().filter(|key| *key == path || is_next(key)).max_by_key(|key| key.len()).cloned();
            match next {
                Some(key) if key != path => {
                    let below = built_in.get(&key).unwrap_or(&Value::Null);
                    mend(fields.get_mut(&key)?, below, path.strip_prefix(key.as_str())?)
                }
                next => match built_in.get(path) {
                    Some(stands_in) => {
                        fields.insert(path.to_owned(), stands_in.clone());
                        Some(())
                    }
                    None => fields.remove(&next?).map(drop),
                },
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rest: &str) -> Vec<String> {
        let head = "apiVersion: config.platform.evillgenius.com/v1alpha1\nkind: PlatformConfig\n";
        let findings = decode_and_check(&format!("{head}{rest}")).unwrap_err();
        findings.iter().map(|finding| finding.to_string().split(" is ").next().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_fault_of_structure_is_found_and_every_value_beside_it() {
        let text = "\
size: {}
images:
  apps:
    a.b: {image: a, environments: {production: b}}
    c: text
  starters:
    go: {image: g, command: [a, [b]]}
sizes:
  lowMem: {cpu: lots, memory: 256Mi}
  highMem: {cpu: 500m}
  highCPU: {cpu: 2, memory: 1Gi, mem: 1}
  balanced: {cpu: 1, memory: 1Gi}
frameworks:
  java: {port: http, startupSeconds: soon}
environments:
  dev: {spread: yes, maxSurge: 0, maxUnavailable: 0}
  stage: {spread: on}
  prod: {}
";
        let told = told(text);
        let keys: Vec<_> = told.iter().map(|one| one.split_once(": ").unwrap().1).collect();
        assert_eq!(
            keys,
            [
                "size",
                "images.apps.a.b.environments.production",
                "images.apps.c must be a mapping of keys to values",
                "images.starters.go.command[1] must be one text",
                "sizes.lowMem.cpu",
                "sizes.highMem.memory",
                "sizes.highCPU.mem",
                "frameworks.python",
                "frameworks.go",
                "frameworks.java.port must be a whole number",
                "frameworks.java.startupSeconds must be a whole number",
                "environments.dev.spread must be true or false",
                "environments.dev.maxUnavailable",
                "environments.stage.spread must be true or false",
            ],
            "{told:#?}"
        );
    }

    #[test]
    fn what_stands_in_for_a_wrong_value_is_nobodys_fault() {
        let text = "\
frameworks:
  java: {port: 80, startupSeconds: soon}
  python: {port: 80, startupSeconds: 9}
  go: {port: 80, startupSeconds: 9}
environments:
  dev: {progressDeadlineSeconds: 100}
  stage: {}
  prod: {}
";
        assert_eq!(told(text), ["4:20: frameworks.java.startupSeconds must be a whole number"]);
    }

    #[test]
    fn what_is_no_yaml_is_one_fault() {
        assert_eq!(told("sizes: [\n").len(), 1);
        assert_eq!(told("kind: Other\n").len(), 1, "a key that is there twice");
    }
}

//! EGApps from files, folders and standard input. File I/O.

use std::fs;
use std::io::{self, Read as _, stdin};
use std::path::{Path, PathBuf};

use egapp_api::v1alpha1::EGApp;
use kube::Resource;
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;

use crate::error::Error;
use crate::{names, output, schema};

/// An EGApp as its author wrote it.
pub(crate) struct Document {
    /// What was written.
    pub(crate) raw: Value,
    /// The same with all defaults, and a namespace.
    pub(crate) app: EGApp,
}

impl Document {
    pub(crate) fn name(&self) -> &str {
        self.app.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> &str {
        self.app.metadata.namespace.as_deref().unwrap_or_default()
    }
}

/// Every EGApp that stands there; those that name no namespace are of the `chosen` one, else of `namespace`. Those that
/// name another than the chosen one are refused, as kubectl refuses them.
pub(crate) fn read(paths: &[PathBuf], chosen: Option<&str>, namespace: &str) -> Result<Vec<Document>, Error> {
    let documents = read_all(paths, chosen.unwrap_or(namespace))?;
    let is_elsewhere = |one: &&Document| chosen.is_some_and(|chosen| one.namespace() != chosen);
    match documents.iter().find(is_elsewhere) {
        Some(elsewhere) => Err(Error::Elsewhere {
            name: elsewhere.name().to_owned(),
            namespace: elsewhere.namespace().to_owned(),
            chosen: chosen.unwrap_or_default().to_owned(),
        }),
        None => Ok(documents),
    }
}

fn read_all(paths: &[PathBuf], namespace: &str) -> Result<Vec<Document>, Error> {
    let (schema, mut documents) = (schema::spec(), Vec::new());
    for path in paths {
        for path in files(path).map_err(unreadable(path))? {
            let (origin, text) = text(&path).map_err(unreadable(&path))?;
            documents.extend(parse(&origin, &text, namespace, &schema)?);
        }
    }
    if documents.is_empty() {
        let origins: Vec<_> = paths.iter().map(|path| title(path)).collect();
        return Err(Error::Empty { origin: origins.join(", ") });
    }
    Ok(documents)
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let title = title(path);
    move |source| Error::Read { path: title.into(), source }
}

fn title(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The file itself, or the manifests in a folder, as kubectl takes them; a kustomization is none.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        ["yaml", "yml", "json"].contains(&extension) && file.file_stem() != Some("kustomization".as_ref())
    });
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> io::Result<(String, String)> {
    let mut text = String::new();
    if path == Path::new("-") {
        stdin().read_to_string(&mut text)?;
    } else {
        text = fs::read_to_string(path)?;
    }
    Ok((title(path), text))
}

fn parse(origin: &str, text: &str, namespace: &str, schema: &Value) -> Result<Vec<Document>, Error> {
    // A folder of manifests in one stream has no limit of its own; each document has.
    let budget = serde_saphyr::budget! { max_documents: usize::MAX };
    let options = serde_saphyr::options! { with_snippet: false, budget: budget };
    let values: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        let problem = error.render_with_formatter(&UserMessageFormatter);
        Error::NotYaml { origin: origin.to_owned(), problem }
    })?;
    let mut documents = Vec::new();
    let entries = values.into_iter().filter(|value| !value.is_null()).flat_map(entries);
    for (position, raw) in entries.enumerate() {
        match kind(&raw) {
            None => return Err(Error::NoObject { origin: origin.to_owned(), position: position + 1 }),
            Some((version, kind)) if version == EGApp::api_version(&()) && kind == EGApp::kind(&()) => {
                documents.push(document(origin, raw, namespace, schema)?);
            }
            // What belongs to an app often stands beside it: ConfigMaps, Secrets.
            Some((version, kind)) => {
                output::note(&format!("{origin}: entry {}, {kind} of {version}, is left out", position + 1));
            }
        }
    }
    Ok(documents)
}

/// The objects of a document: those of a list, as kubectl prints several, or itself.
fn entries(mut document: Value) -> Vec<Value> {
    let is_list = kind(&document).is_some_and(|(_, kind)| kind.ends_with("List"));
    match document.get_mut("items") {
        Some(Value::Array(items)) if is_list => std::mem::take(items),
        _ => vec![document],
    }
}

/// The API version and kind of a document.
fn kind(raw: &Value) -> Option<(&str, &str)> {
    Some((raw.get("apiVersion")?.as_str()?, raw.get("kind")?.as_str()?))
}

fn document(origin: &str, raw: Value, namespace: &str, schema: &Value) -> Result<Document, Error> {
    let name = raw.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let stated = raw.pointer("/metadata/namespace").and_then(Value::as_str);
    let mut problems: Vec<_> = names::problems(&name, stated).collect();
    let mut whole = raw.clone();
    match whole.get_mut("spec") {
        Some(spec) => schema::complete(spec, schema, "spec", &mut problems),
        None => problems.push("spec is missing".to_owned()),
    }
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    if let Some(fields) = whole.as_object_mut() {
        let unknown = fields.keys().filter(|field| !known.contains(&field.as_str()));
        problems.extend(
            unknown.map(|field| format!("{field} is not a field; allowed here: {}", known.join(", "))),
        );
        fields.remove("status");
    }
    let invalid = |problems| Error::Invalid { origin: origin.to_owned(), name: name.clone(), problems };
    if !problems.is_empty() {
        return Err(invalid(problems));
    }
    let mut app: EGApp = serde_json::from_value(whole).map_err(|error| invalid(vec![error.to_string()]))?;
    app.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
    Ok(Document { raw, app })
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = "apiVersion: egplatform.platform.evillgenius.com/v1alpha1\nkind: EGApp\n";

    fn problem(text: &str) -> String {
        parse("app.yaml", text, "team", &schema::spec()).err().unwrap().to_string()
    }

    #[test]
    fn several_documents_are_read_and_empty_ones_skipped() {
        let spec = "spec: {framework: go, environment: dev}\n";
        let text = format!(
            "---\n{APP}metadata: {{name: a}}\n{spec}---\n---\n{APP}metadata: {{name: b, namespace: other}}\n{spec}"
        );
        let documents = parse("app.yaml", &text, "team", &schema::spec()).unwrap();
        let names: Vec<_> = documents.iter().map(|one| (one.namespace(), one.name())).collect();
        assert_eq!(names, [("team", "a"), ("other", "b")]);
        assert_eq!(documents[0].raw["spec"].as_object().unwrap().len(), 2, "what was written stays as it is");
    }

    #[test]
    fn what_is_no_egapp_is_named() {
        assert!(problem("a: [").starts_with("app.yaml is no YAML: "));
        assert!(problem("just text").contains("entry 1 is no Kubernetes object"));
        assert!(problem(&format!("{APP}spec: {{framework: go}}\nspecc: 1")).ends_with(
            "is not valid: metadata.name is missing; spec.environment is missing; specc is not a field; allowed here: \
             apiVersion, kind, metadata, spec, status"
        ));
    }
}

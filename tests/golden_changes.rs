//! What each word and each field of an EGApp changes on its children: `tests/golden_changes/cases.yaml` has a patch of
//! the spec for each case, `changes.txt` the fields of the children that come out otherwise than for the base case,
//! which `tests/golden/java-prod` holds in full. `UPDATE_GOLDEN=1 cargo test --test golden_changes` writes it anew; look
//! at the difference before committing.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where its setting fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use egapp_api::v1alpha1::{EGApp, Environment, Framework, InstanceType};
use kube::CustomResourceExt as _;
use pe_app::controller::egapp::desired::{Children, desired};
use pe_app::controller::egapp::replicas::Replicas;
use pe_app::controller::egapp::validate::validate;
use pe_app::platform::Platform;
use serde_json::{Map, Value, json};

/// Path and value of every field.
type Leaves = BTreeMap<String, String>;

/// A patch of the base's spec, by title.
type Cases = BTreeMap<String, Map<String, Value>>;

/// Fields that change no child: while an app is suspended none is looked at, and of these two the schema takes only the
/// default.
const IDLE: [&str; 3] = ["/suspend", "/livenessProbe/successThreshold", "/startupProbe/successThreshold"];

#[test]
fn each_case_changes_what_it_did() {
    let base = leaves_of(&Map::new()).unwrap();
    let mut text = String::new();
    for (title, patch) in cases() {
        writeln!(text, "## {title}").unwrap();
        let after = leaves_of(&patch).unwrap();
        let is_gone = |child: &str| after.keys().all(|path| !path.starts_with(child));
        let gone: Vec<_> = ["budget.", "service."].into_iter().filter(|child| is_gone(child)).collect();
        for child in &gone {
            writeln!(text, "{} -> none", child.trim_end_matches('.')).unwrap();
        }
        let paths: BTreeSet<_> = base.keys().chain(after.keys()).collect();
        let is_of_gone = |path: &str| gone.iter().any(|child| path.starts_with(child));
        let changed = paths.into_iter().filter(|path| base.get(*path) != after.get(*path));
        for path in changed.filter(|path| !is_of_gone(path)) {
            let value = |leaves: &Leaves| leaves.get(path).map_or("none", String::as_str).to_owned();
            writeln!(text, "{path}: {} -> {}", value(&base), value(&after)).unwrap();
        }
        text.push('\n');
    }
    let path = file("changes.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let first = golden.lines().zip(text.lines()).find(|(golden, actual)| golden != actual);
    assert!(golden == text, "{first:?} and maybe more; UPDATE_GOLDEN=1 writes {} anew", path.display());
}

/// A framework, a size and an environment change nothing of each other's, so that the cases of the single words say all
/// of their 36 combinations. What an environment has no child for, nothing else can change.
#[test]
fn the_words_change_in_every_combination_what_they_change_alone() {
    let base = leaves_of(&Map::new()).unwrap();
    let cases = cases();
    let mut count = 0;
    for framework in Framework::ALL {
        for size in InstanceType::ALL {
            for environment in Environment::ALL {
                let words = [
                    ("framework", framework.as_str()),
                    ("instanceType", size.as_str()),
                    ("environment", environment.as_str()),
                ];
                let mut expected = base.clone();
                for (field, word) in words {
                    let title = format!("{field} {word}");
                    let alone = leaves_of(cases.get(&title).unwrap_or(&Map::new())).unwrap();
                    expected.retain(|path, _| alone.contains_key(path) || !base.contains_key(path));
                    let changed = alone.into_iter().filter(|(path, value)| base.get(path) != Some(value));
                    expected.extend(changed);
                }
                let spec = words.map(|(field, word)| (field.to_owned(), json!(word))).into_iter().collect();
                assert_eq!(leaves_of(&spec).unwrap(), expected, "{words:?}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 36);
    let single = cases.keys().filter(|title| title.contains(' ') && !title.contains(':'));
    assert_eq!(single.count(), 2 + 3 + 2, "every word but the base's has a case of its own");
}

#[test]
fn every_field_of_the_schema_has_a_case_in_which_the_children_would_differ_without_it() {
    let crd = serde_json::to_value(EGApp::crd()).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut known = BTreeSet::new();
    fields_of_schema("", spec, &mut known);
    assert!(known.len() > 100, "{known:#?}");
    let mut shown: BTreeSet<_> = IDLE.map(str::to_owned).into();
    for patch in cases().into_values() {
        let with = leaves_of(&patch).unwrap();
        let patch = Value::Object(patch);
        for (generic, pointer) in fields_of_value("", "", &patch) {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let mut without = patch.clone();
            without.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
            // What cannot be left out is required.
            if leaves_of(without.as_object().unwrap()).is_none_or(|without| without != with) {
                shown.insert(generic);
            }
        }
    }
    assert_eq!(known.difference(&shown).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!(shown.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_changes").join(name)
}

fn cases() -> Cases {
    serde_saphyr::from_str(&std::fs::read_to_string(file("cases.yaml")).unwrap()).unwrap()
}

/// All fields of the children of the base case with these fields of the spec; `None` where they make no EGApp. The
/// digests of the children say nothing more.
fn leaves_of(patch: &Map<String, Value>) -> Option<Leaves> {
    let base = std::fs::read_to_string(file("../golden/java-prod/egapp.yaml")).unwrap();
    let mut app: Value = serde_saphyr::from_str(&base).unwrap();
    app["spec"].as_object_mut().unwrap().extend(patch.clone());
    let app: EGApp = serde_json::from_value(app).ok()?;
    let replicas = match app.spec.autoscaling {
        Some(_) => Replicas::Autoscaled,
        None => Replicas::Ours(app.spec.replica_count),
    };
    let Children { deployment, service, disruption_budget, autoscaler } =
        desired(&validate(&app, &Platform::built_in()).ok()?, replicas);
    let mut leaves = Leaves::new();
    let children = json!({
        "deployment": deployment, "service": service, "budget": disruption_budget, "autoscaler": autoscaler,
    });
    collect("", &children, &mut leaves);
    leaves.retain(|path, _| !path.contains(".platform.evillgenius.com/applied-"));
    Some(leaves.into_iter().map(|(path, value)| (short(&path), value)).collect())
}

/// As `docs/mapping.md` names the parts of a Deployment.
fn short(path: &str) -> String {
    let path = path.replace("deployment.spec.template.spec.containers[app]", "container");
    path.replace("deployment.spec.template", "pod")
}

/// A list of texts is one value. Entries of a list that have names are found by them, and their order is a field of its own.
fn collect(path: &str, value: &Value, leaves: &mut Leaves) {
    match value {
        Value::Object(fields) => {
            for (name, member) in fields {
                collect(format!("{path}.{name}").trim_start_matches('.'), member, leaves);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let names: Option<Vec<_>> = items.iter().map(|item| item.get("name")?.as_str()).collect();
            for (position, item) in items.iter().enumerate() {
                let name =
                    names.as_ref().map_or_else(|| position.to_string(), |names| names[position].into());
                collect(&format!("{path}[{name}]"), item, leaves);
            }
            if let Some(names) = names.filter(|names| names.len() > 1) {
                leaves.insert(format!("{path}[]"), names.join(" "));
            }
        }
        Value::Null => {}
        scalar @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            leaves.insert(path.to_owned(), scalar.to_string());
        }
    }
}

fn fields_of_schema(path: &str, schema: &Value, fields: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        fields_of_schema(&path, property, fields);
        fields_of_schema(&path, &property["items"], fields);
        fields.insert(path);
    }
}

/// Paths of all fields in a value, as [`fields_of_schema`] has them, each with its JSON pointer.
fn fields_of_value(path: &str, pointer: &str, value: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (name, member) in value.as_object().into_iter().flatten() {
        let (path, pointer) = (format!("{path}/{name}"), format!("{pointer}/{name}"));
        fields.extend(fields_of_value(&path, &pointer, member));
        fields.push((path, pointer));
    }
    for (position, item) in value.as_array().into_iter().flatten().enumerate() {
        fields.extend(fields_of_value(path, &format!("{pointer}/{position}"), item));
    }
    fields
}

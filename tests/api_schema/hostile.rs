//! Every field with values that nobody should write. Whatever is asked, the API server answers with a refusal that
//! names the field, or with an object that the types of this release can read.

use std::collections::BTreeSet;

use egapp_api::v1alpha1::EGApp;
use futures::{StreamExt as _, stream};
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use crate::egapps::Egapps;
use crate::full::full_specs;

#[tokio::test]
async fn every_field_at_once_is_kept() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.keeps(full_specs()).await;
}

#[test]
fn full_specs_hold_every_field_of_the_schema() {
    let crd = serde_json::to_value(EGApp::crd()).unwrap();
    let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut known = BTreeSet::new();
    fields_of_schema("", &root["properties"]["spec"], &mut known);
    let mut held = BTreeSet::new();
    for spec in full_specs() {
        held.extend(pointers(&spec).iter().map(|pointer| generic(pointer)));
    }
    let missing: Vec<_> = known.difference(&held).collect();
    assert!(missing.is_empty(), "no hostile value is tried for {missing:?}");
}

#[tokio::test]
async fn hostile_values_are_refused_by_name_or_can_be_read() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let attempts = attempts();
    assert!(attempts.len() > 1000, "only {}", attempts.len());
    let refused: Vec<bool> = stream::iter(&attempts)
        .map(|attempt| is_refused_or_readable(&apps, attempt))
        .buffer_unordered(8)
        .collect()
        .await;
    let refused = refused.into_iter().filter(|refused| *refused).count();
    assert!(refused > attempts.len() / 2, "{refused} of {} refused", attempts.len());
}

/// A spec with one bad value in it.
struct Attempt {
    spec: Value,
    pointer: String,
    value: Value,
}

/// Each hostile value in each place, once where several specs or probes have the same.
fn attempts() -> Vec<Attempt> {
    let mut done = BTreeSet::new();
    let mut attempts = Vec::new();
    for spec in full_specs() {
        for pointer in pointers(&spec) {
            if !done.insert(generic(&pointer)) {
                continue;
            }
            attempts.extend(hostile_values().into_iter().map(|value| {
                let mut spec = spec.clone();
                *spec.pointer_mut(&pointer).unwrap() = value.clone();
                Attempt { spec, pointer: pointer.clone(), value }
            }));
        }
    }
    attempts
}

/// Whether it is refused; fails where it is neither.
async fn is_refused_or_readable(apps: &Egapps, Attempt { spec, pointer, value }: &Attempt) -> bool {
    let shown: String = value.to_string().chars().take(40).collect();
    let answer = apps.try_object("web", json!({ "spec": spec })).await;
    match answer.unwrap_or_else(|error| panic!("{pointer} = {shown}: {error}")) {
        Err(causes) => {
            // For a number of more than 32 bits the server names the field in the message only.
            let field = format!("spec.{}", pointer.split('/').nth(1).unwrap());
            let named = causes.iter().any(|(at, message)| at.starts_with(&field) || message.contains(&field));
            assert!(named, "{pointer} = {shown}: {causes:?}");
            true
        }
        Ok(app) => {
            if let Err(error) = serde_json::from_value::<EGApp>(app) {
                panic!("{pointer} = {shown} is stored and cannot be read: {error}");
            }
            let is_of_wrong_type = matches!(value, Value::Bool(_)) && spec_is_no_flag(pointer);
            assert!(!is_of_wrong_type, "{pointer} = {shown} is accepted");
            false
        }
    }
}

fn spec_is_no_flag(pointer: &str) -> bool {
    !["suspend", "enabled", "optional"].iter().any(|flag| pointer.ends_with(flag))
}

fn hostile_values() -> Vec<Value> {
    let mut values: Vec<_> =
        ["", " ", "\0", "\n", "..", "é\u{202e}\u{1F980}", "-", "a=b", "$(A)"].map(Value::from).into();
    values.push(json!("a".repeat(100_000)));
    values.extend([json!(null), json!(true), json!(-1), json!(0), json!(1.5), json!(i64::MAX), json!(1e300)]);
    values.extend([json!([]), json!({}), json!([null]), json!([{}]), json!([[]]), json!({ "": {} })]);
    values
}

/// JSON pointers of everything in the value.
fn pointers(value: &Value) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    below
        .into_iter()
        .flat_map(|(name, value)| {
            let inner =
                pointers(value).into_iter().map(|pointer| format!("/{name}{pointer}")).collect::<Vec<_>>();
            std::iter::once(format!("/{name}")).chain(inner)
        })
        .collect()
}

/// The pointer with one name for all entries of a list, and one for the three probes, which have one form.
fn generic(pointer: &str) -> String {
    let part = |part: &str| match part {
        "livenessProbe" | "readinessProbe" | "startupProbe" => "probe".to_owned(),
        part if part.parse::<usize>().is_ok() => "-".to_owned(),
        part => part.to_owned(),
    };
    pointer.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The pointers, as [`generic`] makes them, of all fields of a schema.
fn fields_of_schema(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        found.insert(generic(&format!("{path}/{name}")));
        fields_of_schema(&format!("{path}/{name}"), field, found);
    }
    if let Some(items) = schema.get("items") {
        found.insert(generic(&format!("{path}/-")));
        fields_of_schema(&format!("{path}/-"), items, found);
    }
}

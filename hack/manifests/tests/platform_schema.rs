//! The schema of the platform file takes what the decoder takes, and refuses what it refuses.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where its setting fails"
)]

use std::fs;
use std::path::Path;

use pe_app::platform::Platform;
use serde_json::{Value, json};

fn repository(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&repository("config/manager/platform.schema.json")).unwrap()
}

fn shipped() -> Value {
    serde_saphyr::from_str(&repository("config/manager/platform.yaml")).unwrap()
}

/// Whether `value` is valid, by the keywords that this schema uses; any other keyword ends the test.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "format" | "pattern" => true,
        "$ref" => {
            accepts(root, root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap(), value)
        }
        "type" => rule
            .as_str()
            .map_or_else(|| rule.as_array().unwrap().clone(), |name| vec![json!(name)])
            .iter()
            .any(|name| is_of_type(value, name.as_str().unwrap())),
        "const" => rule == value,
        "enum" => rule.as_array().unwrap().contains(value),
        "oneOf" | "anyOf" => rule.as_array().unwrap().iter().any(|schema| accepts(root, schema, value)),
        "required" => value.as_object().is_none_or(|fields| {
            rule.as_array().unwrap().iter().all(|name| fields.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|fields| {
            fields.iter().all(|(key, value)| rule.get(key).is_none_or(|schema| accepts(root, schema, value)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            let known = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
            fields.iter().all(|(key, value)| known(key) || (rule.is_object() && accepts(root, rule, value)))
        }),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| accepts(root, rule, item))),
        "minItems" => value.as_array().is_none_or(|items| items.len() >= size(rule)),
        "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= size(rule)),
        "maxLength" => value.as_str().is_none_or(|text| text.chars().count() <= size(rule)),
        "minimum" => value.as_i64().is_none_or(|number| number >= rule.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|number| number <= rule.as_i64().unwrap()),
        other => panic!("the schema uses {other}, which this test does not know"),
    })
}

fn size(rule: &Value) -> usize {
    rule.as_u64().unwrap().try_into().unwrap()
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "integer" && number.is_i64() || name == "number",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// What schema and decoder think of the shipped file with one value changed; `null` takes it away.
fn verdicts(pointer: &str, value: Value) -> (bool, bool) {
    let mut file = shipped();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let fields = file.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        fields.remove(key);
    } else {
        fields.insert(key.to_owned(), value);
    }
    let root = schema();
    (accepts(&root, &root, &file), Platform::from_yaml(&serde_json::to_string(&file).unwrap()).is_ok())
}

#[test]
fn the_shipped_file_is_accepted_and_names_its_schema() {
    let root = schema();
    assert!(accepts(&root, &root, &shipped()));
    let first = repository("config/manager/platform.yaml").lines().next().unwrap().to_owned();
    assert_eq!(first, "# yaml-language-server: $schema=platform.schema.json");
}

#[test]
fn what_the_decoder_takes_the_schema_takes() {
    for (pointer, value) in [
        ("/sizes", Value::Null),
        ("/images/starters", Value::Null),
        ("/images/starters", json!({})),
        ("/images/starters/java/environments", json!(["dev", "stage"])),
        ("/images/apps/billing", json!({ "environments": { "dev": "billing:main" } })),
        ("/catalogLabel", json!("")),
        ("/environments/dev", json!({})),
        ("/environments/prod/maxSurge", json!("100%")),
        ("/environments/prod/imagePullPolicy", json!("Never")),
        ("/frameworks/go/env", json!({ "A": "1", "B": "$(A)" })),
    ] {
        assert_eq!(verdicts(pointer, value.clone()), (true, true), "{pointer}: {value}");
    }
}

#[test]
fn what_the_schema_refuses_the_decoder_refuses() {
    for (pointer, value) in [
        ("/kind", Value::Null),
        ("/apiVersion", json!("v1")),
        ("/size", json!({})),
        ("/sizes/balanced", Value::Null),
        ("/sizes/lowMem/cpus", json!("1")),
        ("/sizes/lowMem/cpu", json!("")),
        ("/environments/dev/spread", json!("yes")),
        ("/environments/dev/imagePullPolicy", json!("Sometimes")),
        ("/environments/dev/maxSurge", json!(-1)),
        ("/environments/dev/maxSurge", json!([1])),
        ("/environments/dev/preStopSeconds", json!(86401)),
        ("/frameworks/go/port", json!(65536)),
        ("/frameworks/go/port", json!("http")),
        ("/frameworks/go/startupSeconds", json!(0)),
        ("/images/starters/java/environments", json!([])),
        ("/images/starters/java/environments", json!(["test"])),
        ("/images/starters/java/runAsUser", json!(0)),
        ("/images/starters/java/image", json!("a".repeat(513))),
        ("/images/apps/billing", json!("billing:1")),
    ] {
        assert_eq!(verdicts(pointer, value.clone()), (false, false), "{pointer}: {value}");
    }
}

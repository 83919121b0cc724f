//! The installed schema of EGApps, without an API server: defaults, unknown fields, types, words and bounds. Pure.
//!
//! Not the patterns and CEL rules: those the API server alone checks.

use serde_json::{Map, Value};

/// The CRD as it is installed.
const CRD: &str = include_str!("../../../config/crd/bases/egplatform.platform.evillgenius.com_egapps.yaml");

/// The schema of `spec`. `Null`, which takes everything, were the CRD not to be read.
pub(crate) fn spec() -> Value {
    let crd: Value = serde_saphyr::from_str(CRD).unwrap_or_default();
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    crd.pointer(path).cloned().unwrap_or_default()
}

/// Fills in the defaults as the API server does, and lists what it would refuse, each with its path.
pub(crate) fn complete(value: &mut Value, schema: &Value, path: &str, problems: &mut Vec<String>) {
    if let Some(problem) = problem(value, schema) {
        problems.push(format!("{path} {problem}"));
        return;
    }
    match value {
        Value::Object(fields) => in_object(fields, schema, path, problems),
        Value::Array(items) => {
            let inner = schema.get("items").unwrap_or(&Value::Null);
            for (position, item) in items.iter_mut().enumerate() {
                complete(item, inner, &format!("{path}[{position}]"), problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

fn in_object(fields: &mut Map<String, Value>, schema: &Value, path: &str, problems: &mut Vec<String>) {
    let Some(Value::Object(known)) = schema.get("properties") else { return };
    // The API server takes a null for absent where the schema does not allow it.
    fields.retain(|_, value| !value.is_null());
    for (name, inner) in known {
        if let (None, Some(default)) = (fields.get(name), inner.get("default")) {
            fields.insert(name.clone(), default.clone());
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str).filter(|name| !fields.contains_key(*name)) {
        problems.push(format!("{path}.{name} is missing"));
    }
    for (name, value) in fields {
        if let Some(inner) = known.get(name) {
            complete(value, inner, &format!("{path}.{name}"), problems);
        } else {
            let names: Vec<_> = known.keys().map(String::as_str).collect();
            problems.push(format!("{path}.{name} is not a field; allowed here: {}", names.join(", ")));
        }
    }
}

/// What is wrong with the value itself.
fn problem(value: &Value, schema: &Value) -> Option<String> {
    let type_ = schema.get("type").and_then(Value::as_str);
    let is_of_type = match type_ {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(_) | None => true,
    };
    if !is_of_type {
        return Some(format!("is {value}; it must be of type {}", type_.unwrap_or_default()));
    }
    if let Some(Value::Array(words)) = schema.get("enum")
        && !words.contains(value)
    {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return Some(format!("is {value}; use one of {}", words.join(", ")));
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    let size = match value {
        Value::String(text) => i64::try_from(text.chars().count()).ok(),
        Value::Array(items) => i64::try_from(items.len()).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let most = bound("maxLength").or_else(|| bound("maxItems"));
    if let (Some(size), Some(most)) = (size, most)
        && size > most
    {
        return Some(format!("is {size} long; it must have no more than {most}"));
    }
    let number = value.as_i64()?;
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least => Some(format!("is {number}; it must be {least} or more")),
        (_, Some(most)) if number > most => Some(format!("is {number}; it must be {most} or less")),
        _ => None,
    }
}

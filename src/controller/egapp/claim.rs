//! Which fields of a child are the operator's where its managed fields are lost. Pure; ADR 17 has the reasons.

use serde_json::{Map, Value, json};

use super::names;
use crate::controller::compare::list_keys;
use egapp_api::{GROUP, labels};

/// Members of the pod that an EGApp may have asked for, and may ask for no more.
const IN_POD: [&str; 5] = [
    "/imagePullSecrets",
    "/securityContext/runAsUser",
    "/serviceAccount",
    "/serviceAccountName",
    "/topologySpreadConstraints",
];

/// Likewise of the application's container.
const IN_CONTAINER: [&str; 10] = [
    "/args",
    "/command",
    "/env",
    "/envFrom",
    "/lifecycle/preStop",
    "/livenessProbe",
    "/ports",
    "/readinessProbe",
    "/resources",
    "/startupProbe",
];

/// Labels of Kubernetes' that the operator sets.
const RECOMMENDED: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
];

/// The set of fields (`FieldsV1`) that the operator owns of `live`, which was applied by it: what it wants, and, where it
/// wanted something else last, what is there in the places where it may have wanted more. What another manager owns as
/// well stays when an apply drops it.
#[must_use]
pub fn claim(wanted: &Value, live: &Value) -> Value {
    let mut owned = fields(wanted, "");
    if is_same(wanted, live, names::APPLIED_DIGEST) {
        return owned;
    }
    let mut former = Value::Null;
    pick_labels(live, "/metadata/labels", &mut former);
    pick(live, "/spec/ports", &mut former);
    if !is_same(wanted, live, names::APPLIED_TEMPLATE) {
        pick_template(live, &mut former);
    }
    merge(&mut owned, fields(&former, ""));
    owned
}

fn pick_template(live: &Value, former: &mut Value) {
    pick_labels(live, "/spec/template/metadata/labels", former);
    let restarted_at = escaped(names::RESTARTED_AT);
    pick(live, &format!("/spec/template/metadata/annotations/{restarted_at}"), former);
    for place in IN_POD {
        pick(live, &format!("/spec/template/spec{place}"), former);
    }
    let path = "/spec/template/spec/containers";
    let containers = live.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let is_ours = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(names::CONTAINER);
    for container in containers.filter(is_ours) {
        let mut ours = json!({ "name": names::CONTAINER });
        for place in IN_CONTAINER {
            pick(container, place, &mut ours);
        }
        put(former, path, json!([ours]));
    }
}

/// The catalogue's label says the same as ours; its key is the platform's to choose, and may have been another.
fn pick_labels(live: &Value, path: &str, former: &mut Value) {
    let found = live.pointer(path).and_then(Value::as_object);
    let app_id = found.and_then(|found| found.get(labels::APP_ID));
    for (key, value) in found.into_iter().flatten() {
        if key.starts_with(GROUP) || RECOMMENDED.contains(&key.as_str()) || Some(value) == app_id {
            put(former, &format!("{path}/{}", escaped(key)), value.clone());
        }
    }
}

fn pick(live: &Value, path: &str, former: &mut Value) {
    if let Some(found) = live.pointer(path) {
        put(former, path, found.clone());
    }
}

/// Sets the member at a JSON pointer through objects alone.
fn put(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in path.split('/').skip(1) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(step.replace("~1", "/").replace("~0", "~")).or_insert(Value::Null);
    }
    *place = value;
}

/// Every field of a value, as `metadata.managedFields` has them.
fn fields(value: &Value, field: &str) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, member)| (format!("f:{name}"), fields(member, name))).collect()
        }
        Value::Array(entries) if !list_keys(field).is_empty() => entries
            .iter()
            .map(|entry| {
                let mut inner = fields(entry, "");
                merge(&mut inner, json!({ ".": {} }));
                (format!("k:{}", keys(entry, list_keys(field))), inner)
            })
            .collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => json!({}),
    }
}

/// What names an entry of a list. An absent protocol is TCP.
fn keys(entry: &Value, keys: &[&str]) -> Value {
    let default = |key: &str| (key == "protocol").then(|| json!("TCP"));
    keys.iter()
        .filter_map(|key| Some(((*key).to_owned(), entry.get(*key).cloned().or_else(|| default(key))?)))
        .collect()
}

fn merge(set: &mut Value, other: Value) {
    match (set, other) {
        (Value::Object(set), Value::Object(other)) => {
            for (name, below) in other {
                merge(set.entry(name).or_insert_with(|| json!({})), below);
            }
        }
        (set, other) => *set = other,
    }
}

fn is_same(wanted: &Value, live: &Value, annotation: &str) -> bool {
    let said = |object: &Value| object.pointer("/metadata/annotations")?.get(annotation).cloned();
    let (wanted, live) = (said(wanted), said(live));
    wanted.is_some() && wanted == live
}

/// A field name in a JSON pointer (RFC 6901).
fn escaped(field: &str) -> String {
    field.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;

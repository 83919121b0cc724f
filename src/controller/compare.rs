//! Whether a live object has everything we want of it. Pure.
//!
//! A server-side apply of an unchanged object costs the API server as much as a real change, so only what differs
//! is applied. "Differs" is not plain inequality: the server adds defaults, other managers add fields and list
//! entries, quantities are printed in a canonical form, and most zero values read back as absent.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::quantity;

/// Lists whose entries are identified by keys (`x-kubernetes-list-map-keys` of the built-in API): entries that are
/// not ours stay. Every other list is compared as a whole.
#[must_use]
pub fn list_keys(field: &str) -> &'static [&'static str] {
    match field {
        "containers" | "initContainers" | "env" | "imagePullSecrets" | "volumes" => &["name"],
        "ports" => &["containerPort", "port", "protocol"],
        "volumeMounts" => &["mountPath"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        "ownerReferences" => &["uid"],
        _ => &[],
    }
}

/// Flags that are stored where they are false: absent, all but the last count as true.
const IS_STORED_AS_FALSE: [&str; 4] =
    ["allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks", "privileged"];

/// A field that the live object lacks or has otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where it is, for people: `spec.containers[app].image`.
    pub path: String,
    /// What is wanted there.
    pub wanted: Value,
    /// What is there; null where nothing is.
    pub found: Value,
}

/// Path of the first field of `desired` that `live` lacks or has otherwise; `None` where it has them all.
#[must_use]
pub fn first_difference(desired: &Value, live: &Value) -> Option<String> {
    differences(desired, live).into_iter().next().map(|difference| difference.path)
}

/// All fields of `desired` that `live` lacks or has otherwise.
#[must_use]
pub fn differences(desired: &Value, live: &Value) -> Vec<Difference> {
    let mut all = below(desired, live, "");
    for Difference { path, .. } in &mut all {
        if path.starts_with('.') {
            path.remove(0);
        }
    }
    all
}

/// The differences below a field of that name. Their paths are put together on the way back from them: where there are
/// none, as nearly always, nothing is allocated.
fn below(desired: &Value, live: &Value, field: &str) -> Vec<Difference> {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => in_object(desired, live, field),
        (Value::Array(desired), Value::Array(live)) => in_list(desired, live, field),
        (wanted, found) if wanted == found => Vec::new(),
        (wanted, found) => here(wanted, Some(found)),
    }
}

/// The place itself differs.
fn here(wanted: &Value, found: Option<&Value>) -> Vec<Difference> {
    let found = found.cloned().unwrap_or_default();
    vec![Difference { path: String::new(), wanted: wanted.clone(), found }]
}

fn under(step: &str, inner: Vec<Difference>) -> impl Iterator<Item = Difference> + use<'_> {
    inner.into_iter().map(move |inner| Difference { path: format!("{step}{}", inner.path), ..inner })
}

fn in_object(desired: &Map<String, Value>, live: &Map<String, Value>, field: &str) -> Vec<Difference> {
    let holds_quantities = matches!(field, "limits" | "requests");
    let mut all = Vec::new();
    for (name, wanted) in desired {
        let inner = match live.get(name) {
            Some(found) if holds_quantities && is_same_amount(wanted, found) => continue,
            Some(found) => below(wanted, found, name),
            None if is_zero(wanted) && !IS_STORED_AS_FALSE.contains(&name.as_str()) => continue,
            None => here(wanted, None),
        };
        if !inner.is_empty() {
            all.extend(under(&format!(".{name}"), inner));
        }
    }
    all
}

fn is_same_amount(desired: &Value, live: &Value) -> bool {
    match (desired.as_str(), live.as_str()) {
        (Some(desired), Some(live)) => quantity::is_equal(desired, live),
        _ => false,
    }
}

fn in_list(desired: &[Value], live: &[Value], field: &str) -> Vec<Difference> {
    let keys = list_keys(field);
    if keys.is_empty() {
        return in_whole_list(desired, live);
    }
    let (mut previous, mut all) = (None, Vec::new());
    for wanted in desired {
        let at = live.iter().position(|entry| has_same_keys(wanted, entry, keys));
        // The order of variables decides what `$(NAME)` sees.
        let is_out_of_order = field == "env" && at < previous;
        previous = at;
        let inner = match at.and_then(|at| live.get(at)) {
            Some(found) if !is_out_of_order => below(wanted, found, ""),
            found => here(wanted, found),
        };
        if !inner.is_empty() {
            all.extend(under(&format!("[{}]", title(wanted, keys)), inner));
        }
    }
    all
}

fn in_whole_list(desired: &[Value], live: &[Value]) -> Vec<Difference> {
    if desired.len() != live.len() {
        return here(&Value::from(desired), Some(&Value::from(live)));
    }
    let mut all = Vec::new();
    for (position, (wanted, found)) in desired.iter().zip(live).enumerate() {
        let inner = below(wanted, found, "");
        if !inner.is_empty() {
            all.extend(under(&format!("[{position}]"), inner));
        }
    }
    all
}

/// Whether two entries of a keyed list are the same entry. An absent protocol is TCP.
#[must_use]
pub fn has_same_keys(wanted: &Value, found: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| key_value(wanted, key) == key_value(found, key))
}

fn key_value<'a>(entry: &'a Value, key: &str) -> Cow<'a, Value> {
    match entry.get(key) {
        Some(value) => Cow::Borrowed(value),
        None if key == "protocol" => Cow::Owned(Value::from("TCP")),
        None => Cow::Owned(Value::Null),
    }
}

fn title(entry: &Value, keys: &[&str]) -> String {
    let parts = keys
        .iter()
        .filter_map(|key| entry.get(key))
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    parts.collect::<Vec<_>>().join(",")
}

/// What the server leaves out when it prints an object.
#[must_use]
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;

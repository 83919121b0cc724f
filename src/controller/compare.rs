//! Whether a live object has everything we want of it. Pure.
//!
//! A server-side apply of an unchanged object costs the API server as much as a real change, so only what differs
//! is applied. "Differs" is not plain inequality: the server adds defaults, other managers add fields and list
//! entries, quantities are printed in a canonical form, and zero values read back as absent.

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

/// Path of the first field of `desired` that `live` lacks or has otherwise; `None` where it has them all.
#[must_use]
pub fn first_difference(desired: &Value, live: &Value) -> Option<String> {
    difference(desired, live, "").map(|path| path.trim_start_matches('.').to_owned())
}

fn difference(desired: &Value, live: &Value, path: &str) -> Option<String> {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => in_object(desired, live, path),
        (Value::Array(desired), Value::Array(live)) => in_list(desired, live, path),
        (desired, live) => (!is_equal_scalar(desired, live, path)).then(|| path.to_owned()),
    }
}

fn in_object(desired: &Map<String, Value>, live: &Map<String, Value>, path: &str) -> Option<String> {
    desired.iter().find_map(|(name, wanted)| {
        let path = format!("{path}.{name}");
        match live.get(name) {
            Some(found) => difference(wanted, found, &path),
            None => (!is_zero(wanted)).then_some(path),
        }
    })
}

fn in_list(desired: &[Value], live: &[Value], path: &str) -> Option<String> {
    let field = last_field(path);
    let keys = list_keys(field);
    if keys.is_empty() {
        return in_whole_list(desired, live, path);
    }
    let mut previous = None;
    desired.iter().find_map(|wanted| {
        let title = title(wanted, keys);
        let path = format!("{path}[{title}]");
        let Some((position, found)) =
            live.iter().enumerate().find(|(_, entry)| has_same_keys(wanted, entry, keys))
        else {
            return Some(path);
        };
        // The order of variables decides what `$(NAME)` sees.
        let is_out_of_order = field == "env" && previous.is_some_and(|before| before > position);
        previous = Some(position);
        if is_out_of_order { Some(path) } else { difference(wanted, found, &path) }
    })
}

fn in_whole_list(desired: &[Value], live: &[Value], path: &str) -> Option<String> {
    if desired.len() != live.len() {
        return Some(path.to_owned());
    }
    desired
        .iter()
        .zip(live)
        .enumerate()
        .find_map(|(position, (wanted, found))| difference(wanted, found, &format!("{path}[{position}]")))
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

fn is_equal_scalar(desired: &Value, live: &Value, path: &str) -> bool {
    if desired == live {
        return true;
    }
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| last_field(parent));
    let is_quantity = matches!(parent, "limits" | "requests");
    match (desired.as_str(), live.as_str()) {
        (Some(desired), Some(live)) if is_quantity => quantity::is_equal(desired, live),
        _ => false,
    }
}

/// Name of the last field of a path, without a list position.
fn last_field(path: &str) -> &str {
    let field = path.rsplit_once('.').map_or(path, |(_, field)| field);
    field.split('[').next().unwrap_or(field)
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

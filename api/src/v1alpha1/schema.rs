//! The parts of the `EGApp` schema that no attribute of a derive can state. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// A list of conditions, keyed by type, with the bounds of `metav1.Condition` (its kubebuilder markers), which
/// `k8s-openapi` leaves out.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut item = Condition::json_schema(generator);
    if let Some(Value::Object(properties)) = item.get_mut("properties") {
        for (field, bounds) in condition_bounds() {
            if let Some(Value::Object(property)) = properties.get_mut(&field) {
                property.extend(bounds);
            }
        }
    }
    schemars::json_schema!({
        "type": "array",
        "items": item,
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

/// The bounds of each field of `metav1.Condition`.
fn condition_bounds() -> [(String, Map<String, Value>); 5] {
    let type_pattern = concat!(
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    );
    [
        ("message", json!({ "maxLength": 32768 })),
        ("observedGeneration", json!({ "minimum": 0 })),
        (
            "reason",
            json!({ "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
        ),
        ("status", json!({ "enum": ["True", "False", "Unknown"] })),
        ("type", json!({ "maxLength": 316, "pattern": type_pattern })),
    ]
    .map(|(field, bounds)| (field.to_owned(), bounds.as_object().cloned().unwrap_or_default()))
}

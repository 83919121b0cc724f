//! `spec.resources` and `status.resources`: CPU, memory and storage of one replica. Pure.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value, json};

/// What one replica asks for and may use at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules()))]
pub struct Resources {
    /// What is set aside for one replica: the scheduler looks for a node with so much left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ResourceAmounts>,

    /// What one replica may use at most. More CPU is throttled; a container that takes more memory is killed
    /// (`OOMKilled`), and a pod that takes more storage is evicted. A limit is never zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceAmounts>,
}

/// Amounts by resource, as texts of Kubernetes' quantities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceAmounts {
    /// CPUs, such as `250m` (a quarter), `"0.5"` or `2`. Unset, the default: the size's.
    #[serde(default, deserialize_with = "quantity", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "cpu")]
    pub cpu: Option<String>,

    /// Bytes of memory, such as `256Mi` or `2Gi`. Unset, the default: the size's.
    #[serde(default, deserialize_with = "quantity", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "bytes")]
    pub memory: Option<String>,

    /// Bytes on the node's disk for logs, temporary files and whatever else the container writes outside of volumes,
    /// such as `1Gi`. Unset, the default: none is set aside and there is no limit.
    #[serde(
        default,
        rename = "ephemeral-storage",
        deserialize_with = "quantity",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "bytes")]
    pub ephemeral_storage: Option<String>,
}

/// What one replica was given, by name of the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveResources {
    /// What is set aside for one replica.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "amounts")]
    pub requests: BTreeMap<String, String>,

    /// What one replica may use at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "amounts")]
    pub limits: BTreeMap<String, String>,
}

/// Decodes a quantity that is written as a number (`cpu: 2`) as its text.
pub(super) fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NumberOrText {
        Number(Number),
        Text(String),
    }
    Ok(Option::<NumberOrText>::deserialize(deserializer)?.map(|quantity| match quantity {
        NumberOrText::Number(number) => number.to_string(),
        NumberOrText::Text(text) => text,
    }))
}

/// An amount of CPU. The bounds keep every sum of them within 64 bits.
fn cpu(_: &mut SchemaGenerator) -> Schema {
    amount(
        "isQuantity(string(self)) && !quantity(string(self)).isLessThan(quantity('0')) && \
         !quantity(string(self)).isGreaterThan(quantity('1M'))",
        "must be a number of CPUs from 0 to 1M (a million), such as 250m, 0.5 or 2",
    )
}

/// An amount of memory or storage. Thousandths of a byte are what becomes of a mistyped `M`.
fn bytes(_: &mut SchemaGenerator) -> Schema {
    amount(
        "isQuantity(string(self)) && !string(self).matches('[num]$') && !quantity(string(self)).isLessThan(quantity('0')) && \
         !quantity(string(self)).isGreaterThan(quantity('1Pi'))",
        "must be a number of bytes from 0 to 1Pi, such as 256Mi or 2Gi; the suffix m would mean thousandths of a byte",
    )
}

/// A quantity, written as a number or a text, for which the rule holds.
fn amount(rule: &str, message: &str) -> Schema {
    schemars::json_schema!({
        "x-kubernetes-int-or-string": true,
        "maxLength": 32,
        "x-kubernetes-validations": [{ "rule": rule, "message": message }],
    })
}

/// Requests fit into limits, and a limit leaves room for a process.
fn rules() -> Vec<Value> {
    [("cpu", "1m"), ("memory", "1Mi"), ("ephemeral-storage", "1Mi")]
        .iter()
        .flat_map(|(resource, least)| [request_fits_limit(resource), limit_is_usable(resource, least)])
        .collect()
}

/// A malformed amount is left to the rule of its own field.
fn request_fits_limit(resource: &str) -> Value {
    let (request, limit) = (field("requests", resource), field("limits", resource));
    json!({
        "rule": format!(
            "!has(self.requests) || !has(self.limits) || !has({request}) || !has({limit}) || \
             !isQuantity(string({request})) || !isQuantity(string({limit})) || \
             !quantity(string({request})).isGreaterThan(quantity(string({limit})))"
        ),
        "fieldPath": format!(".requests.{resource}"),
        "message": format!("must not be more than limits.{resource}"),
    })
}

/// Kubernetes takes a limit of zero for none, and no process starts within a few bytes.
fn limit_is_usable(resource: &str, least: &str) -> Value {
    let limit = field("limits", resource);
    json!({
        "rule": format!(
            "!has(self.limits) || !has({limit}) || !isQuantity(string({limit})) || \
             !quantity(string({limit})).isLessThan(quantity('{least}'))"
        ),
        "fieldPath": format!(".limits.{resource}"),
        "message": format!("must be {least} or more"),
    })
}

/// The expression of a field: CEL has no '-' in names.
fn field(part: &str, resource: &str) -> String {
    format!("self.{part}.{}", resource.replace('-', "__dash__"))
}

/// Amounts by name of the resource.
fn amounts(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string", "maxLength": 64 },
        "maxProperties": 16,
    })
}

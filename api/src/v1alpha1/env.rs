//! `spec.env` and `spec.envFrom`: the environment variables of the app's container. Pure.
//!
//! The names of the fields are those of `core/v1`; what no pod accepts cannot be written.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::references::{EntriesReference, EntryReference};
use super::{resources, schema};

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "!(has(self.value) && has(self.valueFrom))",
    "message": "must have either value or valueFrom, not both",
}]))]
pub struct EnvVar {
    /// Name of the variable. Required, and unique in the list: printable ASCII characters except '='.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[ -<>-~]+$')",
        "message": "must be the name of a variable: one or more printable ASCII characters except '='",
    }]))]
    pub name: String,

    /// Value of the variable, always text: write numbers and booleans in quotes. Default: the empty text.
    ///
    /// `$(NAME)` is replaced by the value of a variable that stands earlier in the list or that the operator or the
    /// platform sets, such as `POD_NAME`; an unknown name stays as it is, and `$$(NAME)` writes `$(NAME)`. In place of one
    /// of the operator's or the platform's, the variable's own name is that one's value: `$(JAVA_TOOL_OPTIONS) -Dx=y` adds
    /// to it. `POD_NAME` and, for `go`, `GOMEMLIMIT` cannot be added to: only the node knows their values. Of two
    /// variables that refer to each other, one finds the name unknown. Put large texts in a ConfigMap: all values together must have no more than 128000 characters. Do not put secrets here: everybody
    /// who may read the EGApp sees them. Use `valueFrom.secretKeyRef`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::argument")]
    pub value: Option<String>,

    /// Where the value comes from instead: exactly one of `fieldRef`, `resourceFieldRef`, `configMapKeyRef` and
    /// `secretKeyRef`. It is read once, when the container starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of a variable comes from: exactly one is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "[has(self.fieldRef), has(self.resourceFieldRef), has(self.configMapKeyRef), has(self.secretKeyRef)]\
             .exists_one(given, given)",
    "message": "must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef",
}]))]
pub struct EnvVarSource {
    /// A field of the pod, such as its name or address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<FieldReference>,

    /// A CPU, memory or storage amount of the app's container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldReference>,

    /// An entry of a ConfigMap. A later change of the ConfigMap does not restart the pods: set `restartedAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<EntryReference>,

    /// An entry of a Secret. The operator never reads it. A later change of the Secret does not restart the pods: set
    /// `restartedAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<EntryReference>,
}

/// A field of the pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldReference {
    /// Which field. Required: one of `metadata.name`, `metadata.namespace`, `metadata.uid`, `spec.nodeName`,
    /// `spec.serviceAccountName`, `status.hostIP`, `status.hostIPs`, `status.podIP`, `status.podIPs`,
    /// `metadata.labels['KEY']` and `metadata.annotations['KEY']`.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = [pod_field()]))]
    pub field_path: String,
}

/// An amount of the app's container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [divisor_fits_resource()]))]
pub struct ResourceFieldReference {
    /// Which amount: a request or a limit of `cpu`, `memory` or `ephemeral-storage`. Required. A limit that the
    /// container does not have reads as what the whole node offers.
    #[schemars(extend("enum" = [
        "limits.cpu", "limits.ephemeral-storage", "limits.memory",
        "requests.cpu", "requests.ephemeral-storage", "requests.memory",
    ]))]
    pub resource: String,

    /// Unit of the value, which is rounded up to a whole number of it: `1` or `1m` for CPU, `1` or a power such as
    /// `1Mi` for bytes. Default: 1, so 250m of CPU read as 1.
    #[serde(default, deserialize_with = "resources::quantity", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "divisor")]
    pub divisor: Option<String>,
}

/// A whole ConfigMap or Secret, each entry of which becomes a variable: exactly one is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.configMapRef) != has(self.secretRef)",
    "message": "must have exactly one of configMapRef and secretRef",
}]))]
pub struct EnvFromSource {
    /// Text to put before each key. Default: none. Printable ASCII characters except '='.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[ -<>-~]*$')",
        "message": "must be the start of the name of a variable: printable ASCII characters except '='",
    }]))]
    pub prefix: Option<String>,

    /// The entries of a ConfigMap. A later change of the ConfigMap does not restart the pods: set `restartedAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<EntriesReference>,

    /// The entries of a Secret. The operator never reads it. A later change of the Secret does not restart the pods:
    /// set `restartedAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<EntriesReference>,
}

/// The fields that a variable can take from its pod: those of `core/v1`, with the keys of labels and annotations as
/// qualified names.
fn pod_field() -> Value {
    let key = concat!(
        r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
        r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    );
    json!({
        "rule": format!(
            "self in ['metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName', \
             'status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'] || \
             self.matches('^metadata\\\\.(labels|annotations)\\\\[\\'{key}\\'\\\\]$')"
        ),
        "message": "must be one of metadata.name, metadata.namespace, metadata.uid, spec.nodeName, \
                    spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP, status.podIPs, \
                    metadata.labels['KEY'] and metadata.annotations['KEY']",
    })
}

/// Unit of an amount. Kubernetes itself writes `"0"` for an unset one.
fn divisor(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "x-kubernetes-int-or-string": true,
        "enum": [
            0, "0", 1, "1", "1m", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
        ],
    })
}

/// CPU is counted in thousandths at the finest, bytes as a whole.
fn divisor_fits_resource() -> Value {
    json!({
        "rule": "!has(self.divisor) || (self.resource in ['limits.cpu', 'requests.cpu'] \
                 ? self.divisor == 0 || self.divisor == 1 || self.divisor == '0' || self.divisor == '1' || \
                   self.divisor == '1m' \
                 : self.divisor != '1m')",
        "fieldPath": ".divisor",
        "message": "must be 1 or 1m for CPU, and 1 or a power of 1000 or 1024 such as 1Mi for bytes",
    })
}

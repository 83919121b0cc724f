//! References to objects of the same namespace that the app's pods use and the operator never reads. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// An object by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectReference {
    /// Name of the object, in the namespace of the app. Required.
    #[schemars(schema_with = "schema::object_name")]
    pub name: String,
}

/// All entries of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntriesReference {
    /// Name of the object, in the namespace of the app. Required.
    #[schemars(schema_with = "schema::object_name")]
    pub name: String,

    /// Whether the app may start while the object does not exist. Default: false, so a pod waits for it and the app
    /// is not Ready until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// One entry of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryReference {
    /// Name of the object, in the namespace of the app. Required.
    #[schemars(schema_with = "schema::object_name")]
    pub name: String,

    /// Key of the entry whose content becomes the value. Required.
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')",
        "message": "must be the key of an entry: letters, digits, '-', '_' and '.', not '.' alone and not starting with \
                    '..'",
    }]))]
    pub key: String,

    /// Whether the app may start, without the variable, while the object or the entry does not exist. Default: false,
    /// so a pod waits for it and the app is not Ready until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

//! What the managed fields of a child tell: whether we own its number of replicas. Pure.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::controller::egapp::names;

/// The managers of an object's fields, each with the little that is read of its fields.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Managers(Vec<Entry>);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    manager: Option<String>,
    operation: Option<String>,
    fields_v1: Option<Fields>,
}

#[derive(Clone, Debug, Deserialize)]
struct Fields {
    #[serde(rename = "f:spec")]
    spec: Option<SpecFields>,
}

#[derive(Clone, Debug, Deserialize)]
struct SpecFields {
    #[serde(rename = "f:replicas")]
    replicas: Option<IgnoredAny>,
}

impl Managers {
    /// Whether an apply of ours set `spec.replicas`, and nobody has changed it since.
    pub(super) fn own_replicas(&self) -> bool {
        self.0.iter().any(|entry| {
            let fields = entry.fields_v1.as_ref().and_then(|fields| fields.spec.as_ref());
            entry.manager.as_deref() == Some(names::FIELD_MANAGER)
                && entry.operation.as_deref() == Some("Apply")
                && fields.is_some_and(|fields| fields.replicas.is_some())
        })
    }
}

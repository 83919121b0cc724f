//! What the managed fields of a child tell: whether we own its number of replicas, and whether what we own of it at all
//! is lost. Pure.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::controller::egapp::names;

/// Owner of all that was there before the first apply to an object without managed fields.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The managers of an object's fields, each with the little that is read of its fields.
#[derive(Clone, Debug, Default, Deserialize)]
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
    #[serde(rename = "f:metadata")]
    metadata: Option<MetadataFields>,
    #[serde(rename = "f:spec")]
    spec: Option<SpecFields>,
}

#[derive(Clone, Debug, Deserialize)]
struct MetadataFields {
    #[serde(rename = "f:annotations")]
    annotations: Option<AnnotationFields>,
}

#[derive(Clone, Debug, Deserialize)]
struct AnnotationFields {
    /// See [`names::APPLIED_DIGEST`].
    #[serde(rename = "f:egplatform.platform.evillgenius.com/applied-digest")]
    applied_digest: Option<IgnoredAny>,
}

#[derive(Clone, Debug, Deserialize)]
struct SpecFields {
    #[serde(rename = "f:replicas")]
    replicas: Option<IgnoredAny>,
}

/// How the managed fields of a child that we applied must change for us to own our part of it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    is_bare: bool,
    /// Positions, the last first, of what stands for our entry: an older one of ours, and copies.
    replaced: Box<[usize]>,
}

impl Managers {
    /// Whether an apply of ours set `spec.replicas`, and nobody has changed it since.
    pub(super) fn own_replicas(&self) -> bool {
        self.0.iter().any(|entry| {
            let fields = entry.fields_v1.as_ref().and_then(|fields| fields.spec.as_ref());
            entry.is_ours() && fields.is_some_and(|fields| fields.replicas.is_some())
        })
    }

    /// What is lost of our ownership. `is_applied`: whether an apply of ours has left its mark on the object.
    ///
    /// Who owns that mark by an update has written the object as a whole, and means nothing by it.
    pub(super) fn lost(&self, is_applied: bool) -> Option<Lost> {
        let is_owned = self.0.iter().any(Entry::is_ours) && !self.0.iter().any(Entry::is_copy);
        if is_owned || !(is_applied || self.0.is_empty()) {
            return None;
        }
        let is_replaced = |entry: &Entry| entry.is_ours() || entry.is_copy();
        let positions = self.0.iter().enumerate().filter(|(_, entry)| is_replaced(entry));
        let mut replaced: Box<[_]> = positions.map(|(position, _)| position).collect();
        replaced.reverse();
        Some(Lost { is_bare: self.0.is_empty(), replaced })
    }
}

impl Entry {
    fn is_ours(&self) -> bool {
        self.manager.as_deref() == Some(names::FIELD_MANAGER) && self.operation.as_deref() == Some("Apply")
    }

    fn is_copy(&self) -> bool {
        let metadata = self.fields_v1.as_ref().and_then(|fields| fields.metadata.as_ref());
        let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
        let owns_mark = annotations.is_some_and(|annotations| annotations.applied_digest.is_some());
        let is_ones = |name| self.manager.as_deref() == Some(name);
        self.operation.as_deref() == Some("Update")
            && (owns_mark || is_ones(BEFORE_FIRST_APPLY) || is_ones(names::FIELD_MANAGER))
    }
}

impl Lost {
    /// The operations of a JSON Patch (RFC 6902) that put `entry` in the place of what is lost.
    #[must_use]
    pub fn replacement(&self, entry: &Value) -> Vec<Value> {
        let path = "/metadata/managedFields";
        let removals =
            self.replaced.iter().map(|at| json!({ "op": "remove", "path": format!("{path}/{at}") }));
        let addition = if self.is_bare {
            json!({ "op": "add", "path": path, "value": [entry] })
        } else {
            json!({ "op": "add", "path": format!("{path}/-"), "value": entry })
        };
        removals.chain([addition]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(entries: &Value, is_applied: bool) -> Option<Lost> {
        serde_json::from_value::<Managers>(entries.clone()).unwrap().lost(is_applied)
    }

    fn entry(manager: &str, operation: &str, owns_mark: bool) -> Value {
        let mark = if owns_mark { json!({ format!("f:{}", names::APPLIED_DIGEST): {} }) } else { json!({}) };
        let fields = json!({ "f:metadata": { "f:annotations": mark } });
        json!({ "manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    #[test]
    fn an_entry_of_ours_without_a_copy_is_ownership() {
        let (ours, other) =
            (entry(names::FIELD_MANAGER, "Apply", true), entry("kubectl-edit", "Update", false));
        assert_eq!(lost(&json!([ours, other]), true), None);
        assert_eq!(lost(&json!([other]), false), None, "nobody says that it was ever ours");
        let lost = lost(&json!([other, entry("kubectl-replace", "Update", true), ours]), true).unwrap();
        assert_eq!(*lost.replaced, [2, 1]);
    }

    #[test]
    fn without_one_or_with_one_of_an_update_it_is_lost() {
        let is_lost = |entries: &Value| lost(entries, true).is_some();
        assert!(is_lost(&json!([])) && lost(&json!([]), false).is_some());
        assert!(is_lost(&json!([entry("kubectl-edit", "Update", false)])));
        assert!(is_lost(&json!([entry(names::FIELD_MANAGER, "Update", false)])));
        let ours = entry(names::FIELD_MANAGER, "Apply", true);
        assert!(is_lost(&json!([ours, entry(BEFORE_FIRST_APPLY, "Update", false)])));
        assert!(!is_lost(&json!([ours, entry("argocd", "Apply", true)])), "an apply means what it says");
    }

    #[test]
    fn the_entry_is_put_in_the_place_of_all_that_stand_for_it() {
        let bare = lost(&json!([]), true).unwrap().replacement(&json!("ours"));
        assert_eq!(bare, [json!({ "op": "add", "path": "/metadata/managedFields", "value": ["ours"] })]);
        let entries =
            json!([entry(BEFORE_FIRST_APPLY, "Update", true), entry("kubectl-edit", "Update", false)]);
        let replaced = lost(&entries, true).unwrap().replacement(&json!("ours"));
        assert_eq!(
            replaced,
            [
                json!({ "op": "remove", "path": "/metadata/managedFields/0" }),
                json!({ "op": "add", "path": "/metadata/managedFields/-", "value": "ours" }),
            ]
        );
    }
}

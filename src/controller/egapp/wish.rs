//! What is wanted of one child, and how the live one differs from it. Pure.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::claim::claim;
use super::cluster::{ChildKind, Live, Lost};
use super::deviation::Deviation;
use super::names;
use crate::controller::compare::differences;
use crate::controller::foreign::removals;
use crate::hash::fnv1a;

/// So many differences are told; more would only hide the first.
const TOLD: usize = 5;

/// A child that is wanted.
#[derive(Clone, Debug)]
pub struct Wish<K> {
    child: K,
    digest: u64,
}

/// A wish in the form in which it is compared.
#[derive(Debug)]
pub struct Comparable(Value);

impl<K: ChildKind + Serialize> Wish<K> {
    /// Wants `child`, which carries the digest of all it says in an annotation.
    #[must_use]
    pub fn new(child: K) -> Self {
        Self { digest: digest_of(&child), child }
    }

    /// A number that changes with whatever is wanted.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The object to apply. It names the one that was observed, so that the API server refuses if another has taken
    /// its place since.
    #[must_use]
    pub fn object(&mut self, live: Option<&Live<K>>) -> &K {
        self.child.meta_mut().uid = live.map(|live| live.uid.to_string());
        &self.child
    }

    /// See [`ChildKind::hand_over`].
    #[must_use]
    pub fn hand_over(&self, live: &Live<K>) -> Option<i32> {
        K::hand_over(&self.child, live)
    }

    /// The parts that the live object is compared in: identity is what found it.
    #[must_use]
    pub fn comparable(&self) -> Comparable {
        // The types of the Kubernetes API always serialise; nothing is applied if they ever did not.
        let mut value = serde_json::to_value(&self.child).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            keep(object, &["metadata", "spec"]);
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                keep(metadata, &["labels", "annotations", "ownerReferences"]);
            }
        }
        Comparable(value)
    }
}

impl Comparable {
    /// All that is not as it is wanted, what people know first: the digest among the annotations differs with every change.
    #[must_use]
    pub fn deviations<K: ChildKind>(&self, live: &Live<K>) -> Vec<Deviation> {
        let live = live_comparable(live);
        let (mut in_spec, mut rest) = (Vec::new(), Vec::new());
        for difference in differences(&self.0, &live) {
            let side = if difference.path.starts_with("spec") { &mut in_spec } else { &mut rest };
            side.push(Deviation::of_field(K::TITLE, difference));
        }
        let foreign = removals(&self.0, &live, names::CONTAINER);
        let foreign = foreign.iter().filter_map(|removal| removal.get("path")?.as_str());
        in_spec.extend(foreign.map(|path| Deviation::of_foreign(K::TITLE, path)));
        in_spec.extend(rest);
        in_spec
    }

    /// The operations that take out of the live object what contradicts the wish.
    #[must_use]
    pub fn removals<K: ChildKind>(&self, live: &Live<K>) -> Vec<Value> {
        removals(&self.0, &live_comparable(live), names::CONTAINER)
    }

    /// See [`claim`].
    #[must_use]
    pub fn claim<K: ChildKind>(&self, live: &Live<K>, lost: &Lost) -> Vec<Value> {
        let entry = json!({
            "manager": names::FIELD_MANAGER,
            "operation": "Apply",
            "apiVersion": K::api_version(&()),
            "fieldsType": "FieldsV1",
            "fieldsV1": claim(&self.0, &live_comparable(live)),
        });
        lost.replacement(&entry)
    }
}

/// Paths of what differs, for people; our own digests only where nothing else does.
#[must_use]
pub fn told<'a>(deviations: impl Iterator<Item = &'a Deviation>) -> String {
    let (rest, mut told): (Vec<_>, Vec<_>) =
        deviations.map(Deviation::path).partition(|path| path.starts_with("metadata.annotations"));
    if told.is_empty() {
        told = rest;
    }
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    let told = told.join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}

/// Whether the last apply of the live object was of the wish with that digest.
#[must_use]
pub fn is_applied<K: ChildKind>(digest: u64, live: &Live<K>) -> bool {
    live.details.as_ref().is_some_and(|details| details.applied == digest)
}

/// The digest of a wish for a child, which carries it in an annotation.
#[must_use]
pub fn digest_of<K: ChildKind>(child: &K) -> u64 {
    let annotations = child.meta().annotations.as_ref();
    let digest = annotations.and_then(|annotations| annotations.get(names::APPLIED_DIGEST));
    fnv1a(digest.map_or("", String::as_str).as_bytes())
}

fn live_comparable<K: ChildKind>(live: &Live<K>) -> Value {
    live.details.as_ref().map(|details| details.comparable()).unwrap_or_default()
}

fn keep(object: &mut Map<String, Value>, fields: &[&str]) {
    object.retain(|name, _| fields.contains(&name.as_str()));
}

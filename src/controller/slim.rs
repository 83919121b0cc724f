//! Decoding only the metadata that a controller reads. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::core::ObjectMeta;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMeta<M> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
    managed_fields: Option<M>,
}

/// Decodes `metadata` without `managedFields` and whatever else no controller here reads: managed fields alone are
/// more than half of a cached object.
///
/// # Errors
/// When a field has another type than the API says.
pub fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    Ok(metadata_with::<D, IgnoredAny>(deserializer)?.0)
}

/// The same, and what `M` makes of the managed fields.
///
/// # Errors
/// When a field has another type than the API says.
pub fn metadata_with<'de, D: Deserializer<'de>, M: Deserialize<'de>>(
    deserializer: D,
) -> Result<(ObjectMeta, Option<M>), D::Error> {
    let slim = SlimMeta::<M>::deserialize(deserializer)?;
    let metadata = ObjectMeta {
        name: slim.name,
        namespace: slim.namespace,
        uid: slim.uid,
        resource_version: slim.resource_version,
        generation: slim.generation,
        creation_timestamp: slim.creation_timestamp,
        deletion_timestamp: slim.deletion_timestamp,
        labels: slim.labels,
        annotations: slim.annotations,
        owner_references: slim.owner_references,
        finalizers: slim.finalizers,
        ..ObjectMeta::default()
    };
    Ok((metadata, slim.managed_fields))
}

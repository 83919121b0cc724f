//! EGApps as the controller sees them, those included that this release cannot decode. Pure.

use kube::core::{DeserializeGuard, ObjectMeta};

use crate::controller::key::ObjectKey;
use crate::controller::store::{Versioned, parse_resource_version};
use egapp_api::v1alpha1::EGApp;

/// A cached EGApp. One that does not decode is kept with the reason, so that it is reported and harms no other.
#[derive(Clone, Debug)]
pub struct AppEntry {
    key: ObjectKey,
    resource_version: u64,
    /// The object, or why it cannot be read.
    pub app: Result<EGApp, Undecodable>,
}

/// A stored EGApp that does not fit the types of this release.
#[derive(Clone, Debug)]
pub struct Undecodable {
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.uid`.
    pub uid: String,
    /// Whether `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// What the decoder says.
    pub error: String,
}

impl From<DeserializeGuard<EGApp>> for AppEntry {
    fn from(guard: DeserializeGuard<EGApp>) -> Self {
        let meta = guard.0.as_ref().map_or_else(|invalid| &invalid.metadata, |app| &app.metadata);
        let key = ObjectKey::of(meta);
        let resource_version = parse_resource_version(meta.resource_version.as_deref());
        let app = guard.0.map(pruned).map_err(|invalid| Undecodable::new(invalid.metadata, invalid.error));
        Self { key, resource_version, app }
    }
}

impl Undecodable {
    fn new(meta: ObjectMeta, error: String) -> Self {
        Self {
            generation: meta.generation.unwrap_or(0),
            uid: meta.uid.unwrap_or_default(),
            is_terminating: meta.deletion_timestamp.is_some(),
            error,
        }
    }
}

impl Versioned for AppEntry {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
    fn resource_version(&self) -> u64 {
        self.resource_version
    }
}

/// Without the parts of the metadata that the controller never reads, which can be most of the object.
fn pruned(mut app: EGApp) -> EGApp {
    app.metadata.managed_fields = None;
    app.metadata.annotations = None;
    app.metadata.labels = None;
    app
}

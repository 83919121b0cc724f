//! EGApps as the controller sees them, those included that this release cannot decode. Pure.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::controller::key::ObjectKey;
use crate::controller::sentence::{QUOTED, line};
use crate::controller::slim;
use crate::controller::store::{Versioned, parse_resource_version};
use egapp_api::v1alpha1::{EGApp, EGAppStatus};

/// So many finalizers are kept, for the sentence about what holds up a deletion.
const FINALIZERS: usize = 16;

/// An EGApp as it is received: only the metadata is decoded, so that one stored object that does not fit the types of
/// this release cannot fail the list of all.
#[derive(Clone, Debug, Deserialize)]
pub struct AppView {
    #[serde(deserialize_with = "slim::metadata")]
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

impl Resource for AppView {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        EGApp::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        EGApp::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        EGApp::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        EGApp::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

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
    /// The field, and what is wrong with it.
    pub error: String,
    /// The status, where that part is readable.
    pub status: Option<EGAppStatus>,
}

impl AppEntry {
    /// `metadata.uid`.
    #[must_use]
    pub fn uid(&self) -> &str {
        match &self.app {
            Ok(app) => app.metadata.uid.as_deref().unwrap_or_default(),
            Err(undecodable) => &undecodable.uid,
        }
    }
}

impl From<AppView> for AppEntry {
    fn from(view: AppView) -> Self {
        let AppView { mut metadata, spec, status } = view;
        // The controller never reads them, and they can be most of the object.
        metadata.annotations = None;
        metadata.labels = None;
        metadata.owner_references = None;
        if let Some(finalizers) = &mut metadata.finalizers {
            finalizers.truncate(FINALIZERS);
        }
        let key = ObjectKey::of(&metadata);
        let resource_version = parse_resource_version(metadata.resource_version.as_deref());
        let app = match (decode("spec", spec.as_deref()), decode("status", status.as_deref())) {
            (Ok(spec), Ok(status)) => Ok(EGApp { metadata, spec, status }),
            (Err(error), Ok(status)) => Err(Undecodable::new(metadata, error, status)),
            (_, Err(error)) => Err(Undecodable::new(metadata, error, None)),
        };
        Self { key, resource_version, app }
    }
}

/// Decodes one part of the object; the error names the field.
fn decode<T: DeserializeOwned>(part: &str, text: Option<&RawValue>) -> Result<T, String> {
    let text = text.map_or("null", RawValue::get);
    let error = |text: String| line(&text, QUOTED);
    serde_json::from_str(text).or_else(|_| {
        // A second time, for the field's name, and from a tree: a place in the text means nothing to anybody.
        let value: Value = serde_json::from_str(text).map_err(|cause| error(format!("{part}: {cause}")))?;
        serde_path_to_error::deserialize(value).map_err(|cause| match cause.path().to_string().as_str() {
            "." => error(format!("{part}: {}", cause.inner())),
            path => error(format!("{part}.{path}: {}", cause.inner())),
        })
    })
}

impl Undecodable {
    fn new(metadata: ObjectMeta, error: String, status: Option<EGAppStatus>) -> Self {
        Self {
            generation: metadata.generation.unwrap_or(0),
            uid: metadata.uid.unwrap_or_default(),
            is_terminating: metadata.deletion_timestamp.is_some(),
            error,
            status,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(spec: &Value) -> AppEntry {
        let metadata = json!({
            "namespace": "team", "name": "web", "uid": "u", "generation": 3, "resourceVersion": "7",
            "managedFields": [{ "manager": "kubectl" }], "annotations": { "large": "text" },
        });
        let view = json!({ "apiVersion": "x/v1", "kind": "EGApp", "metadata": metadata, "spec": spec });
        AppEntry::from(serde_json::from_value::<AppView>(view).unwrap())
    }

    #[test]
    fn a_readable_app_keeps_what_the_controller_reads_and_nothing_else() {
        let app = entry(&json!({ "framework": "go", "environment": "dev" })).app.unwrap();
        assert_eq!((app.spec.replica_count, app.metadata.generation), (1, Some(3)));
        assert_eq!((app.metadata.managed_fields, app.metadata.annotations, app.status), (None, None, None));
    }

    #[test]
    fn an_unreadable_app_names_the_field() {
        let error = |spec| entry(&spec).app.unwrap_err().error;
        let wrong_type = error(json!({ "framework": "go", "environment": "dev", "suspend": "maybe" }));
        assert!(wrong_type.starts_with("spec.suspend: ") && wrong_type.contains("maybe"), "{wrong_type}");
        let missing = error(json!({ "framework": "go" }));
        assert!(missing.starts_with("spec: ") && missing.contains("environment"), "{missing}");
        let no_spec = error(Value::Null);
        assert!(no_spec.starts_with("spec: "), "{no_spec}");
        let unreadable = entry(&Value::Null);
        assert_eq!((unreadable.key, unreadable.resource_version), (ObjectKey::new("team", "web"), 7));
    }
}

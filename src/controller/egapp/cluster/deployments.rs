//! Deployments as the controller sees them: identity, owner, status, and for its own the fields it may compare. Pure.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::controller::egapp::names;
use crate::controller::key::ObjectKey;
use crate::controller::slim;
use crate::controller::store::{Versioned, parse_resource_version};
use crate::hash::fnv1a;
use egapp_api::labels;
use egapp_api::v1alpha1::EGApp;

/// A Deployment as it is decoded: no managed fields, and the spec as it came.
#[derive(Clone, Debug, Deserialize)]
pub struct DeploymentView {
    #[serde(deserialize_with = "slim::metadata")]
    metadata: ObjectMeta,
    spec: Option<Value>,
    status: Option<DeploymentStatus>,
}

impl Resource for DeploymentView {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Deployment::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        Deployment::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        Deployment::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        Deployment::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A Deployment as it is cached. Of one that belongs to no EGApp only the identity is kept: enough to leave it alone.
#[derive(Clone, Debug)]
pub struct LiveDeployment {
    key: ObjectKey,
    resource_version: u64,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// The controlling owner, if there is one.
    pub controller: Option<Controller>,
    /// Everything else, where the Deployment carries an EGApp's label or owner reference.
    pub details: Option<Box<Details>>,
}

/// The owner reference with `controller: true`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Kind and name, for people: `EGApp web`.
    pub title: Box<str>,
    /// The owner's uid.
    pub uid: Box<str>,
    /// Whether it is an EGApp of the Deployment's own name.
    pub is_namesake: bool,
}

/// What is kept of a Deployment that is ours, or may be.
#[derive(Clone, Debug)]
pub struct Details {
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub is_terminating: bool,
    /// Whether its selector is exactly the one we give to an EGApp of this name.
    pub has_our_selector: bool,
    /// Its status.
    pub status: State,
    /// A number that changes with every field that may be compared. `metadata.generation` would not do: a Deployment's
    /// grows with any annotation, and the Deployment controller writes some.
    pub digest: u64,
    /// JSON of `{metadata: {labels, annotations, ownerReferences}, spec}`. Text takes a tenth of the tree's memory,
    /// and is read only when the object is reconciled.
    comparable: Box<str>,
}

/// The Deployment's own status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The generation that the Deployment controller has acted on.
    pub observed_generation: i64,
    /// Pods of all revisions.
    pub replicas: i32,
    /// Pods of the newest revision.
    pub updated_replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that have been ready for `minReadySeconds`.
    pub available_replicas: i32,
    /// Condition `Available`.
    pub is_available: bool,
    /// Condition `Progressing` is False with reason `ProgressDeadlineExceeded`.
    pub is_past_deadline: bool,
}

impl From<DeploymentView> for LiveDeployment {
    fn from(view: DeploymentView) -> Self {
        let DeploymentView { metadata, spec, status } = view;
        let key = ObjectKey::of(&metadata);
        let controller = controller_of(&metadata);
        let is_labelled = metadata
            .labels
            .as_ref()
            .is_some_and(|labels| labels.get(labels::EGAPP).map(String::as_str) == Some(key.name()));
        let is_candidate = is_labelled || controller.as_ref().is_some_and(|owner| owner.is_namesake);
        Self {
            resource_version: parse_resource_version(metadata.resource_version.as_deref()),
            uid: metadata.uid.clone().unwrap_or_default().into(),
            details: is_candidate.then(|| Box::new(Details::new(&key, metadata, spec, status))),
            controller,
            key,
        }
    }
}

impl Details {
    fn new(
        key: &ObjectKey,
        metadata: ObjectMeta,
        spec: Option<Value>,
        status: Option<DeploymentStatus>,
    ) -> Self {
        let annotations: serde_json::Map<_, _> = metadata
            .annotations
            .into_iter()
            .flatten()
            .filter(|(name, _)| is_ours(name))
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        let spec = spec.unwrap_or_default();
        let selector = json!({ "matchLabels": names::selector(key.name()) });
        let has_our_selector = spec.get("selector") == Some(&selector);
        let comparable = json!({
            "metadata": {
                "labels": metadata.labels,
                "annotations": annotations,
                "ownerReferences": metadata.owner_references,
            },
            "spec": spec,
        })
        .to_string();
        Self {
            generation: metadata.generation.unwrap_or(0),
            is_terminating: metadata.deletion_timestamp.is_some(),
            has_our_selector,
            status: status.map(State::from).unwrap_or_default(),
            digest: fnv1a(comparable.as_bytes()),
            comparable: comparable.into(),
        }
    }

    /// The fields that may be compared with desired ones.
    #[must_use]
    pub fn comparable(&self) -> Value {
        // It was written from a `Value`; were it unreadable all the same, everything would differ and be applied.
        serde_json::from_str(&self.comparable).unwrap_or_default()
    }
}

impl From<DeploymentStatus> for State {
    fn from(status: DeploymentStatus) -> Self {
        let mut state = Self {
            observed_generation: status.observed_generation.unwrap_or(0),
            replicas: status.replicas.unwrap_or(0),
            updated_replicas: status.updated_replicas.unwrap_or(0),
            ready_replicas: status.ready_replicas.unwrap_or(0),
            available_replicas: status.available_replicas.unwrap_or(0),
            ..Self::default()
        };
        for condition in status.conditions.into_iter().flatten() {
            match (condition.type_.as_deref(), condition.status.as_deref()) {
                (Some("Available"), Some("True")) => state.is_available = true,
                (Some("Progressing"), Some("False")) => {
                    state.is_past_deadline = condition.reason.as_deref() == Some("ProgressDeadlineExceeded");
                }
                _ => (),
            }
        }
        state
    }
}

impl Versioned for LiveDeployment {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }
    fn resource_version(&self) -> u64 {
        self.resource_version
    }
}

fn controller_of(metadata: &ObjectMeta) -> Option<Controller> {
    let owner = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split('/').next();
    let is_egapp = owner.kind == EGApp::kind(&()) && group == Some(&*EGApp::group(&()));
    Some(Controller {
        title: format!("{} {}", owner.kind, owner.name).into(),
        uid: owner.uid.as_str().into(),
        is_namesake: is_egapp && metadata.name.as_deref() == Some(&owner.name),
    })
}

/// Whether a label or annotation key stands under our group.
fn is_ours(key: &str) -> bool {
    key.strip_prefix(egapp_api::GROUP).is_some_and(|rest| rest.starts_with('/'))
}

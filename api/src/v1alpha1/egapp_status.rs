//! The status of an `EGApp`: what the operator reports. Pure.
//!
//! The documentation comment of a field is its text in `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::ConditionType;
use super::resources::EffectiveResources;
use super::schema;

/// What the operator last saw and did.
///
/// Every field is optional, so that any part can be written alone. Until the operator has seen an object, the API
/// server answers `observedGeneration: -1`: no client takes a brand-new app for a finished one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = { "observedGeneration": -1 }))]
pub struct EGAppStatus {
    /// Generation of the spec that this status is about: -1 until the operator has seen the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// State of the app, one condition for each aspect: `Ready` (the summary: this generation runs
    /// completely), `Available` (enough replicas serve), `Progressing` (a rollout is under way) and, only
    /// while nothing moves on without a person, `Stalled`, and, only while admission changes what an app can do
    /// without, `Overridden`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,

    /// Replicas that the app is meant to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,

    /// Replicas that exist, ready or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// Replicas that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,

    /// Replicas that run the wanted version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,

    /// Replicas that have been ready for long enough to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,

    /// Label selector of the app's pods, for autoscalers and for `kubectl get pods -l`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub selector: Option<String>,

    /// Names of the app's pods, sorted: those that are neither being deleted nor finished, starting and failing ones
    /// included. The first 100: `podsOmitted` counts the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = super::MAX_LISTED_PODS),
        inner(length(max = 253)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub pods: Vec<String>,

    /// How many pods are not listed in `pods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods_omitted: Option<i32>,

    /// Image that the app's container is meant to run, from `spec.image` or by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub image: Option<String>,

    /// CPU, memory and storage of each replica, from the size that `instanceType` names and from `spec.resources`; of
    /// running replicas, what they were given: a `LimitRange` of the namespace may add to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<EffectiveResources>,

    /// What went wrong last. It stays until the app is Ready again: while a fix rolls out, it tells what is being fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
}

/// A failure, as the condition `Ready` told it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct LastFailure {
    /// Reason of the condition `Ready` at that time.
    #[schemars(length(max = 1024))]
    pub reason: String,

    /// Message of the condition `Ready` at that time.
    #[schemars(length(max = 32768))]
    pub message: String,

    /// When it failed for this reason first, since it was last Ready.
    pub since: Time,

    /// Revision of the change of the platform that the app, Ready until then, could not be given. It halts that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub platform_change: Option<String>,
}

impl EGAppStatus {
    /// The condition of that type, if it has been reported.
    #[must_use]
    pub fn condition(&self, type_: ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_.as_str())
    }
}

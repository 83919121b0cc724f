//! The platform file's types: what its author writes. Pure.
//!
//! The comments of fields are the descriptions of the JSON Schema and the text of `docs/reference/platform.md`, so they
//! speak to the administrator who writes the file. Decoding checks the structure alone; values are checked by
//! [`check`](super::check), all at once.

use std::collections::BTreeMap;

use egapp_api::v1alpha1::Environment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::variables::Variables;

/// What the short words of an EGApp mean on this platform.
///
/// A section that is left out keeps its built-in values, which are those of the file that is shipped. A section that
/// is given is complete: nothing of the built-in one is mixed into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformConfig {
    /// Version of this file's format.
    pub api_version: ApiVersion,

    /// What this file is.
    pub kind: Kind,

    /// What runs where an EGApp has no `spec.image`: the image of its `appId` for its environment, else the image of
    /// its `appId`, else the starter of its framework.
    #[serde(default)]
    pub images: Images,

    /// Key of the label that carries the `appId` of an EGApp on its Deployment, pods and Service, so that the
    /// platform's catalogue finds them. Empty: no such label.
    #[serde(default = "super::defaults::catalog_label")]
    #[schemars(length(max = 317))]
    pub catalog_label: String,

    /// What `spec.instanceType` gives to each replica.
    #[serde(default)]
    pub sizes: Sizes,

    /// What `spec.framework` gives to the container.
    #[serde(default)]
    pub frameworks: Frameworks,

    /// What `spec.environment` asks of the Deployment.
    #[serde(default)]
    pub environments: Environments,

    /// How a change of this file, or a new release of the operator, reaches the apps that run.
    #[serde(default)]
    pub rollout: Rollout,
}

/// Version of the platform file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ApiVersion {
    /// The only one so far.
    #[serde(rename = "config.platform.evillgenius.com/v1alpha1")]
    V1Alpha1,
}

/// Kind of the platform file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Kind {
    /// The only one.
    PlatformConfig,
}

/// Images of applications and of starters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Images {
    /// The catalogue: images by `spec.appId`.
    #[serde(default)]
    pub apps: BTreeMap<String, App>,

    /// What an EGApp without any other image runs, by framework: a small server, so that there are running pods before
    /// there is anything to ship. A framework that is left out here has no starter.
    #[serde(default)]
    pub starters: Starters,
}

/// Images of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct App {
    /// Its image in every environment that `environments` does not name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,

    /// Its image in one environment.
    #[serde(default)]
    pub environments: AppEnvironments,
}

/// Images of one application by environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AppEnvironments {
    /// Its image in `dev`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub dev: Option<String>,

    /// Its image in `stage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub stage: Option<String>,

    /// Its image in `prod`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub prod: Option<String>,
}

/// Starters by framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Starters {
    /// The starter of `java`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub java: Option<Starter>,

    /// The starter of `python`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Starter>,

    /// The starter of `go`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub go: Option<Starter>,
}

/// A starter. It has to answer on its framework's port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Starter {
    /// Image reference.
    #[schemars(length(min = 1, max = 512))]
    pub image: String,

    /// Entrypoint. Empty: the image's.
    #[serde(default)]
    pub command: Vec<String>,

    /// Arguments. Empty: the image's.
    #[serde(default)]
    pub args: Vec<String>,

    /// User id that it runs as. Unset: the image's, which must not be root, since no pod of an EGApp is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub run_as_user: Option<i64>,

    /// The environments where it may run. Unset: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "environment_words")]
    pub environments: Option<Vec<String>>,
}

/// The sizes, by `spec.instanceType`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sizes {
    /// Little of both.
    pub low_mem: Size,

    /// Much memory.
    pub high_mem: Size,

    /// Much CPU.
    #[serde(rename = "highCPU")]
    pub high_cpu: Size,

    /// CPU and memory in proportion.
    pub balanced: Size,
}

/// Resources of one replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Size {
    /// CPU request, such as `250m`. There is no CPU limit: throttling wastes what nobody else needs.
    #[schemars(length(min = 1, max = 32))]
    pub cpu: String,

    /// Memory request and limit, such as `256Mi`. They are the same, since memory cannot be taken back from a process.
    #[schemars(length(min = 1, max = 32))]
    pub memory: String,
}

/// The profiles, by `spec.framework`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Frameworks {
    /// Runs on a Java virtual machine.
    pub java: FrameworkProfile,

    /// Runs on a Python interpreter.
    pub python: FrameworkProfile,

    /// A Go binary.
    pub go: FrameworkProfile,
}

/// What one framework needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FrameworkProfile {
    /// Port that the application listens on, unless `spec.port` says another: the container port, the target of the
    /// Service and of the probes.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// Environment variables of the container, in this order. A variable of the same name in `spec.env` wins.
    #[serde(default)]
    pub env: Variables,

    /// Sets the variable `GOMEMLIMIT` to the memory limit, so that Go's garbage collector works harder before the
    /// kernel kills.
    #[serde(default)]
    pub go_mem_limit: bool,

    /// Seconds that the application may take to start: the time of the startup probe, unless `spec.startupProbe` is
    /// given.
    #[schemars(range(min = 1, max = super::check::MAX_SECONDS))]
    pub startup_seconds: i32,
}

/// The policies, by `spec.environment`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Environments {
    /// Development.
    pub dev: EnvironmentPolicy,

    /// Staging.
    pub stage: EnvironmentPolicy,

    /// Production.
    pub prod: EnvironmentPolicy,
}

/// How careful one environment is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EnvironmentPolicy {
    /// When a node pulls the image anew: the container's `imagePullPolicy`.
    pub image_pull_policy: ImagePullPolicy,

    /// Pods above the wanted number while a rollout is under way, a number or a percentage of the replicas: the
    /// Deployment's `maxSurge`.
    #[schemars(schema_with = "int_or_percent")]
    pub max_surge: IntOrString,

    /// Pods below the wanted number while a rollout is under way, a number or a percentage of the replicas: the
    /// Deployment's `maxUnavailable`. Not 0 together with `maxSurge`: no rollout could ever move.
    #[schemars(schema_with = "int_or_percent")]
    pub max_unavailable: IntOrString,

    /// Seconds that a new pod must stay ready before it counts as available and the rollout goes on: the Deployment's
    /// `minReadySeconds`.
    #[schemars(range(min = 0, max = super::check::MAX_SECONDS))]
    pub min_ready_seconds: i32,

    /// Seconds without progress after which a rollout has failed: the Deployment's `progressDeadlineSeconds`. More than
    /// `minReadySeconds`, as Kubernetes demands, and more than the `startupSeconds` of every framework, since a slow
    /// start is no failure.
    #[schemars(range(min = 1, max = super::check::MAX_SECONDS))]
    pub progress_deadline_seconds: i32,

    /// Spreads the pods over zones, then over nodes, where that is possible: the pods' topology spread constraints.
    pub spread: bool,

    /// Makes a `PodDisruptionBudget`, so that drains of nodes take one pod at a time.
    pub pod_disruption_budget: bool,

    /// Seconds that a pod goes on serving after its end was decided, while load balancers learn of it: a preStop hook
    /// that sleeps, and as much more time to end. 0: no hook.
    #[schemars(range(min = 0, max = super::check::MAX_SECONDS))]
    pub pre_stop_seconds: i32,
}

/// How a change that replaces the pods of running apps reaches them: in turn. An app whose user edits it, and a new one,
/// wait for nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Rollout {
    /// The environments in their order, each of them once: one begins when every app of those before it has the change
    /// and is Ready.
    #[schemars(schema_with = "environment_words")]
    pub order: Vec<String>,

    /// So many apps get the change at a time. The next one has its turn when one of them is Ready.
    #[schemars(range(min = 1, max = super::check::MAX_CONCURRENT))]
    pub max_concurrent: i32,

    /// So many apps that were Ready may fail with the change before no other app gets it; unset, none may. Raise it to go
    /// on past apps that you know of: a change of `rollout` alone begins nothing anew.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(range(min = 0, max = super::check::MAX_CONCURRENT))]
    pub max_failing: i32,
}

/// A former release can then read what held.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_none(number: &i32) -> bool {
    *number == 0
}

/// When a node pulls an image anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ImagePullPolicy {
    /// At every start: tags may move.
    Always,
    /// When the node does not have it.
    IfNotPresent,
    /// Never: something else puts images on the nodes.
    Never,
}

impl ImagePullPolicy {
    /// The word in a pod.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// Schema of a list of environments.
fn environment_words(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "enum": Environment::ALL.map(Environment::as_str) },
        "minItems": 1,
    })
}

/// Schema of a number of pods or a percentage.
fn int_or_percent(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "pattern": "^(100|[0-9]{1,2})%$" }],
    })
}

//! The `EGApp` kind: what users ask for and what the operator reports. Pure.
//!
//! The documentation comment of a field is its text in `kubectl explain`, so it speaks to the person who writes the
//! manifest. Bounds, defaults and messages are enforced by the API server and nowhere else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::conditions::ConditionType;
use super::schema;
use super::words::{Environment, Framework, InstanceType};

/// What the application needs.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "egplatform.platform.evillgenius.com",
    version = "v1alpha1",
    kind = "EGApp",
    plural = "egapps",
    singular = "egapp",
    shortname = "ega",
    category = "all",
    category = "egplatform",
    namespaced,
    status = "EGAppStatus",
    derive = "PartialEq",
    doc = "EGApp is an application: its framework, its size, its environment and its number of replicas. The \
           operator makes a Deployment of the same name from it, keeps it that way, and reports in the status.",
    validation = Rule::new("size(self.metadata.name) <= 63")
        .message("must have no more than 63 characters, like the name of a Service")
        .field_path(".metadata.name"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("must consist of lower-case letters, digits and '-', start with a letter and end with a letter or \
                  digit, like the name of a Service")
        .field_path(".metadata.name"),
    scale(
        spec_replicas_path = ".spec.replicaCount",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Framework", type_ = "string", json_path = ".spec.framework"),
    printcolumn(name = "Size", type_ = "string", json_path = ".spec.instanceType"),
    printcolumn(name = "Env", type_ = "string", json_path = ".spec.environment"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.desiredReplicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".status.image", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct EGAppSpec {
    /// Key of the application in the platform's catalogue. The copies of one application in `dev`, `stage` and `prod`
    /// share it on purpose. It is written as a label to the Deployment and its pods, so it has the shape of a label
    /// value. Unset or empty, the default: no such label.
    #[serde(default, deserialize_with = "empty_is_unset", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",
        "message": "must be empty or consist of letters, digits, '-', '_' and '.', starting and ending with a letter \
                    or digit, like the value of a label",
    }]))]
    pub app_id: Option<String>,

    /// What the application is written in: `java`, `python` or `go`. Required.
    ///
    /// It picks the starter image that runs while `image` is unset, and is written as a label to the Deployment and
    /// its pods.
    pub framework: Framework,

    /// Size of one replica, CPU and memory as the platform defines them: `lowMem` (little of both), `highMem` (much
    /// memory), `highCPU` (much CPU) or `balanced` (CPU and memory in proportion). Default: `lowMem`.
    ///
    /// A change restarts the pods.
    #[serde(default)]
    pub instance_type: InstanceType,

    /// Stage that this copy of the application serves: `dev`, `stage` or `prod`. Required.
    ///
    /// It is written as a label to the Deployment and its pods.
    pub environment: Environment,

    /// How many replicas run. Default: 1. With 0 the application is stopped, which counts as Ready.
    ///
    /// `kubectl scale` writes this field: a manifest that leaves it out keeps the number that was scaled to.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replica_count: i32,

    /// Container image, such as `registry.example.com/team/web:1.4.2`. Unset, the default: a starter image of the
    /// framework runs, which answers on a port but is not your application, and the status says `StarterImage`.
    ///
    /// A change rolls the pods over to the new image.
    #[serde(default, deserialize_with = "empty_is_unset", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), extend("x-kubernetes-validations" = [
        {
            "rule": "self != ''",
            "message": "must not be empty; name an image such as registry.example.com/team/web:1.4.2, or leave the \
                        field out to run the framework's starter image",
        },
        {
            "rule": "self.matches('^[!-~]*$')",
            "message": "must be one image reference without white space, control or non-ASCII characters, such as \
                        registry.example.com/team/web:1.4.2",
        },
    ]))]
    pub image: Option<String>,

    /// Makes the operator leave the Deployment alone, say while a person repairs something by hand. The status is
    /// still reported, and deleting the EGApp still deletes everything. Default: false.
    #[serde(default)]
    pub suspend: bool,
}

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
    /// completely), `Available` (enough replicas serve), `Progressing` (a rollout is under way or ended well) and, only
    /// while nothing moves on without a person, `Stalled`.
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
}

impl EGAppStatus {
    /// The condition of that type, if it has been reported.
    #[must_use]
    pub fn condition(&self, type_: ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_.as_str())
    }
}

/// Default of [`EGAppSpec::replica_count`].
const fn one() -> i32 {
    1
}

/// Decodes `""` as unset, so that no reader has to tell the two apart.
fn empty_is_unset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

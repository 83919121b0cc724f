//! The `EGApp` kind: what users ask for. Pure.
//!
//! The documentation comment of a field is its text in `kubectl explain`, so it speaks to the person who writes the
//! manifest. Bounds, defaults and messages are enforced by the API server and nowhere else.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::autoscaling::{self, Autoscaling};
use super::egapp_status::EGAppStatus;
use super::env::{EnvFromSource, EnvVar};
use super::probes::{self, Probe};
use super::references::ObjectReference;
use super::resources::Resources;
use super::schema;
use super::service::Service;
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
    /// It picks what the platform knows about such programs: the port they listen on, variables of their runtime (the
    /// heap of a Java virtual machine, unbuffered output of Python, the memory limit of Go), how long they may take
    /// to start, and the starter image that runs while no other is given. A change restarts the pods.
    pub framework: Framework,

    /// Size of one replica, CPU and memory as the platform defines them: `lowMem` (little of both), `highMem` (much
    /// memory), `highCPU` (much CPU) or `balanced` (CPU and memory in proportion). Default: `lowMem`.
    ///
    /// `resources` replaces single amounts of it, and `status.resources` shows the outcome. A change restarts the
    /// pods.
    #[serde(default)]
    pub instance_type: InstanceType,

    /// Stage that this copy of the application serves: `dev`, `stage` or `prod`. Required.
    ///
    /// It picks the platform's policies: when the image is pulled anew, how a rollout goes and when it counts as
    /// stuck, how long a new pod must be ready before it counts, whether the replicas are spread over zones and
    /// nodes, how many of them a node drain may take at once, and how long a pod still serves while it is being
    /// taken out of the Service. It never picks the image's tag. A change restarts the pods.
    pub environment: Environment,

    /// How many replicas run. Default: 1. With 0 the application is stopped, which counts as Ready. At most 150000, the
    /// pods of the largest cluster that Kubernetes supports: more is a slip of the keyboard.
    ///
    /// `kubectl scale` writes this field: a manifest that has never said it keeps the number that was scaled to. With
    /// `autoscaling`, or another HorizontalPodAutoscaler for the Deployment, it counts only at the start, and where it
    /// is 0.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 150_000))]
    pub replica_count: i32,

    /// Container image, such as `registry.example.com/team/web:1.4.2`. Unset, the default: the image that the
    /// platform's catalogue has for `appId`, else a starter image of the framework, which answers on a port but is
    /// not your application; the status says `StarterImage` then.
    ///
    /// A change rolls the pods over to the new image.
    #[serde(default, deserialize_with = "empty_is_unset", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::image")]
    pub image: Option<String>,

    /// The program that the container runs instead of the image's `ENTRYPOINT`, and its first arguments. Default: the
    /// image's, and its `CMD` where `args` is unset too. With `command` the image's `CMD` counts no more.
    ///
    /// No shell is involved: write `[sh, -c, "a && b"]` to have one. `$(NAME)` is replaced by the value of that
    /// variable. A starter image runs its own command where both `command` and `args` are unset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::command")]
    pub command: Vec<String>,

    /// Arguments of the program, instead of the image's `CMD`. Default: the image's, unless `command` is set.
    ///
    /// `$(NAME)` is replaced by the value of that variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::arguments")]
    pub args: Vec<String>,

    /// Port on which the application listens. Default: the one that the platform has for the framework.
    ///
    /// The Service leads to it, and probes ask on it unless they name another. It does not change where the program
    /// listens. Pods run without privileges: a port below 1024 may be refused to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Environment variables of the container. Default: those that the operator sets for every app, such as
    /// `POD_NAME`, and the platform's for the framework. One here replaces one of those with the same name, in its place.
    ///
    /// They keep their order, behind those of the operator and the platform; one that stands in the place of one of those
    /// takes what it refers to there with it.
    ///
    /// They win over `envFrom`. A change restarts the pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "x-kubernetes-validations" = [{
            "rule": "self.map(variable, has(variable.value) ? size(variable.value) : 0).sum() <= 128000",
            "message": "must have no more than 128000 characters in all values together; put large texts in a \
                        ConfigMap",
        }],
    ))]
    pub env: Vec<EnvVar>,

    /// ConfigMaps and Secrets of the namespace whose entries all become variables, in this order: a later one wins
    /// over an earlier one. Default: none.
    ///
    /// Kubernetes ranks every single variable above them: those in `env`, and also those that the operator and the
    /// platform set, such as `JAVA_TOOL_OPTIONS` for `java`. To replace one of those from a ConfigMap, name it in
    /// `env` with `valueFrom`. A later change of the ConfigMap or Secret does not restart the pods: set
    /// `restartedAt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub env_from: Vec<EnvFromSource>,

    /// CPU, memory and storage of one replica, amount by amount instead of the size's. Default: all of them as
    /// `instanceType` says.
    ///
    /// A limit of memory alone is the request too, as memory cannot be taken back from a program. `status.resources`
    /// shows the outcome. A change restarts the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Restarts a container that no longer works. Default: none, so that only a container that ends is restarted.
    ///
    /// Ask only about the app itself, never about a data base or another app: their outage would restart every
    /// replica. It waits for the startup probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [probes::one_handler(), probes::one_success()]))]
    pub liveness_probe: Option<Probe>,

    /// Tells whether a pod gets traffic and counts as ready. Default: a TCP connection to the app's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,

    /// Gives the app time to start: the other probes wait for it, and the container is restarted when the time is
    /// over. Default: a TCP connection to the app's port, for as long as the platform allows the framework.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [probes::one_handler(), probes::one_success()]))]
    pub startup_probe: Option<Probe>,

    /// Secrets of the namespace, of the type `kubernetes.io/dockerconfigjson`, with which the image is pulled from a
    /// private registry. Default: those of the ServiceAccount, if it has any. One that does not exist is no error
    /// until the pull fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub image_pull_secrets: Vec<ObjectReference>,

    /// ServiceAccount of the namespace as which the pods talk to the Kubernetes API. It must exist. Unset or empty,
    /// the default: the account `default`, without its token.
    ///
    /// Its token is mounted into the container, so whoever gets into the app has the account's rights: set it only
    /// for an app that calls the Kubernetes API.
    #[serde(default, deserialize_with = "empty_is_unset", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::object_name_or_empty")]
    pub service_account_name: Option<String>,

    /// Number of the user as which the container runs, never 0, which is root. Default: the image's `USER`.
    ///
    /// Pods never run as root. Set it for an image whose `USER` is root or missing, or is a name instead of a number:
    /// such a container is refused otherwise, and the status says `ContainerConfig`. The image's files must be
    /// readable to that user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub run_as_user: Option<i64>,

    /// The Service through which other apps reach this one, by the app's name. Default: one on port 80.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub service: Service,

    /// Lets a HorizontalPodAutoscaler of the app's name decide how many replicas run, by their use of CPU. Default: none,
    /// so that `replicaCount` says it.
    ///
    /// The app starts with `replicaCount` replicas or the nearest number within the bounds. `replicaCount: 0` still
    /// stops it, and any other number lets it go on. Without `autoscaling` again, `replicaCount` counts at once: from 40
    /// replicas to 1, if that is what it says. Needs the cluster's metrics API (metrics-server).
    ///
    /// Another HorizontalPodAutoscaler for the Deployment, or for the EGApp itself, is given way to: there is none of the
    /// app's own then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [autoscaling::ordered_bounds()]))]
    pub autoscaling: Option<Autoscaling>,

    /// A time such as `2026-02-03T04:05:06Z`; one later than the last restarts the pods, one after the other as in every
    /// rollout. Default: none.
    ///
    /// Write the present time. One that goes away, or an earlier one that comes back, as from a file that is applied
    /// again, restarts nothing. Use it after a change of a ConfigMap or Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub restarted_at: Option<String>,

    /// Makes the operator leave the Deployment alone, say while a person repairs something by hand. The status is
    /// still reported, and deleting the EGApp still deletes everything. Default: false.
    #[serde(default)]
    pub suspend: bool,
}

/// Default of [`EGAppSpec::replica_count`].
const fn one() -> i32 {
    1
}

/// Decodes `""` as unset, so that no reader has to tell the two apart.
fn empty_is_unset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

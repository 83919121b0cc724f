//! Pods as they are decoded: what tells whether one lives and what keeps it from serving, and nothing else. Pure.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Deserialize;

use crate::controller::egapp::names;
use crate::controller::slim;
use egapp_api::v1alpha1::EffectiveResources;

/// A pod as it is decoded.
#[derive(Clone, Debug, Deserialize)]
pub struct PodView {
    #[serde(deserialize_with = "slim::metadata")]
    pub(super) metadata: ObjectMeta,
    pub(super) spec: Option<PodSpec>,
    pub(super) status: Option<PodStatus>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
    readiness_gates: Option<Vec<ReadinessGate>>,
    scheduling_gates: Option<Vec<SchedulingGate>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadinessGate {
    condition_type: String,
}

#[derive(Clone, Debug, Deserialize)]
struct SchedulingGate {
    name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    name: String,
    pub(super) image: Option<String>,
    resources: Option<EffectiveResources>,
    pub(super) liveness_probe: Option<Probe>,
    pub(super) startup_probe: Option<Probe>,
    pub(super) readiness_probe: Option<Probe>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Probe {
    pub(super) http_get: Option<HttpGet>,
    pub(super) tcp_socket: Option<Port>,
    pub(super) grpc: Option<Port>,
    pub(super) initial_delay_seconds: Option<i32>,
    pub(super) period_seconds: Option<i32>,
    pub(super) failure_threshold: Option<i32>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct HttpGet {
    pub(super) path: Option<String>,
    pub(super) port: IntOrString,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Port {
    pub(super) port: IntOrString,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodStatus {
    phase: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    start_time: Option<Time>,
    conditions: Option<Vec<PodCondition>>,
    container_statuses: Option<Vec<ContainerStatus>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
    pub(super) last_transition_time: Option<Time>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerStatus {
    pub(super) name: String,
    #[serde(default)]
    pub(super) ready: bool,
    pub(super) started: Option<bool>,
    #[serde(default)]
    pub(super) restart_count: i32,
    pub(super) state: Option<ContainerState>,
    pub(super) last_state: Option<ContainerState>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ContainerState {
    pub(super) waiting: Option<Waiting>,
    pub(super) running: Option<Running>,
    pub(super) terminated: Option<Ended>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Waiting {
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Running {
    pub(super) started_at: Option<Time>,
}

/// A run of a container that is over.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    pub(super) exit_code: i32,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    pub(super) started_at: Option<Time>,
    pub(super) finished_at: Option<Time>,
}

impl PodCondition {
    fn is_true(&self) -> bool {
        self.status == "True"
    }
}

impl ContainerStatus {
    /// Whether it is that of the container that the operator makes.
    pub(super) fn is_own(&self) -> bool {
        self.name == names::CONTAINER
    }
}

impl PodView {
    /// Whether the pod is neither being deleted nor finished.
    pub(super) fn is_live(&self) -> bool {
        let phase = self.status.as_ref().and_then(|status| status.phase.as_deref());
        self.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// When the API server made the pod.
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp.as_ref().map(|time| time.0)
    }

    /// When the pod was given to a node, on the API server's clock.
    pub(super) fn scheduled_at(&self) -> Option<Timestamp> {
        let scheduled = self.condition("PodScheduled").filter(|condition| condition.is_true())?;
        scheduled.last_transition_time.as_ref().map(|time| time.0)
    }

    /// When the node's kubelet met the pod, on the node's clock.
    pub(super) fn met_at(&self) -> Option<Timestamp> {
        self.status.as_ref()?.start_time.as_ref().map(|time| time.0)
    }

    /// The names of the gates that keep the scheduler from the pod.
    pub(super) fn scheduling_gates(&self) -> Option<String> {
        let scheduled = self.condition("PodScheduled")?;
        let names = self.spec.as_ref()?.scheduling_gates.iter().flatten().map(|gate| gate.name.as_str());
        let is_gated = !scheduled.is_true() && scheduled.reason.as_deref() == Some("SchedulingGated");
        is_gated.then(|| names.collect::<Vec<_>>().join(", "))
    }

    /// Why no node takes the pod, in the scheduler's words; `None` if one does, or none was looked for yet.
    pub(super) fn unscheduled(&self) -> Option<&str> {
        let scheduled = self.condition("PodScheduled")?;
        (scheduled.status == "False").then(|| scheduled.message.as_deref().unwrap_or_default())
    }

    /// Where all containers are ready and the pod is not: the condition of the former.
    pub(super) fn containers_ready_and_pod_not(&self) -> Option<&PodCondition> {
        let (containers, pod) = (self.condition("ContainersReady")?, self.condition("Ready")?);
        (containers.is_true() && !pod.is_true()).then_some(containers)
    }

    /// The readiness gates of which nobody says that they are met.
    pub(super) fn unmet_gates(&self) -> Option<String> {
        let gates = self.spec.as_ref()?.readiness_gates.iter().flatten();
        let names = gates.map(|gate| gate.condition_type.as_str());
        let is_unmet = |name: &&str| !self.condition(name).is_some_and(PodCondition::is_true);
        let unmet: Vec<_> = names.filter(is_unmet).collect();
        (!unmet.is_empty()).then(|| unmet.join(", "))
    }

    /// The reason and the sentence of the kubelet that has ended the pod as a whole, or has not taken it.
    pub(super) fn ended_by_node(&self) -> Option<(&str, &str)> {
        let status = self.status.as_ref().filter(|_| self.metadata.deletion_timestamp.is_none())?;
        let reason = status.reason.as_deref().filter(|_| status.phase.as_deref() == Some("Failed"))?;
        Some((reason, status.message.as_deref().unwrap_or_default()))
    }

    /// What the app's own container was given.
    pub(super) fn resources(&self) -> Option<&EffectiveResources> {
        self.container(names::CONTAINER)?.resources.as_ref()
    }

    fn condition(&self, type_: &str) -> Option<&PodCondition> {
        self.status.as_ref()?.conditions.iter().flatten().find(|condition| condition.type_ == type_)
    }

    /// What is known of each container, those that run before the others included.
    pub(super) fn containers(&self) -> impl Iterator<Item = &ContainerStatus> {
        let statuses = self.status.as_ref().map(|status| {
            let init = status.init_container_statuses.iter().flatten();
            init.chain(status.container_statuses.iter().flatten())
        });
        statuses.into_iter().flatten()
    }

    /// The container of that name as it is wanted.
    pub(super) fn container(&self, name: &str) -> Option<&Container> {
        let spec = self.spec.as_ref()?;
        let all = spec.containers.iter().chain(&spec.init_containers).flatten();
        all.into_iter().find(|container| container.name == name)
    }
}

impl Resource for PodView {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Pod::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        Pod::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        Pod::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        Pod::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

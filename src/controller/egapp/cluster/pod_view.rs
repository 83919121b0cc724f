//! Pods as they are decoded: what tells whether one lives and what keeps it from serving, and nothing else. Pure.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Deserialize;

use crate::controller::slim;

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
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    name: String,
    pub(super) image: Option<String>,
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
    conditions: Option<Vec<PodCondition>>,
    container_statuses: Option<Vec<ContainerStatus>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Clone, Debug, Deserialize)]
struct PodCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    message: Option<String>,
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

impl PodView {
    /// Whether the pod is neither being deleted nor finished.
    pub(super) fn is_live(&self) -> bool {
        let phase = self.status.as_ref().and_then(|status| status.phase.as_deref());
        self.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Why no node takes the pod, in the scheduler's words; `None` if one does, or none was looked for yet.
    pub(super) fn unscheduled(&self) -> Option<&str> {
        let conditions = self.status.as_ref()?.conditions.iter().flatten();
        let is_refused =
            |condition: &&PodCondition| condition.type_ == "PodScheduled" && condition.status == "False";
        conditions
            .into_iter()
            .find(is_refused)
            .map(|condition| condition.message.as_deref().unwrap_or_default())
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

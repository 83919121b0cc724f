//! The kinds of children, and what of their status matters. Pure.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caches, ChildKind, Live};
use crate::controller::egapp::desired::autoscaler;
use crate::controller::egapp::names;
use crate::controller::store::Store;

impl ChildKind for Deployment {
    type Status = DeploymentStatus;
    type State = DeploymentState;
    const TITLE: &'static str = "Deployment";

    const SELECTION: &'static str = "selector";

    fn selection(app: &str) -> Value {
        json!({ "matchLabels": names::selector(app) })
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.deployments
    }

    fn hand_over(wanted: &Self, live: &Live<Self>) -> Option<i32> {
        let live =
            live.details.as_ref().filter(|live| live.owns_replicas && wanted.spec.replicas.is_none())?;
        live.replicas()
    }
}

impl ChildKind for Service {
    type Status = Unread;
    type State = Unread;
    const TITLE: &'static str = "Service";

    const SELECTION: &'static str = "selector";

    fn selection(app: &str) -> Value {
        json!(names::selector(app))
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.services
    }
}

impl ChildKind for PodDisruptionBudget {
    type Status = Unread;
    type State = Unread;
    const TITLE: &'static str = "PodDisruptionBudget";

    const SELECTION: &'static str = "selector";

    fn selection(app: &str) -> Value {
        json!({ "matchLabels": names::selector(app) })
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.disruption_budgets
    }
}

impl ChildKind for HorizontalPodAutoscaler {
    type Status = Unread;
    type State = Unread;
    const TITLE: &'static str = "HorizontalPodAutoscaler";
    const SELECTION: &'static str = "scaleTargetRef";

    fn selection(app: &str) -> Value {
        json!(autoscaler::target(app))
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.autoscalers
    }
}

/// A status that nothing here depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Unread {}

/// A Deployment's own status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeploymentState {
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
    /// Why pods, or the ReplicaSet that makes them, cannot be created: the API server's sentence.
    pub refusal: Option<Box<str>>,
    /// Name of the ReplicaSet of the newest template, where the status tells.
    pub newest: Option<Box<str>>,
}

impl From<DeploymentStatus> for DeploymentState {
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
            let (reason, message) = (condition.reason.as_deref(), condition.message.unwrap_or_default());
            match (condition.type_.as_deref(), condition.status.as_deref(), reason) {
                (Some("Available"), Some("True"), _) => state.is_available = true,
                (Some("Progressing"), status, reason) => {
                    state.is_past_deadline =
                        status == Some("False") && reason == Some("ProgressDeadlineExceeded");
                    state.newest = quoted(&message).map(Into::into);
                    if reason == Some("ReplicaSetCreateError") {
                        state.refusal = Some(message.into());
                    }
                }
                (Some("ReplicaFailure"), Some("True"), Some("FailedCreate")) => {
                    state.refusal = Some(message.into());
                }
                _ => (),
            }
        }
        state
    }
}

/// The Deployment controller says which ReplicaSet it is about, as in `ReplicaSet "web-5f6" is progressing.`
fn quoted(message: &str) -> Option<&str> {
    let about = ["ReplicaSet \"", "replica set \""].iter().find_map(|start| message.split_once(start))?;
    about.1.split_once('"').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_replica_set_is_read_from_what_the_deployment_controller_says() {
        for message in [
            "Created new replica set \"web-5f6\"",
            "Found new replica set \"web-5f6\"",
            "ReplicaSet \"web-5f6\" is progressing.",
            "ReplicaSet \"web-5f6\" has timed out progressing.",
        ] {
            assert_eq!(quoted(message), Some("web-5f6"), "{message}");
        }
        assert_eq!(quoted("Deployment \"web\" is progressing."), None);
        assert_eq!(quoted("Deployment does not have minimum availability."), None);
    }

    #[test]
    fn a_refusal_to_delete_is_no_refusal_of_pods() {
        let state = |reason: &str| {
            let condition =
                json!({ "type": "ReplicaFailure", "status": "True", "reason": reason, "message": "m" });
            let status: DeploymentStatus =
                serde_json::from_value(json!({ "conditions": [condition] })).unwrap();
            DeploymentState::from(status).refusal
        };
        assert_eq!(state("FailedCreate").as_deref(), Some("m"));
        assert_eq!(state("FailedDelete"), None);
    }
}

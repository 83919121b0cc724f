//! The kinds of children, and what of their status matters. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Caches, ChildKind, Live};
use crate::controller::store::Store;

impl ChildKind for Deployment {
    type Status = DeploymentStatus;
    type State = DeploymentState;
    const TITLE: &'static str = "Deployment";

    fn selector(labels: BTreeMap<String, String>) -> Value {
        json!({ "matchLabels": labels })
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.deployments
    }
}

impl ChildKind for Service {
    type Status = Unread;
    type State = Unread;
    const TITLE: &'static str = "Service";

    fn selector(labels: BTreeMap<String, String>) -> Value {
        json!(labels)
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.services
    }
}

impl ChildKind for PodDisruptionBudget {
    type Status = Unread;
    type State = Unread;
    const TITLE: &'static str = "PodDisruptionBudget";

    fn selector(labels: BTreeMap<String, String>) -> Value {
        json!({ "matchLabels": labels })
    }

    fn store(caches: &Caches) -> &Store<Live<Self>> {
        &caches.disruption_budgets
    }
}

/// A status that nothing here depends on.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Unread {}

/// A Deployment's own status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

//! The Deployment: only fields that are meant, so that every other field stays whoever's it is. Pure.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::super::names;
use super::super::replicas::Replicas;
use super::super::validate::Workload;
use super::{metadata, pod};

/// Old ReplicaSets that are kept for `kubectl rollout undo`; Kubernetes' own 10 are more than anybody goes back.
const REVISION_HISTORY_LIMIT: i32 = 5;

/// The Deployment of a workload.
pub(super) fn desired_deployment(workload: &Workload<'_>, replicas: Replicas) -> Deployment {
    let policy = &workload.policy;
    Deployment {
        metadata: metadata(workload),
        spec: DeploymentSpec {
            replicas: match replicas {
                Replicas::Ours(count) => Some(count),
                Replicas::Autoscaled => None,
            },
            // Owned also where it is 0: one of somebody else's above our deadline would make every apply invalid.
            min_ready_seconds: Some(policy.min_ready_seconds),
            progress_deadline_seconds: Some(policy.progress_deadline_seconds),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: Some(policy.max_surge.clone()),
                    max_unavailable: Some(policy.max_unavailable.clone()),
                }),
            }),
            // Owned, so that a `kubectl rollout pause` by somebody else does not last for ever.
            paused: Some(false),
            revision_history_limit: Some(REVISION_HISTORY_LIMIT),
            selector: LabelSelector {
                match_labels: Some(names::selector(workload.name)),
                ..LabelSelector::default()
            },
            template: pod::pod_template(workload),
        },
        status: None,
    }
}

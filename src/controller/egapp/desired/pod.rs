//! The pod template: who the pods are, where they run, and what they may do. Pure.

use k8s_openapi::api::core::v1::{
    LocalObjectReference, PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile,
    TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;

use super::super::names;
use super::super::validate::Workload;
use super::{container, labels};

/// Seconds that an app has to end after its SIGTERM, Kubernetes' own default; the preStop pause comes on top.
const GRACE_SECONDS: i64 = 30;

/// Zones first: losing one is the rarer and the larger loss.
const TOPOLOGY_KEYS: [&str; 2] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];

/// The template of a workload's pods.
pub(super) fn pod_template(workload: &Workload<'_>) -> PodTemplateSpec {
    let restarted_at = workload.restarted_at.clone();
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels::labels(workload)),
            annotations: restarted_at.map(|at| [(names::RESTARTED_AT.to_owned(), at)].into()),
            ..ObjectMeta::default()
        }),
        spec: Some(pod_spec(workload)),
    }
}

fn pod_spec(workload: &Workload<'_>) -> PodSpec {
    let spec = workload.spec;
    let secrets =
        spec.image_pull_secrets.iter().map(|secret| LocalObjectReference { name: secret.name.clone() });
    let secrets: Vec<_> = secrets.collect();
    PodSpec {
        // Absent would do for a new pod; owned, they go back when somebody switches them on.
        host_network: Some(false),
        host_pid: Some(false),
        host_ipc: Some(false),
        // A token is only mounted for an app that says as whom it talks to the Kubernetes API.
        service_account_name: spec.service_account_name.clone(),
        automount_service_account_token: Some(spec.service_account_name.is_some()),
        // The variables of every Service in the namespace are a surprise to an app, and slow down large ones.
        enable_service_links: Some(false),
        termination_grace_period_seconds: Some(GRACE_SECONDS + i64::from(workload.policy.pre_stop_seconds)),
        image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
        topology_spread_constraints: workload.policy.spread.then(|| spread(workload)),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: workload.image.run_as_user,
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container::container(workload)],
        ..PodSpec::default()
    }
}

/// A wish, not a demand: a cluster with one node or one zone still runs every replica.
fn spread(workload: &Workload<'_>) -> Vec<TopologySpreadConstraint> {
    let selector =
        LabelSelector { match_labels: Some(names::selector(workload.name)), ..LabelSelector::default() };
    TOPOLOGY_KEYS
        .map(|key| TopologySpreadConstraint {
            max_skew: 1,
            topology_key: key.to_owned(),
            when_unsatisfiable: "ScheduleAnyway".to_owned(),
            label_selector: Some(selector.clone()),
            // Pods of the former template would count as well, and leave the new ones together when they go.
            match_label_keys: Some(vec![names::TEMPLATE_HASH.to_owned()]),
            ..TopologySpreadConstraint::default()
        })
        .into()
}

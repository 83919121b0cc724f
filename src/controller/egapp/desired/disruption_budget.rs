//! The PodDisruptionBudget: drains of nodes take one pod at a time. Pure.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::names;
use super::super::validate::Workload;
use super::metadata;

/// The budget of a workload whose environment asks for one.
///
/// One pod may always go, at any replica count: a budget that lets none go blocks every drain. Pods that are not
/// healthy may always go, or a broken app would block drains for ever (KEP-3017).
pub(super) fn desired_disruption_budget(workload: &Workload<'_>) -> Option<PodDisruptionBudget> {
    workload.policy.pod_disruption_budget.then(|| PodDisruptionBudget {
        metadata: metadata(workload),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(LabelSelector {
                match_labels: Some(names::selector(workload.name)),
                ..LabelSelector::default()
            }),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    })
}

//! Step `desired`: a [`Workload`] becomes the children it is made of. Total and pure.

mod container;
mod deployment;
mod disruption_budget;
mod env;
mod labels;
mod pod;
mod probes;
mod service;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Serialize;

use super::names;
use super::validate::Workload;
use crate::hash::fnv1a;

/// Every child of an EGApp; `None` is a child that must not be. `apply` takes it apart without `..`, so a child that is
/// never applied does not compile.
#[derive(Clone, Debug)]
pub struct Children {
    /// Runs the pods.
    pub deployment: Box<Deployment>,
    /// Leads to them.
    pub service: Option<Box<Service>>,
    /// Limits their voluntary disruption.
    pub disruption_budget: Option<Box<PodDisruptionBudget>>,
}

/// The children of a workload.
#[must_use]
pub fn desired(workload: &Workload<'_>) -> Children {
    Children {
        deployment: Box::new(stamped(deployment::desired_deployment(workload))),
        service: service::desired_service(workload).map(stamped).map(Box::new),
        disruption_budget: disruption_budget::desired_disruption_budget(workload).map(stamped).map(Box::new),
    }
}

/// Name, owner and labels of a child.
fn metadata(workload: &Workload<'_>) -> ObjectMeta {
    ObjectMeta {
        name: Some(workload.name.to_owned()),
        namespace: Some(workload.namespace.to_owned()),
        labels: Some(labels::labels(workload)),
        owner_references: Some(vec![workload.owner.clone()]),
        ..ObjectMeta::default()
    }
}

/// Adds the digest of everything the child says.
fn stamped<K: Resource + Serialize>(mut child: K) -> K {
    // The types of the Kubernetes API always serialise; an empty text would only make every comparison differ.
    let digest = fnv1a(serde_json::to_string(&child).unwrap_or_default().as_bytes());
    let annotation = (names::APPLIED_DIGEST.to_owned(), format!("{digest:016x}"));
    child.meta_mut().annotations.get_or_insert_default().extend([annotation]);
    child
}

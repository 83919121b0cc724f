//! Step `desired`: a [`Workload`] becomes the children it is made of. Total and pure.

pub(super) mod autoscaler;
mod container;
mod deployment;
mod disruption_budget;
mod env;
mod labels;
mod order;
mod pod;
mod probes;
mod service;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{PodTemplateSpec, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use kube::core::ObjectMeta;
use serde::Serialize;

use super::names;
use super::replicas::Replicas;
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
    /// Decides on the number of pods.
    pub autoscaler: Option<Box<HorizontalPodAutoscaler>>,
}

impl Children {
    /// Digest of the pod template, as the Deployment carries it.
    #[must_use]
    pub fn template(&self) -> Option<u64> {
        let digest = self.deployment.metadata.annotations.as_ref()?.get(names::APPLIED_TEMPLATE)?;
        u64::from_str_radix(digest, 16).ok()
    }
}

/// The children of a workload whose replicas are decided on so.
#[must_use]
pub fn desired(workload: &Workload<'_>, replicas: Replicas) -> Children {
    let mut deployment = deployment::desired_deployment(workload, replicas);
    let template = format!("{:016x}", template_digest(&deployment.spec.template));
    deployment.metadata.annotations =
        Some([(names::APPLIED_TEMPLATE.to_owned(), template)].into_iter().collect());
    Children {
        deployment: Box::new(stamped(deployment)),
        service: service::desired_service(workload).map(stamped).map(Box::new),
        disruption_budget: disruption_budget::desired_disruption_budget(workload).map(stamped).map(Box::new),
        autoscaler: autoscaler::desired_autoscaler(workload).map(stamped).map(Box::new),
    }
}

/// A restart asks for new pods, and not for others: it brings no platform change to an app, nor an end to its failure.
fn template_digest(template: &PodTemplateSpec) -> u64 {
    let annotations = template.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let Some(mut annotations) = annotations.filter(|all| all.contains_key(names::RESTARTED_AT)).cloned()
    else {
        return digest(template);
    };
    annotations.remove(names::RESTARTED_AT);
    let mut template = template.clone();
    let metadata = template.metadata.get_or_insert_default();
    metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
    digest(&template)
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
    let annotation = (names::APPLIED_DIGEST.to_owned(), format!("{:016x}", digest(&child)));
    child.meta_mut().annotations.get_or_insert_default().extend([annotation]);
    child
}

/// The types of the Kubernetes API always serialise; an empty text would only make every comparison differ.
fn digest(part: &impl Serialize) -> u64 {
    fnv1a(serde_json::to_string(part).unwrap_or_default().as_bytes())
}

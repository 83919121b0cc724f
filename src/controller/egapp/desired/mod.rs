//! Step `desired`: a [`Workload`] becomes the children it is made of. Total and pure.

mod deployment;

use k8s_openapi::api::apps::v1::Deployment;
use serde::Serialize;

use super::validate::Workload;
use crate::hash::fnv1a;

/// Every child of an EGApp. `apply` takes it apart without `..`, so a child that is never applied does not compile.
#[derive(Clone, Debug)]
pub struct Children {
    /// Runs the pods.
    pub deployment: Deployment,
}

/// The children of a workload.
#[must_use]
pub fn desired(workload: &Workload) -> Children {
    Children { deployment: deployment::desired_deployment(workload) }
}

/// Digest of everything a child says.
fn digest(child: &impl Serialize) -> String {
    // The types of the Kubernetes API always serialise; an empty text would only make every comparison differ.
    format!("{:016x}", fnv1a(serde_json::to_string(child).unwrap_or_default().as_bytes()))
}

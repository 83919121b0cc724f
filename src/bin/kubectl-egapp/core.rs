//! The operator's core on one EGApp: the objects that it becomes. Pure.

use egapp_api::v1alpha1::EGApp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use kube::core::ApiResource;
use pe_app::controller::egapp::desired::{Children, desired};
use pe_app::controller::egapp::names;
use pe_app::controller::egapp::replicas::{OwnAutoscaler, Replicas, Scaling};
use pe_app::controller::egapp::validate::validate;
use pe_app::platform::Platform;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;

/// One of the objects that an EGApp can become.
pub(crate) struct Child {
    pub(crate) resource: ApiResource,
    /// `None` = it must not be.
    pub(crate) wanted: Option<Value>,
}

/// The scaling of an app of which nothing exists: once it runs, an autoscaler that it asks for has its replicas.
pub(crate) fn scaling_of_new(app: &EGApp) -> Scaling {
    let is_autoscaled = app.spec.autoscaling.is_some() && app.spec.replica_count > 0;
    let (replicas, autoscaler) = if is_autoscaled {
        (Replicas::Autoscaled, OwnAutoscaler::Wanted)
    } else {
        (Replicas::Ours(app.spec.replica_count), OwnAutoscaler::Unwanted)
    };
    Scaling { replicas, autoscaler }
}

/// The objects that the EGApp becomes, in the order of `Observed::digests`. `restarted_at`: when its pods were told to
/// restart last, if it has any.
pub(crate) fn children(
    app: &EGApp,
    platform: &Platform,
    scaling: Scaling,
    restarted_at: Option<String>,
) -> Result<Vec<Child>, Error> {
    let mut app = app.clone();
    // Nothing can be owned by what has no uid; it is taken out again.
    app.metadata.uid.get_or_insert_with(|| "00000000-0000-0000-0000-000000000000".to_owned());
    let name = app.metadata.name.clone().unwrap_or_default();
    let workload = validate(&app, platform).map_err(|source| Error::Spec { name, source })?;
    let workload = workload.restarted_last(restarted_at);
    let Children { deployment, service, disruption_budget, autoscaler } =
        desired(&workload, scaling.replicas);
    let autoscaler = autoscaler.filter(|_| scaling.autoscaler != OwnAutoscaler::Unwanted);
    Ok(vec![
        child::<Deployment>(Some(deployment)),
        child::<Service>(service),
        child::<PodDisruptionBudget>(disruption_budget),
        child::<HorizontalPodAutoscaler>(autoscaler),
    ])
}

fn child<K: Resource<DynamicType = ()> + Serialize>(wanted: Option<Box<K>>) -> Child {
    Child { resource: ApiResource::erase::<K>(&()), wanted: wanted.map(|wanted| json!(wanted)) }
}

/// Takes out what says something about a cluster and nothing about the object.
pub(crate) fn without_bookkeeping(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("ownerReferences");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        for ours in [names::APPLIED_DIGEST, names::APPLIED_TEMPLATE, names::PLATFORM_CHANGE] {
            annotations.remove(ours);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

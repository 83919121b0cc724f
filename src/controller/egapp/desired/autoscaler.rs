//! The HorizontalPodAutoscaler: as many replicas as the load asks for, within bounds. Pure.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricSource, CrossVersionObjectReference, HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget,
};
use kube::Resource;

use super::super::names;
use super::super::validate::Workload;
use super::metadata;
use egapp_api::v1alpha1::Autoscaling;

/// The autoscaler of a workload that asks for one. How fast it goes up and down (`behavior`) is not ours to say: what
/// somebody adds there stays.
pub(super) fn desired_autoscaler(workload: &Workload<'_>) -> Option<HorizontalPodAutoscaler> {
    let Autoscaling { min_replicas, max_replicas, target_cpu_utilization_percentage } =
        workload.spec.autoscaling?;
    Some(HorizontalPodAutoscaler {
        metadata: metadata(workload),
        spec: HorizontalPodAutoscalerSpec {
            scale_target_ref: target(workload.name),
            min_replicas: Some(min_replicas),
            max_replicas,
            metrics: Some(vec![cpu(target_cpu_utilization_percentage)]),
            ..HorizontalPodAutoscalerSpec::default()
        },
        status: None,
    })
}

/// The reference to the Deployment of that name.
pub(in super::super) fn target(name: &str) -> CrossVersionObjectReference {
    CrossVersionObjectReference {
        api_version: Some(Deployment::api_version(&()).into_owned()),
        kind: Deployment::kind(&()).into_owned(),
        name: name.to_owned(),
    }
}

/// Of the app's own container: with the pod as a whole, a sidecar that somebody injects without a CPU request would put
/// an end to all scaling.
fn cpu(utilization: i32) -> MetricSpec {
    MetricSpec {
        type_: "ContainerResource".to_owned(),
        container_resource: Some(ContainerResourceMetricSource {
            name: "cpu".to_owned(),
            container: names::CONTAINER.to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(utilization),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    }
}

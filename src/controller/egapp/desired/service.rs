//! The Service: how other apps reach this one by its name. Pure.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::names;
use super::super::validate::Workload;
use super::metadata;

/// The Service of a workload that wants one.
pub(super) fn desired_service(workload: &Workload<'_>) -> Option<Service> {
    if workload.port.is_none() || !workload.spec.service.enabled {
        return None;
    }
    Some(Service {
        metadata: metadata(workload),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(names::selector(workload.name)),
            ports: Some(vec![ServicePort {
                name: Some(names::PORT.to_owned()),
                port: workload.spec.service.port,
                // By name, which is looked up in every pod: while the port changes, each pod gets traffic on its own.
                target_port: Some(IntOrString::String(names::PORT.to_owned())),
                protocol: Some("TCP".to_owned()),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    })
}

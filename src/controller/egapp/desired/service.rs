//! The Service: how other apps reach this one by its name. Pure.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::names;
use super::super::validate::Workload;
use super::metadata;

/// The Service of a workload that wants one.
pub(super) fn desired_service(workload: &Workload<'_>) -> Option<Service> {
    let target = workload.port.filter(|_| workload.spec.service.enabled)?;
    Some(Service {
        metadata: metadata(workload),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            selector: Some(names::selector(workload.name)),
            ports: Some(vec![ServicePort {
                name: Some(names::PORT.to_owned()),
                port: workload.spec.service.port,
                // By number: a name would have to be looked up in every pod.
                target_port: Some(IntOrString::Int(target)),
                protocol: Some("TCP".to_owned()),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        status: None,
    })
}

//! Probes: the user's, else a connection to the app's port. Pure.
//!
//! Kubernetes' defaults are written out: a probe is wholly ours, so nothing in it may be anybody's guess.

use k8s_openapi::api::core::v1::{ExecAction, GRPCAction, HTTPGetAction, HTTPHeader, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::validate::Workload;
use egapp_api::v1alpha1 as api;

/// Seconds between two tries of a default probe: traffic reaches a new pod soon, and a connection costs next to nothing.
const PERIOD_SECONDS: i32 = 2;

/// The user's, else none: what restarts a container is for those to say who know it.
pub(super) fn liveness(workload: &Workload<'_>) -> Option<Probe> {
    workload.spec.liveness_probe.as_ref().map(|probe| users(workload, probe))
}

/// The user's, else a connection to the port.
pub(super) fn readiness(workload: &Workload<'_>) -> Option<Probe> {
    match &workload.spec.readiness_probe {
        Some(probe) => Some(users(workload, probe)),
        None => workload.port.map(|port| connection(port, DEFAULT_FAILURES)),
    }
}

/// The user's, else a connection to the port for as long as the framework may take to start.
pub(super) fn startup(workload: &Workload<'_>) -> Option<Probe> {
    let tries = workload.profile.startup_seconds.saturating_add(PERIOD_SECONDS - 1) / PERIOD_SECONDS;
    match &workload.spec.startup_probe {
        Some(probe) => Some(users(workload, probe)),
        None => workload.port.map(|port| connection(port, tries)),
    }
}

/// `failureThreshold` of Kubernetes.
const DEFAULT_FAILURES: i32 = 3;

fn connection(port: i32, failures: i32) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction { port: IntOrString::Int(port), host: None }),
        period_seconds: Some(PERIOD_SECONDS),
        timeout_seconds: Some(1),
        success_threshold: Some(1),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

fn users(workload: &Workload<'_>, probe: &api::Probe) -> Probe {
    let own_port = workload.port.unwrap_or(workload.profile.port);
    let port = |port: Option<i32>| port.unwrap_or(own_port);
    Probe {
        http_get: probe.http_get.as_ref().map(|action| HTTPGetAction {
            path: Some(action.path.clone().unwrap_or_else(|| "/".to_owned())),
            port: IntOrString::Int(port(action.port)),
            scheme: Some(action.scheme.clone().unwrap_or_else(|| "HTTP".to_owned())),
            http_headers: headers(action),
            ..HTTPGetAction::default()
        }),
        tcp_socket: probe
            .tcp_socket
            .as_ref()
            .map(|action| TCPSocketAction { port: IntOrString::Int(port(action.port)), host: None }),
        exec: probe.exec.as_ref().map(|action| ExecAction { command: Some(action.command.clone()) }),
        grpc: probe.grpc.as_ref().map(|action| GRPCAction {
            port: port(action.port),
            service: action.service.clone().filter(|service| !service.is_empty()),
            ..GRPCAction::default()
        }),
        initial_delay_seconds: probe.initial_delay_seconds.filter(|seconds| *seconds > 0),
        period_seconds: Some(probe.period_seconds.unwrap_or(10)),
        timeout_seconds: Some(probe.timeout_seconds.unwrap_or(1)),
        success_threshold: Some(probe.success_threshold.unwrap_or(1)),
        failure_threshold: Some(probe.failure_threshold.unwrap_or(DEFAULT_FAILURES)),
        ..Probe::default()
    }
}

fn headers(action: &api::HttpGetAction) -> Option<Vec<HTTPHeader>> {
    let headers = action
        .http_headers
        .iter()
        .map(|header| HTTPHeader { name: header.name.clone(), value: header.value.clone() });
    let headers: Vec<_> = headers.collect();
    (!headers.is_empty()).then_some(headers)
}

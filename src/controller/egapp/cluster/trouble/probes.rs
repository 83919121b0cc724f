//! Probes that are not answered: how long that may be so, and what is said of it. Pure.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::SignedDuration;

use super::super::pod_view::{Container, ContainerStatus, Ended, Probe};
use super::{Found, TroubleKind, advice};

/// Between the end of the startup probe's time and the end of a container that is killed for it: the default
/// `terminationGracePeriodSeconds`, and what the kubelet needs.
const KILL: SignedDuration = SignedDuration::from_secs(45);

/// Times have whole seconds.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

pub(super) fn unanswered(status: &ContainerStatus, container: &Container, probe: &Probe) -> Found {
    let is_startup = container.startup_probe.as_ref().is_some_and(|startup| std::ptr::eq(startup, probe));
    let field = if is_startup { "spec.startupProbe" } else { "spec.readinessProbe" };
    let correct = format!("; correct {field}");
    let (what, own) = match (&probe.http_get, &probe.tcp_socket, &probe.grpc) {
        (Some(get), _, _) => {
            let path = get.path.as_deref().unwrap_or("/");
            (format!("GET {path} on port {} does not succeed", shown(&get.port)), correct)
        }
        (_, Some(socket), _) => {
            let port = shown(&socket.port);
            let advice = "; set spec.port to the one the app listens on".to_owned();
            (format!("nothing answers on port {port}"), advice)
        }
        (_, _, Some(grpc)) => {
            let port = shown(&grpc.port);
            (format!("the gRPC health check on port {port} does not succeed"), correct)
        }
        _ if status.is_own() => (format!("the command of {field} does not succeed"), String::new()),
        _ => ("the command of its probe does not succeed".to_owned(), String::new()),
    };
    let what = format!("container {} runs, but {what}", status.name);
    Found::new(TroubleKind::ProbeFailing, what, None, &advice(status, &own))
}

/// A container that ends by a signal when its liveness probe may have failed.
pub(super) fn killed(status: &ContainerStatus, code: i32, log: &str) -> Found {
    let what = format!("container {} is killed again and again", status.name);
    let cause = format!("exit code {code}, as where its liveness probe fails");
    let advice = advice(status, "; check spec.livenessProbe, and whether the app answers it in time");
    Found::new(TroubleKind::Killed, what, Some(cause), &format!("{advice}{log}"))
}

/// The kubelet says nowhere in a pod's status that it killed a container for its startup probe. It is the likely cause
/// where a run ends by a request to end just when the probe's time is over.
pub(super) fn was_killed_at_start(probe: &Probe, ended: &Ended, length: Option<SignedDuration>) -> bool {
    let budget = budget(probe);
    // The first probe may come a little early.
    let slack = SignedDuration::from_secs(i64::from(period(probe)));
    is_asked_to_end(ended) && length.is_some_and(|run| run >= budget - slack && run <= budget + KILL)
}

/// Nor for its liveness probe. It may be the cause where a run is ended when that probe can have failed often enough.
pub(super) fn may_be_killed(probe: &Probe, ended: &Ended, length: Option<SignedDuration>) -> bool {
    // The first try needs no period.
    let least = budget(probe) - SignedDuration::from_secs(i64::from(period(probe)));
    is_asked_to_end(ended) && length.is_some_and(|run| run + SECOND >= least)
}

fn is_asked_to_end(ended: &Ended) -> bool {
    matches!(ended.exit_code, 0 | 137 | 143) && ended.reason.as_deref() != Some("OOMKilled")
}

/// How long a container may go on failing the probe, with Kubernetes' own defaults.
pub(super) fn budget(probe: &Probe) -> SignedDuration {
    let tries = probe.failure_threshold.unwrap_or(3);
    let seconds =
        i64::from(period(probe)) * i64::from(tries) + i64::from(probe.initial_delay_seconds.unwrap_or(0));
    SignedDuration::from_secs(seconds)
}

fn period(probe: &Probe) -> i32 {
    probe.period_seconds.unwrap_or(10)
}

fn shown(port: &IntOrString) -> String {
    match port {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(name) => name.clone(),
    }
}

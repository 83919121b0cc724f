//! What keeps a pod as a whole from serving, whatever its containers do. Pure.

use k8s_openapi::jiff::SignedDuration;

use super::super::pod_view::PodView;
use super::super::words;
use super::clock::Clock;
use super::{Found, Trouble, TroubleKind, identity};
use crate::controller::egapp::names;

/// So long a pod may wait for whoever takes scheduling gates away.
const GATED: SignedDuration = SignedDuration::from_secs(30);

/// So long a load balancer, or whoever else meets a readiness gate, may take.
const REGISTRATION: SignedDuration = SignedDuration::from_secs(60);

/// So long after it was made a pod that its node has ended counts: of pods that are ended one after the other, none
/// grows old.
const YOUNG: SignedDuration = SignedDuration::from_mins(30);

/// A pod that has no node yet.
pub(super) fn without_node(pod: &PodView, clock: &Clock) -> Option<Found> {
    if let Some(gates) = pod.scheduling_gates() {
        let what = format!("the pods are held back by scheduling gate {gates}");
        let advice = "; whoever sets it must take it away, as a queue does when it is their turn";
        let from = clock.created.and_then(|created| created.checked_add(GATED).ok());
        return Some(Found { from, ..Found::new(TroubleKind::SchedulingGated, what, None, advice) });
    }
    pod.unscheduled().map(unschedulable)
}

fn unschedulable(sentence: &str) -> Found {
    let cause = words::of_scheduler(sentence);
    let is_about_size = cause.contains("Insufficient ");
    let advice = if is_about_size {
        "; ask for less (spec.instanceType, spec.resources), or for more nodes"
    } else {
        ""
    };
    let cause = Some(cause).filter(|cause| !cause.is_empty());
    Found::new(TroubleKind::Unschedulable, "no node takes the pods".to_owned(), cause, advice)
}

/// A pod that is not ready though all its containers are: a gate is not met; or the node does not answer any more, in
/// which case the node lifecycle controller takes the condition `Ready` away, and nothing else.
pub(super) fn beyond_containers(pod: &PodView, clock: &Clock) -> Option<Found> {
    let since = pod.containers_ready_and_pod_not()?;
    let Some(gates) = pod.unmet_gates() else {
        let advice = "; the pods are replaced after some minutes; `kubectl get nodes` shows which it is";
        return Some(Found::new(
            TroubleKind::NodeLost,
            "nodes of the pods do not answer".to_owned(),
            None,
            advice,
        ));
    };
    let what = format!("the containers are ready, and readiness gate {gates} is not met");
    let advice = "; look at the pods' condition of that name, and at who sets it, such as a load balancer's controller";
    let moment = since.last_transition_time.as_ref().map(|since| clock.moment(since));
    let from = moment.and_then(|moment| moment.at.checked_add(REGISTRATION).ok());
    Some(Found { from, moment, ..Found::new(TroubleKind::ReadinessGate, what, None, advice) })
}

/// Judges a pod that its node has ended, or has not taken. One alone is no trouble: another pod takes its place.
#[must_use]
pub(in super::super) fn trouble_of_ended(pod: &PodView) -> Option<Trouble> {
    let (reason, sentence) = pod.ended_by_node()?;
    let what = match reason {
        "Evicted" => "nodes evict the pods one after the other".to_owned(),
        reason => format!("nodes end the pods one after the other ({reason})"),
    };
    let (name, uid) = identity(pod);
    let cause = words::of_eviction(sentence, name, uid);
    let mut found = Found::new(TroubleKind::Evicted, what, cause, eviction_advice(sentence));
    found.until = pod.created_at().and_then(|created| created.checked_add(YOUNG).ok());
    Some(found.into_trouble(pod, None))
}

fn eviction_advice(sentence: &str) -> &'static str {
    let is_own = sentence.contains(&format!("Container {} was using", names::CONTAINER));
    if sentence.contains("ephemeral storage limit") || sentence.contains("local storage usage exceeds") {
        "; write less to the disk, or raise spec.resources.limits.ephemeral-storage"
    } else if sentence.starts_with("The node was low on resource: memory") && is_own {
        "; it uses more than is set aside for it: raise spec.resources.requests.memory"
    } else if sentence.starts_with("The node was low on resource: ephemeral-storage") && is_own {
        "; write less to the disk, or set spec.resources.requests.ephemeral-storage"
    } else {
        ""
    }
}

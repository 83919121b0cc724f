//! What keeps a pod from serving, judged from one event of the pod alone. Pure.
//!
//! The words stay the same for as long as the cause does: a status is written when they change. The kubelet's own
//! reasons flip while a cause stays (`ErrImagePull` and `ImagePullBackOff`; `CrashLoopBackOff` and running again).

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::pod_view::{Container, ContainerStatus, Ended, PodView, Probe, Running, Waiting};
use super::words;
use crate::controller::egapp::names;
use egapp_api::labels;
use egapp_api::v1alpha1::Reason;

/// The kubelet forgets a crash loop after a run of this length: twice the longest of its pauses.
const LONG_RUN: SignedDuration = SignedDuration::from_mins(10);

/// A restarted container that runs for at least so long, and for twice as long as before, is over its crashes; after a
/// [`LONG_RUN`] in any case.
const PROOF: SignedDuration = SignedDuration::from_secs(30);

/// Between the end of the startup probe's time and the end of a container that is killed for it: the default
/// `terminationGracePeriodSeconds`, and what the kubelet needs.
const KILL: SignedDuration = SignedDuration::from_secs(45);

/// What keeps a pod from serving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: TroubleKind,
    /// The cause in one sentence, the same for all pods that have it.
    pub message: Box<str>,
    /// The pod's template hash.
    pub template: Box<str>,
    /// It is none before this time; `None` = it is one already.
    pub from: Option<Timestamp>,
    /// It is over at this time if no event says otherwise; `None` = an event will tell.
    pub until: Option<Timestamp>,
}

/// Kinds of trouble. Of several pods' troubles the first speaks: what comes first is the more certain to need an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleKind {
    /// The container cannot be made.
    ContainerConfig,
    /// The image cannot be had.
    ImagePull,
    /// The container ends again and again.
    CrashLoop,
    /// No node takes the pod.
    Unschedulable,
    /// The container runs, and does not answer.
    ProbeFailing,
}

impl TroubleKind {
    /// The reason for conditions.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::ContainerConfig => Reason::ContainerConfig,
            Self::ImagePull => Reason::ImagePull,
            Self::CrashLoop => Reason::CrashLoop,
            Self::Unschedulable => Reason::Unschedulable,
            Self::ProbeFailing => Reason::ProbeFailing,
        }
    }
}

impl Trouble {
    /// Whether it is one at `now`.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
    }

    /// How long until it becomes one, or none, by itself.
    #[must_use]
    pub fn changes_in(&self, now: Timestamp) -> Option<Duration> {
        let times = [self.from, self.until].into_iter().flatten();
        let next = times.filter(|time| *time > now).min()?;
        Duration::try_from(next.duration_since(now)).ok()
    }
}

/// Judges a pod. `former` is the judgement of its last event: what that one knew of the cause, and this event does not
/// repeat, stays said.
#[must_use]
pub(super) fn trouble_of(pod: &PodView, former: Option<&Trouble>) -> Option<Trouble> {
    let found = match pod.unscheduled() {
        Some(sentence) => Some(unschedulable(sentence)),
        None => {
            pod.containers().filter_map(|status| of_container(pod, status)).min_by_key(|found| found.kind)
        }
    }?;
    let template = pod.label(names::TEMPLATE_HASH).unwrap_or_default().into();
    let message = found.message(former.filter(|former| former.kind == found.kind));
    Some(Trouble { kind: found.kind, message, template, from: found.from, until: found.until })
}

/// A trouble before it is put into words.
struct Found {
    kind: TroubleKind,
    /// What happens.
    what: String,
    /// Why, where this event says so.
    cause: Option<String>,
    /// What a person can do.
    advice: String,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Found {
    fn new(kind: TroubleKind, what: String, cause: Option<String>, advice: &str) -> Self {
        Self { kind, what, cause, advice: advice.to_owned(), from: None, until: None }
    }

    fn message(&self, former: Option<&Trouble>) -> Box<str> {
        let Self { what, cause, advice, .. } = self;
        match (cause, former) {
            (Some(cause), _) => format!("{what}: {cause}{advice}").into(),
            (None, Some(former)) if former.message.starts_with(what) => former.message.clone(),
            (None, _) => format!("{what}{advice}").into(),
        }
    }
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

fn of_container(pod: &PodView, status: &ContainerStatus) -> Option<Found> {
    let state = status.state.as_ref()?;
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    if let Some(waiting) = &state.waiting {
        return of_waiting(pod, status, waiting, last);
    }
    if let Some(ended) = &state.terminated {
        // An init container ends well and is ready then.
        let is_bad = is_short(ended) && !(ended.exit_code == 0 && status.ready);
        let found = is_bad.then(|| crash_loop(pod, status, Some(ended)))?;
        // A first crash is no loop yet.
        return (status.restart_count > 0 || found.kind == TroubleKind::ProbeFailing).then_some(found);
    }
    let running = state.running.as_ref()?;
    still_looping(pod, status, running, last).or_else(|| not_ready(pod, status, running))
}

fn of_waiting(
    pod: &PodView,
    status: &ContainerStatus,
    waiting: &Waiting,
    last: Option<&Ended>,
) -> Option<Found> {
    let sentence = waiting.message.as_deref().unwrap_or_default();
    match waiting.reason.as_deref()? {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable"
        | "SignatureValidationFailed" => Some(image_pull(pod, status, sentence)),
        "CreateContainerConfigError" | "CreateContainerError" | "PreCreateHookError" => {
            Some(container_config(pod, status, sentence))
        }
        "CrashLoopBackOff" => Some(crash_loop(pod, status, last)),
        "RunContainerError" | "PreStartHookError" | "PostStartHookError" => {
            Some(unstartable(pod, status, sentence))
        }
        _ => None,
    }
}

fn image_pull(pod: &PodView, status: &ContainerStatus, sentence: &str) -> Found {
    let image = pod.container(&status.name).and_then(|container| container.image.as_deref());
    let what = format!(
        "{} cannot be pulled",
        image.map_or_else(|| "the image".to_owned(), |image| format!("image {image}"))
    );
    let cause = words::image_cause(sentence).map(|cause| of_kubelet(pod, cause));
    Found::new(
        TroubleKind::ImagePull,
        what,
        cause,
        "; check spec.image, and spec.imagePullSecrets for a private registry",
    )
}

fn container_config(pod: &PodView, status: &ContainerStatus, sentence: &str) -> Found {
    let cause = of_kubelet(pod, sentence);
    let is_about_root = cause.contains("run as root") || cause.contains("non-numeric user");
    let advice = if is_about_root { "; set spec.runAsUser, or a numeric USER in the image" } else { "" };
    let what = format!("container {} cannot be made", status.name);
    Found::new(TroubleKind::ContainerConfig, what, Some(cause).filter(|cause| !cause.is_empty()), advice)
}

/// The runtime made the container, and could not run it: a wrong command, above all.
fn unstartable(pod: &PodView, status: &ContainerStatus, sentence: &str) -> Found {
    let cause = of_kubelet(pod, sentence.trim_end_matches(": unknown"));
    let what = format!("container {} cannot be started", status.name);
    let cause = Some(cause).filter(|cause| !cause.is_empty());
    Found::new(TroubleKind::CrashLoop, what, cause, "; check spec.command and spec.args")
}

fn crash_loop(pod: &PodView, status: &ContainerStatus, ended: Option<&Ended>) -> Found {
    if let Some(ended) = ended
        && ended.reason.as_deref() == Some("StartError")
    {
        return unstartable(pod, status, ended.message.as_deref().unwrap_or_default());
    }
    if let (Some(ended), Some(container)) = (ended, pod.container(&status.name))
        && let Some(probe) = container.startup_probe.as_ref().filter(|probe| was_killed_for(probe, ended))
    {
        return unanswered(status, container, probe);
    }
    let what = format!("container {} ends again and again", status.name);
    let log = format!(
        "; `kubectl logs deployment/{} --container {} --previous` tells more",
        pod.label(labels::EGAPP).unwrap_or_default(),
        status.name
    );
    let Some(ended) = ended else { return Found::new(TroubleKind::CrashLoop, what, None, &log) };
    let code = ended.exit_code;
    let (cause, advice) = match (ended.reason.as_deref(), code) {
        (Some("OOMKilled"), _) => {
            let advice = "; give it more memory (spec.instanceType, spec.resources.limits)".to_owned();
            (format!("OOMKilled, it needs more memory than its limit (exit code {code})"), advice)
        }
        (_, 0) => ("exit code 0, though it is meant to go on running".to_owned(), log),
        _ => (format!("exit code {code}"), log),
    };
    Found::new(TroubleKind::CrashLoop, what, Some(cause), &advice)
}

/// A container that runs once more after short runs has still to prove itself: until then it may be between two
/// crashes, ready or not.
fn still_looping(
    pod: &PodView,
    status: &ContainerStatus,
    running: &Running,
    last: Option<&Ended>,
) -> Option<Found> {
    let last = last.filter(|last| is_short(last))?;
    let found = crash_loop(pod, status, Some(last));
    if found.kind == TroubleKind::ProbeFailing {
        return (status.started != Some(true)).then_some(found);
    }
    let proof = length(last).map_or(PROOF, |run| PROOF.max(run * 2).min(LONG_RUN));
    let until = started(running)?.checked_add(proof).ok()?;
    (status.restart_count > 1).then_some(Found { until: Some(until), ..found })
}

/// A running container that does not answer its probes past their time.
fn not_ready(pod: &PodView, status: &ContainerStatus, running: &Running) -> Option<Found> {
    let container = pod.container(&status.name).filter(|_| !status.ready)?;
    let startup = container.startup_probe.as_ref();
    let readiness = container.readiness_probe.as_ref().filter(|_| status.started == Some(true));
    let probe = readiness.or(startup)?;
    let budget = [startup, readiness].into_iter().flatten().map(budget).sum::<SignedDuration>();
    let from = started(running)?.checked_add(budget).ok()?;
    Some(Found { from: Some(from), ..unanswered(status, container, probe) })
}

fn unanswered(status: &ContainerStatus, container: &Container, probe: &Probe) -> Found {
    let is_startup = container.startup_probe.as_ref().is_some_and(|startup| std::ptr::eq(startup, probe));
    let field = if is_startup { "spec.startupProbe" } else { "spec.readinessProbe" };
    let (what, advice) = match (&probe.http_get, &probe.tcp_socket, &probe.grpc) {
        (Some(get), _, _) => {
            let path = get.path.as_deref().unwrap_or("/");
            (
                format!("GET {path} on port {} does not succeed", shown(&get.port)),
                format!("; correct {field}"),
            )
        }
        (_, Some(socket), _) => {
            let port = shown(&socket.port);
            (
                format!("nothing answers on port {port}"),
                "; set spec.port to the one the app listens on".to_owned(),
            )
        }
        (_, _, Some(grpc)) => {
            let port = shown(&grpc.port);
            (format!("the gRPC health check on port {port} does not succeed"), format!("; correct {field}"))
        }
        _ => (format!("the command of {field} does not succeed"), String::new()),
    };
    let what = format!("container {} runs, but {what}", status.name);
    Found::new(TroubleKind::ProbeFailing, what, None, &advice)
}

/// The kubelet says nowhere in a pod's status that it killed a container for its startup probe. It is the likely cause
/// where a run ends by a request to end just when the probe's time is over.
fn was_killed_for(probe: &Probe, ended: &Ended) -> bool {
    let budget = budget(probe);
    let is_killed = matches!(ended.exit_code, 0 | 137 | 143) && ended.reason.as_deref() != Some("OOMKilled");
    // Times have whole seconds, and the first probe may come a little early.
    let slack = SignedDuration::from_secs(i64::from(period(probe)));
    is_killed && length(ended).is_some_and(|run| run >= budget - slack && run <= budget + KILL)
}

/// How long a container may go on failing the probe, with Kubernetes' own defaults.
fn budget(probe: &Probe) -> SignedDuration {
    let tries = probe.failure_threshold.unwrap_or(3);
    let seconds =
        i64::from(period(probe)) * i64::from(tries) + i64::from(probe.initial_delay_seconds.unwrap_or(0));
    SignedDuration::from_secs(seconds)
}

fn period(probe: &Probe) -> i32 {
    probe.period_seconds.unwrap_or(10)
}

fn started(running: &Running) -> Option<Timestamp> {
    running.started_at.as_ref().map(|time| time.0)
}

fn length(run: &Ended) -> Option<SignedDuration> {
    let (Some(Time(start)), Some(Time(end))) = (&run.started_at, &run.finished_at) else { return None };
    Some(end.duration_since(*start))
}

fn is_short(run: &Ended) -> bool {
    length(run).is_none_or(|run| run < LONG_RUN)
}

fn shown(port: &IntOrString) -> String {
    match port {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(name) => name.clone(),
    }
}

fn of_kubelet(pod: &PodView, sentence: &str) -> String {
    let meta = &pod.metadata;
    let (name, uid) = (meta.name.as_deref().unwrap_or_default(), meta.uid.as_deref().unwrap_or_default());
    words::of_kubelet(sentence, name, uid)
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;

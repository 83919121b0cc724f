//! What keeps a pod from serving, judged from one event of the pod alone. Pure.
//!
//! The words stay the same for as long as the cause does: a status is written when they change. The kubelet's own
//! reasons flip while a cause stays (`ErrImagePull` and `ImagePullBackOff`; `CrashLoopBackOff` and running again).

mod clock;
mod container;
mod pod;
mod probes;

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use self::clock::{Clock, Moment};
use self::container::Look;
use super::pod_view::{ContainerStatus, PodView};
use crate::controller::egapp::names;
use egapp_api::v1alpha1::Reason;

pub(super) use self::pod::trouble_of_ended;

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
    /// What those times were reckoned from.
    pub moment: Option<Moment>,
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
    /// The container is ended again and again, as where its liveness probe fails.
    Killed,
    /// Somebody holds the pod back from the scheduler.
    SchedulingGated,
    /// No node takes the pod.
    Unschedulable,
    /// The pod's node has ended it.
    Evicted,
    /// The container runs, and does not answer.
    ProbeFailing,
    /// The containers are ready, and somebody else does not say so of the pod.
    ReadinessGate,
    /// The pod's node does not answer.
    NodeLost,
}

impl TroubleKind {
    /// The reason for conditions.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::ContainerConfig => Reason::ContainerConfig,
            Self::ImagePull => Reason::ImagePull,
            Self::CrashLoop => Reason::CrashLoop,
            Self::SchedulingGated => Reason::SchedulingGated,
            Self::Unschedulable => Reason::Unschedulable,
            Self::Evicted => Reason::Evicted,
            Self::Killed | Self::ProbeFailing => Reason::ProbeFailing,
            Self::ReadinessGate => Reason::ReadinessGatesNotReady,
            Self::NodeLost => Reason::NodeLost,
        }
    }

    /// Whether it holds also while the pod counts as available: between two ends of a container, nobody else can know.
    #[must_use]
    pub const fn outlasts_readiness(self) -> bool {
        matches!(self, Self::CrashLoop | Self::Killed)
    }

    /// Of how many pods it must be told to be one: another pod takes the place of one that its node has ended.
    #[must_use]
    pub const fn least(self) -> usize {
        if matches!(self, Self::Evicted) { 2 } else { 1 }
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

/// Judges a live pod. `former` is the judgement of its last event: what that one knew of the cause, and this event does
/// not repeat, stays said.
#[must_use]
pub(super) fn trouble_of(pod: &PodView, former: Option<&Trouble>, now: Timestamp) -> Option<Trouble> {
    let clock = Clock::of(pod, former.and_then(|former| former.moment), now);
    let of_containers = || {
        let looks = pod.containers().map(|status| Look { pod, clock: &clock, status });
        looks.filter_map(Look::judge).min_by_key(|found| found.kind)
    };
    let found = pod::without_node(pod, &clock)
        .or_else(of_containers)
        .or_else(|| pod::beyond_containers(pod, &clock))?;
    Some(found.into_trouble(pod, former))
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
    moment: Option<Moment>,
}

impl Found {
    fn new(kind: TroubleKind, what: String, cause: Option<String>, advice: &str) -> Self {
        Self { kind, what, cause, advice: advice.to_owned(), from: None, until: None, moment: None }
    }

    fn into_trouble(self, pod: &PodView, former: Option<&Trouble>) -> Trouble {
        let template = pod.label(names::TEMPLATE_HASH).unwrap_or_default().into();
        let message = self.message(former.filter(|former| former.kind == self.kind));
        let Self { kind, from, until, moment, .. } = self;
        Trouble { kind, message, template, from, until, moment }
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

/// What to do about a container: the fields of an EGApp are about the app's own alone.
fn advice(status: &ContainerStatus, own: &str) -> String {
    if status.is_own() {
        return own.to_owned();
    }
    format!("; container {} is not the app's own: whoever adds it can put it right", status.name)
}

/// Name and uid, which no message may tell.
fn identity(pod: &PodView) -> (&str, &str) {
    let meta = &pod.metadata;
    (meta.name.as_deref().unwrap_or_default(), meta.uid.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod pod_tests;
#[cfg(test)]
mod tests;

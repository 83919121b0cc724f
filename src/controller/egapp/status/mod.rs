//! Step `status`: what happened and what exists become the EGApp's status. Pure.

mod conditions;
mod rollout;
mod summary;

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use self::conditions::{Available, Wanted, condition, conditions, overridden, whole_seconds};
use self::rollout::Rollout;
use self::summary::{Kind, Said, Scaled, Summary, summarize};
use super::cluster::Undecodable;
use super::error::Error;
use super::names;
use super::observe::Observed;
use super::replicas::{OwnAutoscaler, Replicas, Scaling};
use super::validate::Image;
use egapp_api::v1alpha1::{
    ConditionStatus, ConditionType, EGApp, EGAppStatus, EffectiveResources, LastFailure, MAX_LISTED_PODS,
    Reason,
};

/// What the status tells of the workload.
#[derive(Clone, Debug)]
pub struct MadeOf {
    /// What runs.
    pub image: Image,
    /// Resources of one replica.
    pub resources: EffectiveResources,
}

impl MadeOf {
    /// What the status told last, for an app that keeps what it has.
    #[must_use]
    pub fn told(app: &EGApp) -> Option<Self> {
        let status = app.status.as_ref()?;
        let ready = status.condition(ConditionType::Ready);
        let image = Image {
            reference: status.image.clone()?,
            command: Vec::new(),
            args: Vec::new(),
            run_as_user: None,
            is_starter: ready.is_some_and(|ready| ready.reason == Reason::StarterImage.as_str()),
        };
        Some(Self { image, resources: status.resources.clone()? })
    }
}

/// How far the pass over an EGApp came.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// The children are as they should be.
    InSync,
    /// A child is not as it is wanted yet: a former object of that kind must be gone first, or it is its turn next.
    Unfinished(Option<&'static str>),
    /// `spec.suspend` is set: nothing was done.
    Suspended,
    /// The EGApp is being deleted, and not gone yet: nothing was done.
    Terminating,
    /// Something is in the way.
    Failed(&'a Error),
    /// The Deployment is as it should be, and something is in the way of another child.
    Impaired(&'a Error),
}

/// A status, when to write it, and when to look again.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The whole status.
    pub status: EGAppStatus,
    /// When it is worth a write.
    pub urgency: Urgency,
    /// Whether something is in the way of the app.
    pub is_failing: bool,
    /// After this time it may be another one, though nothing happens.
    pub changes_in: Option<Duration>,
}

impl Verdict {
    /// Adds what admission makes of the children though the app can live with it: one sentence for each field. `None`:
    /// nobody has looked, and what was told stands.
    pub fn tell_overrides(&mut self, app: &EGApp, sentences: Option<Vec<&str>>, now: Timestamp) {
        let previous = app.status.as_ref().and_then(|status| status.condition(ConditionType::Overridden));
        let told = match sentences {
            None => previous.cloned(),
            Some(sentences) => overridden(app, previous, &sentences, now),
        };
        self.status.conditions.extend(told);
    }
}

/// When a status is worth a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Nothing is under way that would change it within moments: at once.
    Settled,
    /// A failure that people must hear of: at once, though not many times a second.
    News,
    /// It will change within moments: when its turn comes.
    Moving,
}

/// Computes the status of `app` at `now`.
#[must_use]
pub fn status(
    app: &EGApp,
    made_of: Option<&MadeOf>,
    observed: &Observed,
    outcome: Outcome<'_>,
    now: Timestamp,
) -> Verdict {
    let name = app.metadata.name.as_deref().unwrap_or_default();
    let scaling = Scaling::of(&app.spec, observed);
    let desired = scaling.desired(observed);
    let rollout = Rollout::of(observed, name, desired);
    let is_in_vain = app.spec.autoscaling.is_some() && scaling.autoscaler == OwnAutoscaler::Unwanted;
    let is_left = observed.is_in_grace && scaling.replicas == Replicas::Autoscaled;
    let by = scaling.decider(name, observed);
    let scaled = Scaled { desired, by, is_in_vain, is_left, budgets: &observed.budgeted_by };
    let summary = summarize((app, &scaled), outcome, &rollout, made_of, now);
    let previous = app.status.as_ref();
    let listed = observed.pods.iter().take(MAX_LISTED_PODS).map(ToString::to_string).collect();
    let omitted = observed.pods.len().saturating_sub(MAX_LISTED_PODS);
    let counts = &rollout.state;
    let available = if counts.is_available { Available::Enough } else { Available::TooFew };
    let status = EGAppStatus {
        observed_generation: app.metadata.generation,
        conditions: conditions(app, &summary, available, now),
        desired_replicas: Some(desired),
        replicas: Some(counts.replicas),
        ready_replicas: Some(counts.ready_replicas),
        updated_replicas: Some(counts.updated_replicas),
        available_replicas: Some(counts.available_replicas),
        selector: Some(names::selector_string(name)),
        pods: listed,
        pods_omitted: (omitted > 0).then(|| i32::try_from(omitted).unwrap_or(i32::MAX)),
        image: made_of.map(|made_of| made_of.image.reference.clone()),
        resources: made_of.map(|made_of| rollout.resources(&made_of.resources)),
        last_failure: last_failure(previous, &summary, now),
    };
    let is_complete = rollout.is_complete() && i32::try_from(observed.pods.len()) == Ok(desired);
    let urgency = match summary.kind {
        Kind::Going if is_complete => Urgency::Settled,
        Kind::Resting if is_complete || is_ready_news(previous, &status) => Urgency::Settled,
        Kind::Failing if is_complete || is_ready_news(previous, &status) => Urgency::News,
        // What the pods do meanwhile can wait its turn.
        Kind::Going | Kind::Resting | Kind::Failing => Urgency::Moving,
    };
    Verdict {
        status,
        urgency,
        is_failing: summary.kind == Kind::Failing,
        changes_in: rollout.changes_in(now),
    }
}

/// It stays until the app is Ready again, with the time at which it failed so first.
fn last_failure(previous: Option<&EGAppStatus>, summary: &Summary, now: Timestamp) -> Option<LastFailure> {
    let former = previous.and_then(|status| status.last_failure.clone());
    match (summary.kind, summary.ready) {
        (_, ConditionStatus::True) => None,
        (Kind::Going | Kind::Resting, _) => former,
        (Kind::Failing, _) => {
            let Said { reason, message } = summary.said.clone();
            let same = former.filter(|former| former.reason == reason.as_str());
            let since = same.map_or_else(|| whole_seconds(now), |former| former.since);
            Some(LastFailure { reason: reason.as_str().to_owned(), message, since, platform_change: None })
        }
    }
}

fn is_ready_news(previous: Option<&EGAppStatus>, status: &EGAppStatus) -> bool {
    let summary = |status: &EGAppStatus| {
        let ready = status.condition(ConditionType::Ready)?;
        Some((ready.status.clone(), ready.reason.clone(), ready.message.clone(), ready.observed_generation))
    };
    previous.and_then(summary) != summary(status)
}

/// The status of an EGApp that this release cannot decode: nothing of its spec is known.
///
/// It has no field that a later status would have to drop: what a merge patch has written, a server-side apply takes
/// over but does not remove.
#[must_use]
pub fn undecodable(app: &Undecodable, name: &str, message: &str, now: Timestamp) -> EGAppStatus {
    let (type_, status) = (ConditionType::Ready, ConditionStatus::False);
    let said = Said::new(Reason::InvalidSpec, message);
    let wanted = Wanted { type_, status, said: &said };
    let previous = app.status.as_ref().and_then(|status| status.condition(type_));
    EGAppStatus {
        observed_generation: Some(app.generation),
        conditions: vec![condition(previous, wanted, Some(app.generation), now)],
        selector: Some(names::selector_string(name)),
        ..EGAppStatus::default()
    }
}

/// The status of an EGApp whose children may not be seen: what was told of them stays, but is no longer known to hold.
#[must_use]
pub fn unseen(app: &EGApp, why: &str, now: Timestamp) -> EGAppStatus {
    let told = app.status.clone().unwrap_or_default();
    let (type_, status) = (ConditionType::Ready, ConditionStatus::Unknown);
    let wanted = Wanted { type_, status, said: &Said::new(Reason::Forbidden, why) };
    let ready = condition(told.condition(type_), wanted, app.metadata.generation, now);
    let others = told.conditions.iter().filter(|condition| {
        is_our_type(condition)
            && condition.type_ != type_.as_str()
            && condition.type_ != ConditionType::Stalled.as_str()
    });
    EGAppStatus {
        observed_generation: app.metadata.generation,
        conditions: others.cloned().chain([ready]).collect(),
        selector: Some(names::selector_string(app.metadata.name.as_deref().unwrap_or_default())),
        ..told
    }
}

/// Whether `live` says what is wanted, and nothing else in words that are ours. Conditions of other types are their
/// writers' affair, and so is the order.
#[must_use]
pub fn says(live: Option<&EGAppStatus>, wanted: &EGAppStatus) -> bool {
    let sorted = |conditions: &[Condition]| {
        let mut ours: Vec<_> =
            conditions.iter().filter(|condition| is_our_type(condition)).cloned().collect();
        ours.sort_by(|a, b| a.type_.cmp(&b.type_));
        ours
    };
    live.is_some_and(|live| {
        sorted(&live.conditions) == sorted(&wanted.conditions)
            && EGAppStatus { conditions: Vec::new(), ..live.clone() }
                == EGAppStatus { conditions: Vec::new(), ..wanted.clone() }
    })
}

/// Whether a condition is of a type that this controller speaks of.
#[must_use]
pub fn is_our_type(condition: &Condition) -> bool {
    ConditionType::ALL.iter().any(|type_| type_.as_str() == condition.type_)
}

//! Step `status`: what happened and what exists become the EGApp's status. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use super::cluster::{DeploymentState, Undecodable};
use super::error::{Disposition, Error};
use super::names;
use super::observe::{Observed, Ownership};
use super::validate::Image;
use egapp_api::v1alpha1::{
    ConditionStatus, ConditionType, EGApp, EGAppStatus, EffectiveResources, MAX_LISTED_PODS, Reason,
};

/// What the status tells of the workload.
#[derive(Clone, Debug)]
pub struct MadeOf {
    /// What runs.
    pub image: Image,
    /// Resources of one replica.
    pub resources: EffectiveResources,
}

/// How far the pass over an EGApp came.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// The children are as they should be.
    InSync,
    /// `spec.suspend` is set: nothing was done.
    Suspended,
    /// Something is in the way.
    Failed(&'a Error),
}

/// A status, and whether it will last.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The whole status.
    pub status: EGAppStatus,
    /// Whether nothing is under way that would change it within moments: worth a write at once.
    pub is_settled: bool,
}

/// The summary from which the conditions are made.
struct Summary {
    ready: ConditionStatus,
    reason: Reason,
    message: String,
    is_progressing: bool,
    is_stalled: bool,
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
    let desired = app.spec.replica_count;
    let rollout = Rollout::of(observed, desired);
    let summary = summarize(outcome, rollout, made_of, desired);
    let previous = app.status.as_ref();
    let listed = observed.pods.iter().take(MAX_LISTED_PODS).map(ToString::to_string).collect();
    let omitted = observed.pods.len().saturating_sub(MAX_LISTED_PODS);
    let counts = rollout.state;
    let status = EGAppStatus {
        observed_generation: app.metadata.generation,
        conditions: conditions(app, &summary, counts.is_available, now),
        desired_replicas: Some(desired),
        replicas: Some(counts.replicas),
        ready_replicas: Some(counts.ready_replicas),
        updated_replicas: Some(counts.updated_replicas),
        available_replicas: Some(counts.available_replicas),
        selector: Some(names::selector_string(app.metadata.name.as_deref().unwrap_or_default())),
        pods: listed,
        pods_omitted: (omitted > 0).then(|| i32::try_from(omitted).unwrap_or(i32::MAX)),
        image: made_of.map(|made_of| made_of.image.reference.clone()),
        resources: made_of.map(|made_of| made_of.resources.clone()),
    };
    let is_complete = rollout.is_complete && i32::try_from(observed.pods.len()) == Ok(desired);
    let is_settled = match outcome {
        Outcome::InSync if !rollout.is_past_deadline => is_complete,
        // The news is told at once; what the pods do meanwhile can wait its turn.
        Outcome::InSync | Outcome::Suspended | Outcome::Failed(_) => {
            is_complete || is_ready_news(previous, &status)
        }
    };
    Verdict { status, is_settled }
}

/// The state of the Deployment with respect to what is wanted.
#[derive(Clone, Copy)]
struct Rollout {
    state: DeploymentState,
    is_waiting: bool,
    is_complete: bool,
    is_past_deadline: bool,
}

impl Rollout {
    fn of(observed: &Observed, desired: i32) -> Self {
        let is_ours = matches!(
            observed.deployment.ownership,
            Ownership::Ours | Ownership::Terminating | Ownership::Orphan
        );
        let details =
            observed.deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_deref());
        let Some(details) = details else {
            let is_waiting = observed.deployment.ownership == Ownership::Predecessor;
            return Self {
                state: DeploymentState::default(),
                is_waiting,
                is_complete: false,
                is_past_deadline: false,
            };
        };
        let state = details.state;
        let is_seen = state.observed_generation >= details.generation
            && observed.deployment.ownership == Ownership::Ours;
        let counts = [state.replicas, state.updated_replicas, state.ready_replicas, state.available_replicas];
        Self {
            state,
            is_waiting: details.is_terminating,
            is_complete: is_seen && counts.iter().all(|count| *count == desired),
            is_past_deadline: is_seen && state.is_past_deadline,
        }
    }
}

fn summarize(outcome: Outcome<'_>, rollout: Rollout, made_of: Option<&MadeOf>, desired: i32) -> Summary {
    let under_way = !rollout.is_complete;
    match outcome {
        Outcome::Failed(error) => Summary {
            ready: ConditionStatus::False,
            reason: error.reason(),
            message: error.message(),
            is_progressing: false,
            is_stalled: error.disposition().is_terminal() && error.disposition() != Disposition::Gone,
        },
        Outcome::Suspended => Summary {
            ready: ConditionStatus::Unknown,
            reason: Reason::Suspended,
            message: "spec.suspend is true: the operator changes nothing until it is false again".to_owned(),
            is_progressing: under_way,
            is_stalled: false,
        },
        Outcome::InSync if rollout.is_complete => {
            let (reason, message) = done(made_of, desired);
            Summary { ready: ConditionStatus::True, reason, message, is_progressing: false, is_stalled: false }
        }
        Outcome::InSync if rollout.is_past_deadline => Summary {
            ready: ConditionStatus::False,
            reason: Reason::ProgressDeadlineExceeded,
            message: "the rollout made no progress within the Deployment's deadline; `kubectl describe` its pods to \
                      see why"
                .to_owned(),
            is_progressing: false,
            is_stalled: true,
        },
        Outcome::InSync => {
            let message = if rollout.is_waiting {
                "waiting for the former Deployment of this name to be gone"
            } else {
                "the Deployment is rolling out"
            };
            Summary {
                ready: ConditionStatus::False,
                reason: Reason::RollingOut,
                message: message.to_owned(),
                is_progressing: true,
                is_stalled: false,
            }
        }
    }
}

fn done(made_of: Option<&MadeOf>, desired: i32) -> (Reason, String) {
    match made_of.map(|made_of| &made_of.image) {
        _ if desired == 0 => {
            (Reason::ScaledToZero, "scaled to zero: no replica is wanted, and none runs".to_owned())
        }
        Some(image) if image.is_starter => {
            let text =
                "all replicas are available, and run the framework's starter: set spec.image to run your own";
            (Reason::StarterImage, text.to_owned())
        }
        _ => (Reason::Available, "all replicas are up to date and available".to_owned()),
    }
}

fn conditions(app: &EGApp, summary: &Summary, is_available: bool, now: Timestamp) -> Vec<Condition> {
    let new = |type_, status, reason: Reason, message: &str| {
        let previous = app.status.as_ref().and_then(|status| status.condition(type_));
        condition(previous, Wanted { type_, status, reason, message }, app.metadata.generation, now)
    };
    let is = |flag| if flag { ConditionStatus::True } else { ConditionStatus::False };
    let Summary { ready, reason, message, is_progressing, is_stalled } = summary;
    let (available_reason, available_message) = match (is_available, ready) {
        (true, ConditionStatus::True) | (false, _) => (*reason, message.as_str()),
        (true, ConditionStatus::False | ConditionStatus::Unknown) => {
            (Reason::Available, "enough replicas are available")
        }
    };
    let progressing_reason = if *is_progressing { Reason::RollingOut } else { *reason };
    let mut conditions = vec![
        new(ConditionType::Available, is(is_available), available_reason, available_message),
        new(ConditionType::Progressing, is(*is_progressing), progressing_reason, message),
        new(ConditionType::Ready, *ready, *reason, message),
    ];
    if *is_stalled {
        conditions.push(new(ConditionType::Stalled, ConditionStatus::True, *reason, message));
    }
    conditions
}

#[derive(Clone, Copy)]
struct Wanted<'a> {
    type_: ConditionType,
    status: ConditionStatus,
    reason: Reason,
    message: &'a str,
}

/// `lastTransitionTime` moves only when the status does (API conventions, "Typical status properties").
fn condition(
    previous: Option<&Condition>,
    wanted: Wanted<'_>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let unchanged = previous.filter(|previous| previous.status == wanted.status.as_str());
    Condition {
        type_: wanted.type_.as_str().to_owned(),
        status: wanted.status.as_str().to_owned(),
        reason: wanted.reason.as_str().to_owned(),
        message: wanted.message.to_owned(),
        observed_generation: generation,
        last_transition_time: unchanged
            .map_or_else(|| whole_seconds(now), |previous| previous.last_transition_time.clone()),
    }
}

/// The API stores whole seconds: anything finer would read back as another time, and be written again.
fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
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
    let wanted = Wanted { type_, status, reason: Reason::InvalidSpec, message };
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
    let wanted = Wanted { type_, status, reason: Reason::Forbidden, message: why };
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

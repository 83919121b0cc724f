//! One sentence for the state of an app, from which the conditions are made. Pure.

use k8s_openapi::jiff::Timestamp;

use super::rollout::{Progress, Rollout};
use super::{MadeOf, Outcome};
use crate::controller::egapp::error::{Disposition, Error};
use crate::controller::sentence::{WHOLE, line};
use egapp_api::v1alpha1::{ConditionStatus, EGApp, Reason};

/// A reason and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Said {
    /// One line, of a length that a condition takes: what it quotes may have any.
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: line(&message.into(), WHOLE) }
    }
}

/// The summary from which the conditions are made.
pub(super) struct Summary {
    pub(super) ready: ConditionStatus,
    pub(super) said: Said,
    pub(super) progressing: (ConditionStatus, Said),
    pub(super) stalled: Option<Said>,
    pub(super) kind: Kind,
}

/// What a summary is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All is as wanted, or on its way there.
    Going,
    /// Something is in the way.
    Failing,
    /// The operator keeps its hands off, or has nothing left to do.
    Resting,
}

/// How many replicas are wanted.
pub(super) struct Scaled<'a> {
    pub(super) desired: i32,
    /// Name of the autoscaler that says so, if one does.
    pub(super) by: Option<&'a str>,
    /// Whether the app asks for one of its own, which there is none of beside that one.
    pub(super) is_in_vain: bool,
    /// Whether the one that said so has only just gone.
    pub(super) is_left: bool,
    /// Names of others' PodDisruptionBudgets over the pods.
    pub(super) budgets: &'a [Box<str>],
}

/// Sums up a pass and what exists.
pub(super) fn summarize(
    (app, scaled): (&EGApp, &Scaled<'_>),
    outcome: Outcome<'_>,
    rollout: &Rollout<'_>,
    made_of: Option<&MadeOf>,
    now: Timestamp,
) -> Summary {
    let name = app.metadata.name.as_deref().unwrap_or_default();
    match outcome {
        Outcome::Failed(error) => failed(error),
        Outcome::Impaired(error) => match rollout.blocker(name, now) {
            Some(said) => blocked(beside(said, error), rollout),
            None => failed(error),
        },
        Outcome::Suspended => {
            let text = "spec.suspend is true: the operator changes nothing until it is false again";
            resting(ConditionStatus::Unknown, Said::new(Reason::Suspended, text), rollout)
        }
        Outcome::Terminating => resting(ConditionStatus::False, terminating(app), rollout),
        Outcome::Unfinished(former) => match (rollout.blocker(name, now), former) {
            (Some(said), _) => blocked(said, rollout),
            (None, Some(kind)) => going(ConditionStatus::False, waiting_for(kind)),
            (None, None) => going(ConditionStatus::False, rolling_out(rollout)),
        },
        Outcome::InSync => match rollout.blocker(name, now) {
            Some(said) => blocked(said, rollout),
            None if rollout.is_complete() => going(ConditionStatus::True, done(made_of, scaled)),
            None if rollout.progress == Progress::GivenUp => blocked(past_deadline(), rollout),
            None => going(ConditionStatus::False, rolling_out(rollout)),
        },
    }
}

/// The pass itself failed.
fn failed(error: &Error) -> Summary {
    let said = Said::new(error.reason(), error.message());
    let disposition = error.disposition();
    let is_stalled = disposition.is_terminal() && disposition != Disposition::Gone;
    Summary {
        ready: ConditionStatus::False,
        progressing: (ConditionStatus::False, said.clone()),
        stalled: is_stalled.then(|| said.clone()),
        said,
        kind: Kind::Failing,
    }
}

/// Pods that do not serve are the greater trouble, and the other one is not kept back.
fn beside(Said { reason, message }: Said, error: &Error) -> Said {
    Said::new(reason, format!("{message}; besides, {}: {}", error.reason().as_str(), error.message()))
}

/// The children are as wanted, and the pods do not serve. The Deployment goes on trying until its deadline, and so does
/// whoever watches.
fn blocked(said: Said, rollout: &Rollout<'_>) -> Summary {
    let stalled = (rollout.progress == Progress::GivenUp).then(past_deadline);
    let progressing = match &stalled {
        Some(deadline) => (ConditionStatus::False, deadline.clone()),
        None if rollout.is_complete() => (ConditionStatus::False, said.clone()),
        None => (ConditionStatus::True, rolling_out(rollout)),
    };
    Summary { ready: ConditionStatus::False, said, progressing, stalled, kind: Kind::Failing }
}

fn going(ready: ConditionStatus, said: Said) -> Summary {
    let progressing = match ready {
        ConditionStatus::True => ConditionStatus::False,
        ConditionStatus::False | ConditionStatus::Unknown => ConditionStatus::True,
    };
    Summary { ready, progressing: (progressing, said.clone()), said, stalled: None, kind: Kind::Going }
}

fn resting(ready: ConditionStatus, said: Said, rollout: &Rollout<'_>) -> Summary {
    let progressing = match rollout.progress {
        Progress::Moving | Progress::Waiting => (ConditionStatus::True, rolling_out(rollout)),
        Progress::Unseen | Progress::GivenUp | Progress::Complete => (ConditionStatus::False, said.clone()),
    };
    Summary { ready, said, progressing, stalled: None, kind: Kind::Resting }
}

fn terminating(app: &EGApp) -> Said {
    let finalizers = app.metadata.finalizers.as_deref().unwrap_or_default().join(", ");
    let text =
        format!("the EGApp is being deleted, and waits for its finalizers to be removed: {finalizers}");
    Said::new(Reason::Terminating, text)
}

fn past_deadline() -> Said {
    let text = "the rollout made no progress within the Deployment's deadline; `kubectl describe` its pods to see why";
    Said::new(Reason::ProgressDeadlineExceeded, text)
}

fn rolling_out(rollout: &Rollout<'_>) -> Said {
    if rollout.progress == Progress::Waiting {
        return waiting_for("Deployment");
    }
    Said::new(Reason::RollingOut, "the Deployment is rolling out")
}

fn waiting_for(kind: &str) -> Said {
    Said::new(Reason::RollingOut, format!("waiting for the former {kind} of this name to be gone"))
}

fn done(made_of: Option<&MadeOf>, scaled: &Scaled<'_>) -> Said {
    let mut said = done_with(made_of, scaled.desired);
    if scaled.is_left {
        said.message.push_str(
            "; the HorizontalPodAutoscaler that decided how many there are is gone: unless another one comes, \
             spec.replicaCount counts within half a minute",
        );
    }
    if let Some(by) = scaled.by {
        said.message.push_str("; HorizontalPodAutoscaler ");
        said.message.push_str(by);
        said.message.push_str(match scaled.desired {
            0 => " does nothing until somebody sets another number",
            _ => " decides how many there are",
        });
        if scaled.is_in_vain {
            said.message.push_str("; spec.autoscaling has no effect beside it");
        }
    }
    match scaled.budgets {
        _ if scaled.desired == 0 => (),
        [] => (),
        [one] => {
            said.message.push_str("; PodDisruptionBudget ");
            said.message.push_str(one);
            said.message.push_str(" decides on the eviction of its pods");
        }
        several => {
            said.message.push_str("; PodDisruptionBudgets ");
            said.message.push_str(&several.join(", "));
            said.message.push_str(" select its pods, and no pod can be evicted that several select");
        }
    }
    said
}

fn done_with(made_of: Option<&MadeOf>, desired: i32) -> Said {
    match made_of.map(|made_of| &made_of.image) {
        _ if desired == 0 => {
            Said::new(Reason::ScaledToZero, "scaled to zero: no replica is wanted, and none runs")
        }
        Some(image) if image.is_starter => {
            let text =
                "all replicas are available, and run the framework's starter: set spec.image to run your own";
            Said::new(Reason::StarterImage, text)
        }
        _ => Said::new(Reason::Available, "all replicas are up to date and available"),
    }
}

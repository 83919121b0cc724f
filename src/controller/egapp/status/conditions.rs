//! The conditions of a status, each with the generation it speaks of. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use super::summary::{Said, Summary};
use egapp_api::v1alpha1::{ConditionStatus, ConditionType, EGApp, Reason};

/// The conditions of an app whose state is summed up as `summary`.
pub(super) fn conditions(
    app: &EGApp,
    summary: &Summary,
    available: Available,
    now: Timestamp,
) -> Vec<Condition> {
    let new = |type_, status, said: &Said| {
        let previous = app.status.as_ref().and_then(|status| status.condition(type_));
        condition(previous, Wanted { type_, status, said }, app.metadata.generation, now)
    };
    let Summary { ready, said, progressing, stalled, .. } = summary;
    let enough = Said::new(Reason::Available, "enough replicas are available");
    let available_said = match (available, ready) {
        (Available::Enough, ConditionStatus::True) | (Available::TooFew, _) => said,
        (Available::Enough, ConditionStatus::False | ConditionStatus::Unknown) => &enough,
    };
    let mut conditions = vec![
        new(ConditionType::Available, available.status(), available_said),
        new(ConditionType::Progressing, progressing.0, &progressing.1),
        new(ConditionType::Ready, *ready, said),
    ];
    if let Some(said) = stalled {
        conditions.push(new(ConditionType::Stalled, ConditionStatus::True, said));
    }
    conditions
}

/// So many overrides are told.
const TOLD: usize = 8;

/// The condition that tells of overrides, where there are any.
pub(super) fn overridden(
    app: &EGApp,
    previous: Option<&Condition>,
    sentences: &[&str],
    now: Timestamp,
) -> Option<Condition> {
    let (told, rest) = sentences.split_at(sentences.len().min(TOLD));
    let more = if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
    let message = format!("the cluster changes what is applied: {}{more}", told.join("; "));
    let (type_, status) = (ConditionType::Overridden, ConditionStatus::True);
    let said = Said::new(Reason::Overridden, message);
    let wanted = Wanted { type_, status, said: &said };
    (!told.is_empty()).then(|| condition(previous, wanted, app.metadata.generation, now))
}

/// Whether the Deployment finds that enough of its replicas serve.
#[derive(Clone, Copy)]
pub(super) enum Available {
    Enough,
    TooFew,
}

impl Available {
    const fn status(self) -> ConditionStatus {
        match self {
            Self::Enough => ConditionStatus::True,
            Self::TooFew => ConditionStatus::False,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) type_: ConditionType,
    pub(super) status: ConditionStatus,
    pub(super) said: &'a Said,
}

/// `lastTransitionTime` moves only when the status does (API conventions, "Typical status properties").
pub(super) fn condition(
    previous: Option<&Condition>,
    wanted: Wanted<'_>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let unchanged = previous.filter(|previous| previous.status == wanted.status.as_str());
    Condition {
        type_: wanted.type_.as_str().to_owned(),
        status: wanted.status.as_str().to_owned(),
        reason: wanted.said.reason.as_str().to_owned(),
        message: wanted.said.message.clone(),
        observed_generation: generation,
        last_transition_time: unchanged
            .map_or_else(|| whole_seconds(now), |previous| previous.last_transition_time.clone()),
    }
}

/// The API stores whole seconds: anything finer would read back as another time, and be written again.
pub(super) fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

//! The state of the Deployment and of its pods with respect to what is wanted. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::summary::Said;
use crate::controller::egapp::cluster::{DeploymentState, Made, Trouble, TroubleKind, without_pod_names};
use crate::controller::egapp::observe::{Observed, Ownership};
use crate::controller::egapp::{refusal, resources};
use egapp_api::v1alpha1::EffectiveResources;

/// The Deployment and its pods.
pub(super) struct Rollout<'a> {
    /// The Deployment's own words; the zero state where there is none of ours.
    pub(super) state: DeploymentState,
    /// How far it is.
    pub(super) progress: Progress,
    /// Troubles of pods of the newest template, as far as the Deployment tells which that is.
    troubles: Vec<&'a Trouble>,
    /// What the first of those pods was given.
    made: Option<&'a Made>,
}

/// How far a rollout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// A former Deployment of the name is on its way out.
    Waiting,
    /// There is no Deployment, or its controller has not acted on what was applied last.
    Unseen,
    /// Pods are being made or replaced.
    Moving,
    /// The Deployment has given this generation up.
    GivenUp,
    /// Every replica is of this generation's template, and available.
    Complete,
}

impl<'a> Rollout<'a> {
    /// Reads it off what was observed of the app of that name.
    pub(super) fn of(observed: &'a Observed, name: &str, desired: i32) -> Self {
        let ownership = &observed.deployment.ownership;
        let is_ours = matches!(ownership, Ownership::Ours | Ownership::Terminating | Ownership::Orphan);
        let details =
            observed.deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_deref());
        let state = details.map(|details| details.state.clone()).unwrap_or_default();
        let is_seen = details.is_some_and(|details| state.observed_generation >= details.generation);
        let counts = [state.replicas, state.updated_replicas, state.ready_replicas, state.available_replicas];
        let progress = match ownership {
            Ownership::Predecessor | Ownership::Terminating => Progress::Waiting,
            Ownership::Ours if !is_seen => Progress::Unseen,
            Ownership::Ours if counts.iter().all(|count| *count == desired) => Progress::Complete,
            Ownership::Ours if state.is_past_deadline => Progress::GivenUp,
            Ownership::Ours => Progress::Moving,
            Ownership::Absent | Ownership::Orphan | Ownership::Foreign(_) => Progress::Unseen,
        };
        let newest = state.newest.as_deref().and_then(|set| set.strip_prefix(name)?.strip_prefix('-'));
        let is_current = |trouble: &&Trouble| newest.is_none_or(|hash| hash == &*trouble.template);
        let troubles = observed.troubles.iter().map(AsRef::as_ref).filter(is_current).collect();
        let is_made = |made: &&Made| newest == Some(&*made.template);
        let made = observed.made.iter().map(AsRef::as_ref).find(is_made);
        Self { state, progress, troubles, made }
    }

    /// Whether nothing more is to be done.
    pub(super) fn is_complete(&self) -> bool {
        self.progress == Progress::Complete
    }

    /// What keeps the replicas of this generation from serving, if that is known.
    ///
    /// Where the Deployment counts every replica as available, a container that has only just been restarted once more
    /// is the one thing that it cannot know better.
    pub(super) fn blocker(&self, name: &str, now: Timestamp) -> Option<Said> {
        if matches!(self.progress, Progress::Waiting | Progress::Unseen) {
            return None;
        }
        let holds = |trouble: &&&Trouble| {
            trouble.holds(now) && (!self.is_complete() || trouble.kind.outlasts_readiness())
        };
        let of_kind = |kind: TroubleKind| {
            self.troubles.iter().filter(holds).filter(|trouble| trouble.kind == kind).count()
        };
        let counts = |trouble: &&&Trouble| holds(trouble) && of_kind(trouble.kind) >= trouble.kind.least();
        let trouble =
            self.troubles.iter().filter(counts).min_by_key(|trouble| (trouble.kind, &trouble.message));
        match (trouble, &self.state.refusal) {
            (Some(trouble), _) => Some(Said::new(trouble.kind.reason(), &*trouble.message)),
            (None, Some(sentence)) if !self.is_complete() => Some(refused(sentence, name)),
            (None, _) => None,
        }
    }

    /// The resources of one replica: those that are wanted, as far as its pods were given no others.
    pub(super) fn resources(&self, wanted: &EffectiveResources) -> EffectiveResources {
        let is_acted_on = !matches!(self.progress, Progress::Waiting | Progress::Unseen);
        match self.made.filter(|_| is_acted_on) {
            Some(Made { resources, .. }) => resources::given(resources, wanted),
            None => wanted.clone(),
        }
    }

    /// When the troubles change by themselves.
    pub(super) fn changes_in(&self, now: Timestamp) -> Option<Duration> {
        self.troubles.iter().filter_map(|trouble| trouble.changes_in(now)).min()
    }
}

fn refused(sentence: &str, name: &str) -> Said {
    let sentence = without_pod_names(sentence, name);
    let (reason, advice) = refusal::of_pods(&sentence);
    Said::new(reason, format!("new pods are refused: {sentence}{advice}"))
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;

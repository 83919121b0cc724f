//! Times that a kubelet wrote, on the clocks of the API server and of this process: a node's clock can be minutes off,
//! and shall neither make a failure nor hide one. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::super::pod_view::{Ended, PodView};

/// A time that a kubelet wrote, and what it was taken for when it was seen first: later looks at the same time must
/// not move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    said: Timestamp,
    pub(super) at: Timestamp,
}

/// What bounds the times that a kubelet wrote about one pod.
pub(super) struct Clock {
    pub(super) now: Timestamp,
    /// When the API server made the pod.
    pub(super) created: Option<Timestamp>,
    /// How far the node's clock is behind at least: it cannot have met the pod before the pod was given to it.
    behind: SignedDuration,
    /// The moment of the last judgement.
    known: Option<Moment>,
}

impl Clock {
    pub(super) fn of(pod: &PodView, known: Option<Moment>, now: Timestamp) -> Self {
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let behind = match (pod.scheduled_at(), pod.met_at()) {
            (Some(scheduled), Some(met)) => scheduled.duration_since(met).max(SignedDuration::ZERO),
            _ => SignedDuration::ZERO,
        };
        Self { now, created, behind, known }
    }

    /// The moment that the kubelet gives.
    pub(super) fn moment(&self, said: &Time) -> Moment {
        let said = said.0;
        if let Some(known) = self.known.filter(|known| known.said == said) {
            return known;
        }
        let corrected = said.checked_add(self.behind).unwrap_or(said);
        let at = self.created.map_or(corrected, |created| corrected.max(created)).min(self.now);
        Moment { said, at }
    }

    /// How long a run took: no longer than the pod exists.
    pub(super) fn length(&self, run: &Ended) -> Option<SignedDuration> {
        let (Some(Time(start)), Some(Time(end))) = (&run.started_at, &run.finished_at) else { return None };
        let length = end.duration_since(*start).max(SignedDuration::ZERO);
        let age = self.created.map(|created| self.now.duration_since(created).max(SignedDuration::ZERO));
        Some(age.map_or(length, |age| length.min(age)))
    }
}

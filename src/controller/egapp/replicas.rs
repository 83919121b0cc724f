//! Who decides how many replicas run: the EGApp, or a HorizontalPodAutoscaler. Pure; ADR 15 has the reasons.

use super::observe::{Observed, Ownership};
use egapp_api::v1alpha1::EGAppSpec;

/// Who decides how many replicas run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// The operator sets this number.
    Ours(i32),
    /// An autoscaler does, and the operator does not name the field.
    Autoscaled,
}

/// What is wanted of the app's own HorizontalPodAutoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnAutoscaler {
    /// It must be.
    Wanted,
    /// It must be once the Deployment has pods to scale; until then it is left as it is.
    Later,
    /// It must not be.
    Unwanted,
}

/// The replicas of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// Who decides.
    pub replicas: Replicas,
    /// What that asks of the app's own autoscaler.
    pub autoscaler: OwnAutoscaler,
}

impl Scaling {
    /// Decides it for an app of which this exists.
    ///
    /// While there is an autoscaler that may scale the Deployment, other than one that is made or taken over, the operator
    /// names no number: also while ours is on its way out, or may not be deleted. `replicaCount: 0` is ours in any case,
    /// since an autoscaler does nothing at 0 replicas; and so is the way back from there, while the 0 is our own.
    ///
    /// Ours is not made beside another one, of the Deployment or of the EGApp itself: two over the same pods switch each
    /// other off. Nor does it scale a Deployment that is somebody else's.
    #[must_use]
    pub fn of(spec: &EGAppSpec, observed: &Observed) -> Self {
        let deployment = &observed.deployment;
        if spec.replica_count == 0 || matches!(deployment.ownership, Ownership::Foreign(_)) {
            return Self::ours(spec.replica_count, OwnAutoscaler::Unwanted);
        }
        let is_alone = observed.scaled_by.is_empty() && observed.app_scaled_by.is_empty();
        let wanted = spec.autoscaling.filter(|_| is_alone);
        let is_ours = matches!(deployment.ownership, Ownership::Ours | Ownership::Orphan);
        let live = deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_ref());
        // Where nobody can tell any more whose the 0 is, it is taken for ours: somebody else sets it once more.
        let is_stopped = || {
            live.is_none_or(|live| (live.owns_replicas || live.lost.is_some()) && live.replicas() == Some(0))
        };
        match wanted {
            Some(own) if is_stopped() => {
                let start = spec.replica_count.max(own.min_replicas).min(own.max_replicas);
                Self::ours(start, OwnAutoscaler::Later)
            }
            Some(_) => Self { replicas: Replicas::Autoscaled, autoscaler: OwnAutoscaler::Wanted },
            None if !observed.is_autoscaled() || is_stopped() => {
                Self::ours(spec.replica_count, OwnAutoscaler::Unwanted)
            }
            None => Self { replicas: Replicas::Autoscaled, autoscaler: OwnAutoscaler::Unwanted },
        }
    }

    const fn ours(replicas: i32, autoscaler: OwnAutoscaler) -> Self {
        Self { replicas: Replicas::Ours(replicas), autoscaler }
    }

    /// How many replicas are wanted now.
    #[must_use]
    pub fn desired(self, observed: &Observed) -> i32 {
        match self.replicas {
            Replicas::Ours(replicas) => replicas,
            Replicas::Autoscaled => {
                let live = observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
                live.and_then(|live| live.replicas()).unwrap_or_default()
            }
        }
    }

    /// Name of the autoscaler that decides on the replicas, if one does. `name`: the app's, and its own autoscaler's.
    #[must_use]
    pub fn decider<'a>(self, name: &'a str, observed: &'a Observed) -> Option<&'a str> {
        match self.replicas {
            Replicas::Ours(0) => None,
            Replicas::Ours(_) => observed.app_scaled_by.first().map(|other| &**other),
            Replicas::Autoscaled => Some(observed.scaled_by.first().map_or(name, |other| &**other)),
        }
    }
}

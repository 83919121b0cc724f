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
    /// Somebody else's autoscaler that targets the Deployment is given way to, and ours is not made beside it: two over
    /// the same pods switch each other off. `replicaCount: 0` is ours in any case, since an autoscaler does nothing at
    /// 0 replicas; and so is the way back from there, while the 0 is our own.
    #[must_use]
    pub fn of(spec: &EGAppSpec, observed: &Observed) -> Self {
        let is_others = !observed.scaled_by.is_empty();
        let own = spec.autoscaling.filter(|_| !is_others);
        if spec.replica_count == 0 || (own.is_none() && !is_others) {
            return Self::ours(spec.replica_count, OwnAutoscaler::Unwanted);
        }
        let deployment = &observed.deployment;
        let is_ours = matches!(deployment.ownership, Ownership::Ours | Ownership::Orphan);
        let live = deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_ref());
        let is_stopped = live.is_none_or(|live| live.owns_replicas && live.replicas() == Some(0));
        match own {
            Some(own) if is_stopped => {
                let start = spec.replica_count.max(own.min_replicas).min(own.max_replicas);
                Self::ours(start, OwnAutoscaler::Later)
            }
            Some(_) => Self { replicas: Replicas::Autoscaled, autoscaler: OwnAutoscaler::Wanted },
            None if is_stopped => Self::ours(spec.replica_count, OwnAutoscaler::Unwanted),
            None => Self { replicas: Replicas::Autoscaled, autoscaler: OwnAutoscaler::Unwanted },
        }
    }

    const fn ours(replicas: i32, autoscaler: OwnAutoscaler) -> Self {
        Self { replicas: Replicas::Ours(replicas), autoscaler }
    }

    /// How many replicas are wanted now.
    #[must_use]
    pub fn desired(&self, observed: &Observed) -> i32 {
        match self.replicas {
            Replicas::Ours(replicas) => replicas,
            Replicas::Autoscaled => {
                let live = observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
                live.and_then(|live| live.replicas()).unwrap_or_default()
            }
        }
    }
}

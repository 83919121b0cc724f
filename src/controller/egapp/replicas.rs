//! Who decides how many replicas run: the EGApp, or a HorizontalPodAutoscaler. Pure; ADR 15 has the reasons.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use tokio::time::Instant;

use super::cluster::{ChildKind, Details};
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

/// So long the replicas stay as they are when somebody else's autoscaler goes. One that is replaced (`kubectl replace
/// --force`, a release that gives it another name) is back within seconds.
pub const GRACE: Duration = Duration::from_secs(30);

/// Who has had the replicas, as far as this process has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reign {
    /// It has not looked yet.
    #[default]
    Unknown,
    /// The operator, or the app's own autoscaler.
    Ours,
    /// Somebody else's autoscaler.
    Other,
    /// That one went then. Or it was gone at the first look, and the number is not the operator's.
    Gone(Instant),
}

impl Reign {
    /// Who has them now, with what exists.
    #[must_use]
    pub fn after(self, observed: &Observed, now: Instant) -> Self {
        match self {
            _ if !observed.scaled_by.is_empty() => Self::Other,
            _ if observed.is_autoscaled() || live(observed).is_none_or(|live| live.owns_replicas) => {
                Self::Ours
            }
            Self::Unknown | Self::Other => Self::Gone(now),
            Self::Ours | Self::Gone(_) => self,
        }
    }

    /// How long the replicas stay as they are, where their autoscaler has gone.
    #[must_use]
    pub fn grace(self, now: Instant) -> Option<Duration> {
        let Self::Gone(since) = self else { return None };
        Some(GRACE.saturating_sub(now.saturating_duration_since(since))).filter(|left| !left.is_zero())
    }
}

fn live(observed: &Observed) -> Option<&Details<<Deployment as ChildKind>::State>> {
    let seen = &observed.deployment;
    let is_ours = matches!(seen.ownership, Ownership::Ours | Ownership::Orphan);
    seen.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_deref())
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
    /// Where that autoscaler goes, more replicas than `replicaCount` stay for the time of [`GRACE`]; where the app's own is
    /// no longer asked for, nobody waits.
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
        let live = live(observed);
        let has_more = || live.and_then(Details::replicas).is_some_and(|number| number > spec.replica_count);
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
            None if observed.is_in_grace && has_more() => {
                Self { replicas: Replicas::Autoscaled, autoscaler: OwnAutoscaler::Unwanted }
            }
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
            Replicas::Autoscaled if observed.is_in_grace => None,
            Replicas::Autoscaled => Some(observed.scaled_by.first().map_or(name, |other| &**other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::controller::egapp::cluster::{Caches, Live, View};
    use crate::controller::egapp::observe::observe;
    use crate::controller::key::ObjectKey;

    /// A Deployment of that many replicas, and what else scales it.
    fn observed(replicas: i32, owner: &str, autoscalers: &[&str]) -> Observed {
        let caches = Caches::default();
        let fields = json!({ "f:spec": { "f:replicas": {} } });
        let view: View<Deployment> = serde_json::from_value(json!({
            "metadata": {
                "name": "web", "namespace": "team", "uid": "d", "resourceVersion": "1",
                "labels": { "egplatform.platform.evillgenius.com/egapp": "web" },
                "ownerReferences": [{
                    "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp", "name": "web", "uid": "u",
                    "controller": true,
                }],
                "managedFields": [{
                    "manager": owner, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields,
                }],
            },
            "spec": { "replicas": replicas },
        }))
        .unwrap();
        caches.deployments.handle(Event::Apply(Live::from(view)));
        for name in autoscalers {
            let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
            let metadata = json!({ "name": name, "namespace": "team", "uid": "h", "resourceVersion": "1" });
            let object: Value = json!({ "metadata": metadata, "spec": { "scaleTargetRef": target } });
            let view: View<HorizontalPodAutoscaler> = serde_json::from_value(object).unwrap();
            caches.aims.handle(Event::Apply(view.aim()));
        }
        observe(&caches, &ObjectKey::new("team", "web"), "u")
    }

    #[test]
    fn what_another_autoscaler_leaves_stays_for_a_while_and_what_was_ours_does_not() {
        let now = Instant::now();
        let left = observed(9, "somebody", &[]);
        let scaled = Reign::Unknown.after(&observed(9, "somebody", &["theirs"]), now);
        assert_eq!((scaled, scaled.grace(now)), (Reign::Other, None));
        let gone = scaled.after(&left, now);
        assert_eq!(gone.grace(now), Some(GRACE));
        let later = now + GRACE / 2;
        assert_eq!(gone.after(&left, later).grace(later), Some(GRACE / 2), "it began when it went");
        assert_eq!(gone.grace(now + GRACE), None);
        assert_eq!(gone.after(&observed(9, "somebody", &["renamed"]), later), Reign::Other);
        assert_eq!(Reign::Unknown.after(&left, now), Reign::Gone(now), "after a restart");
        assert_eq!(Reign::Ours.after(&left, now), Reign::Ours, "a change by hand");
        assert_eq!(gone.after(&observed(9, "egapp-controller", &[]), now), Reign::Ours);
    }

    #[test]
    fn in_the_time_of_grace_more_replicas_stay_and_fewer_do_not() {
        let scaling = |replicas: i32, wanted: i32| {
            let seen = Observed { is_in_grace: true, ..observed(replicas, "somebody", &[]) };
            let spec = json!({ "framework": "go", "environment": "dev", "replicaCount": wanted });
            let scaling = Scaling::of(&serde_json::from_value(spec).unwrap(), &seen);
            (scaling.replicas, scaling.desired(&seen), scaling.decider("web", &seen).map(str::to_owned))
        };
        assert_eq!(scaling(9, 2), (Replicas::Autoscaled, 9, None));
        assert_eq!(scaling(2, 9), (Replicas::Ours(9), 9, None));
        assert_eq!(scaling(9, 0), (Replicas::Ours(0), 0, None));
    }
}

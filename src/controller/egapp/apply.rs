//! Step `apply`: makes the children on the API server what they should be. I/O.

use futures::FutureExt;
use futures::future::{join3, ready};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;

use super::cluster::ChildKind;
use super::desired::Children;
use super::ensure::{Ensure, Found};
use super::memory::Memory;
use super::observe::{Observed, Ownership};
use super::replicas::OwnAutoscaler;

/// What came of the children, in the order of [`Observed::digests`].
pub struct Applied(pub [Found; 4]);

impl Applied {
    /// Whether every child is as it should be.
    #[must_use]
    pub fn is_in_sync(&self) -> bool {
        self.0.iter().all(is_well)
    }
}

/// Applies every child that differs, and none that does not, all at once: one that is refused holds up no other.
///
/// A new app's Deployment comes alone, and the rest with the next pass: a Service takes the API server many times
/// longer, and in a flood of new apps every pod would wait for the Services of others. An autoscaler comes last, and
/// goes first: it finds the number of replicas in nobody else's hands. When it is gone, the next pass decides who has
/// them; one that does not go keeps them, and holds up nothing else.
pub async fn apply(
    child: Ensure<'_>,
    (children, autoscaler): (Children, OwnAutoscaler),
    observed: &Observed,
    memory: &mut Memory,
) -> Applied {
    let Children { deployment, service, disruption_budget, autoscaler: scaling } = children;
    let mut scaler = Found::Unseen;
    if autoscaler == OwnAutoscaler::Unwanted {
        scaler = child.run(None, &observed.autoscaler, &mut memory.autoscaler).boxed().await;
        if matches!(scaler, Found::Deleted(_)) {
            return Applied([Found::Unseen, Found::Unseen, Found::Unseen, scaler]);
        }
        if matches!(scaler, Found::Moving) {
            scaler = Found::Waiting(HorizontalPodAutoscaler::TITLE);
        }
    }
    // Boxed: a pass waits in memory for the API server, with all that its future holds.
    let keep = child.run(Some(*deployment), &observed.deployment, &mut memory.deployment).boxed();
    let keep = if observed.deployment.ownership == Ownership::Absent {
        let found = keep.await;
        if is_well(&found) {
            return Applied([found, Found::Unseen, Found::Unseen, scaler]);
        }
        if found.is_ending() {
            return Applied([found, Found::Moving, Found::Moving, Found::Moving]);
        }
        ready(found).boxed()
    } else {
        keep
    };
    let (deployment, service, budget) = join3(
        keep,
        child.run(service.map(|service| *service), &observed.service, &mut memory.service).boxed(),
        child
            .run(
                disruption_budget.map(|budget| *budget),
                &observed.disruption_budget,
                &mut memory.disruption_budget,
            )
            .boxed(),
    )
    .await;
    let scaler = match autoscaler {
        OwnAutoscaler::Unwanted => scaler,
        OwnAutoscaler::Later if is_well(&deployment) => Found::Unseen,
        OwnAutoscaler::Wanted if is_well(&deployment) || !names_replicas(observed) => {
            let scaling = scaling.map(|scaling| *scaling);
            child.run(scaling, &observed.autoscaler, &mut memory.autoscaler).boxed().await
        }
        OwnAutoscaler::Wanted | OwnAutoscaler::Later => Found::Moving,
    };
    Applied([deployment, service, budget, scaler])
}

/// Whether an apply of ours has set the number of replicas, so that an autoscaler would fight with the next one.
fn names_replicas(observed: &Observed) -> bool {
    let live = observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
    live.is_none_or(|live| live.owns_replicas)
}

fn is_well(found: &Found) -> bool {
    matches!(found, Found::InSync | Found::Applied(_))
}

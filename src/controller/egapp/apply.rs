//! Step `apply`: makes the children on the API server what they should be. I/O.

use futures::FutureExt;
use futures::future::{join3, ready};

use super::cluster::Cluster;
use super::desired::Children;
use super::ensure::{Ensure, Found};
use super::memory::Memory;
use super::observe::{Observed, Ownership};
use crate::controller::key::ObjectKey;

/// What came of the children, in the order of [`Observed::digests`].
pub struct Applied(pub [Found; 3]);

impl Applied {
    /// Whether every child is as it should be.
    #[must_use]
    pub fn is_in_sync(&self) -> bool {
        self.0.iter().all(|found| matches!(found, Found::InSync))
    }
}

/// Applies every child that differs, and none that does not, all at once: one that is refused holds up no other.
///
/// A new app's Deployment comes alone, and the rest with the next pass: a Service takes the API server many times
/// longer, and in a flood of new apps every pod would wait for the Services of others.
pub async fn apply(
    cluster: &Cluster,
    key: &ObjectKey,
    children: Children,
    observed: &Observed,
    memory: &mut Memory,
) -> Applied {
    let Children { deployment, service, disruption_budget } = children;
    let child = Ensure { cluster, key };
    // Boxed: a pass waits in memory for the API server, with all that its future holds.
    let keep = child.run(Some(*deployment), &observed.deployment, &mut memory.deployment).boxed();
    let keep = if observed.deployment.ownership == Ownership::Absent {
        let found = keep.await;
        if matches!(found, Found::InSync) {
            return Applied([found, Found::Unseen, Found::Unseen]);
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
    Applied([deployment, service, budget])
}

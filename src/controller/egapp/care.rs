//! What is done for an app that waits for its turn where nobody knows what made its pods: whatever does not touch them.
//! I/O.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;
use tracing::info;

use super::apply::Applied;
use super::cluster::ChildKind;
use super::contest::Contest;
use super::desired::Children;
use super::ensure::{Ensure, Failed, Found};
use super::error::Error;
use super::memory::{ChildMemory, InSync, Memory};
use super::observe::{Observed, Ownership, Seen};
use super::replicas::{OwnAutoscaler, Replicas};
use super::wish::{digest_of, is_applied};

/// The field that somebody else may change back.
const REPLICAS: &str = "spec.replicas";

/// Puts right the number of replicas, and what the change leaves as it is of the other children; makes anew what is gone.
pub async fn care(
    child: Ensure<'_>,
    (children, InSync { scaling, steps_back, .. }): (Children, InSync),
    observed: &Observed,
    memory: &mut Memory,
) -> Applied {
    let Children { deployment: _, service, disruption_budget, autoscaler } = children;
    let autoscaler = autoscaler.filter(|_| scaling.autoscaler == OwnAutoscaler::Wanted);
    let budget = (&observed.disruption_budget, &mut memory.disruption_budget);
    let budget = if steps_back {
        child.run(None, budget.0, budget.1).await
    } else {
        keep(child, disruption_budget, budget.0, budget.1).await
    };
    let (service, scaler) = (
        keep(child, service, &observed.service, &mut memory.service).await,
        keep(child, autoscaler, &observed.autoscaler, &mut memory.autoscaler).await,
    );
    let deployment = scale(child, scaling.replicas, &observed.deployment, &mut memory.deployment).await;
    Applied([deployment, service, budget, scaler])
}

/// A child that the change gives another shape, or takes away, keeps the one it has.
async fn keep<K: ChildKind + Serialize>(
    child: Ensure<'_>,
    wanted: Option<Box<K>>,
    seen: &Seen<K>,
    memory: &mut ChildMemory,
) -> Found {
    let is_known = |wanted: &K| match (&seen.ownership, &seen.live) {
        (Ownership::Absent, _) => true,
        (Ownership::Ours, Some(live)) => is_applied(digest_of(wanted), live),
        _ => false,
    };
    match wanted.filter(|wanted| is_known(wanted)) {
        Some(wanted) => child.run(Some(*wanted), seen, memory).await,
        None => Found::InSync,
    }
}

/// The one field of the Deployment that is no matter of its pods' shape. An apply would have to name all the others, and
/// nobody knows what they were.
async fn scale(
    Ensure { cluster, key, .. }: Ensure<'_>,
    wanted: Replicas,
    seen: &Seen<Deployment>,
    memory: &mut ChildMemory,
) -> Found {
    let live = seen.live.as_ref().filter(|_| seen.ownership == Ownership::Ours);
    let (Replicas::Ours(wanted), Some(live)) = (wanted, live) else { return Found::InSync };
    if live.details.as_ref().is_none_or(|live| live.replicas() == Some(wanted)) {
        return Found::InSync;
    }
    let (now, field) = (Instant::now(), REPLICAS.to_owned());
    if let Some(wait) = memory.contest.as_ref().and_then(|contest| contest.pause(&field, now)) {
        let error = Error::Contested { kind: Deployment::TITLE, key: key.clone(), field, wait };
        return Found::Failed(Failed { error: Arc::new(error), count: 1, wait: Some(wait), is_new: false });
    }
    memory.contest = Some(Contest::after(memory.contest.take(), field, now));
    let operations = json!([
        { "op": "test", "path": "/metadata/resourceVersion", "value": live.version() },
        { "op": "replace", "path": "/spec/replicas", "value": wanted },
    ]);
    let Err(error) = cluster.repair_child::<Deployment>(key, operations).await else {
        info!(
            namespace = key.namespace(),
            name = key.name(),
            kind = Deployment::TITLE,
            change = REPLICAS,
            "repaired"
        );
        return Found::InSync;
    };
    let wait = error.disposition().requeue(1, &key.to_string());
    Found::Failed(Failed { error: Arc::new(error), count: 1, wait, is_new: true })
}

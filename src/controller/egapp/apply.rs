//! Step `apply`: makes the children on the API server what they should be. I/O.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use tracing::info;

use super::cluster::{Cluster, LiveDeployment};
use super::desired::Children;
use super::error::{Error, RECHECK};
use super::names;
use super::observe::{Observed, Ownership};
use crate::controller::compare::first_difference;
use crate::controller::key::ObjectKey;

/// A change that the API server took and that somebody changed back in the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    desired: String,
    live: u64,
    at: Instant,
    field: String,
}

/// Applies every child that differs, and none that does not. Returns the digest of the Deployment that was found, or
/// made, to be in sync; `None` while it must be waited for.
///
/// `overridden` remembers an apply that did not stick, so that it is not repeated before what is wanted or what is
/// there has changed; and rarely after that, since whatever stands in the way may go without our seeing it.
///
/// # Errors
/// When a child's name is taken, an apply does not stick, or the API server refuses.
pub async fn apply(
    cluster: &Cluster,
    key: &ObjectKey,
    children: Children,
    observed: &Observed,
    overridden: &mut Option<Override>,
) -> Result<Option<u64>, Error> {
    let Children { deployment } = children;
    // The types of the Kubernetes API always serialise; nothing is applied if they ever did not.
    let desired = serde_json::to_value(deployment).unwrap_or_default();
    let live = match &observed.ownership {
        Ownership::Terminating | Ownership::Predecessor => return Ok(None),
        Ownership::Foreign(owner) => {
            return Err(Error::NameConflict { key: key.clone(), owner: owner.clone() });
        }
        Ownership::Absent => None,
        Ownership::Ours | Ownership::Orphan => observed.deployment.as_ref(),
    };
    let Some(change) = change(&desired, live) else {
        *overridden = None;
        return Ok(live.map(|live| live_digest(live)));
    };
    if let (Some(known), Some(live)) = (&*overridden, live)
        && is_same_override(known, &desired, live)
    {
        return Err(Error::Overridden { key: key.clone(), field: known.field.clone() });
    }
    let reply = Arc::new(cluster.apply_deployment(key, &with_uid(desired.clone(), live)).await?);
    info!(namespace = key.namespace(), name = key.name(), change, "applied the Deployment");
    *overridden = self::change(&desired, Some(&reply)).map(|field| Override {
        desired: digest_of(&desired).to_owned(),
        live: live_digest(&reply),
        at: Instant::now(),
        field,
    });
    match overridden {
        Some(Override { field, .. }) => Err(Error::Overridden { key: key.clone(), field: field.clone() }),
        None => Ok(Some(live_digest(&reply))),
    }
}

/// What differs, for the log; `None` where nothing does.
fn change(desired: &Value, live: Option<&Arc<LiveDeployment>>) -> Option<String> {
    match live {
        None => Some("created".to_owned()),
        Some(live) => {
            let details = live.details.as_ref()?;
            first_difference(&comparable(desired), &details.comparable())
        }
    }
}

/// The parts of a desired object that the live one is compared in: identity is what found it.
fn comparable(desired: &Value) -> Value {
    let mut desired = desired.clone();
    if let Some(object) = desired.as_object_mut() {
        object.retain(|field, _| matches!(field.as_str(), "metadata" | "spec"));
    }
    if let Some(metadata) = desired.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| matches!(field.as_str(), "labels" | "annotations" | "ownerReferences"));
    }
    desired
}

/// Names the object that was observed, so that the API server refuses if another has taken its place since.
fn with_uid(mut desired: Value, live: Option<&Arc<LiveDeployment>>) -> Value {
    if let (Some(live), Some(metadata)) = (live, desired.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("uid".to_owned(), Value::from(&*live.uid));
    }
    desired
}

fn is_same_override(known: &Override, desired: &Value, live: &LiveDeployment) -> bool {
    known.desired == digest_of(desired) && known.live == live_digest(live) && known.at.elapsed() < RECHECK
}

fn digest_of(desired: &Value) -> &str {
    let annotations = desired.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.and_then(|all| all.get(names::APPLIED_DIGEST)).and_then(Value::as_str).unwrap_or_default()
}

fn live_digest(live: &LiveDeployment) -> u64 {
    live.details.as_ref().map_or(0, |details| details.digest)
}

//! One child: compares, applies, repairs, deletes. I/O.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::cluster::{ChildKind, Cluster, Live};
use super::error::{Disposition, Error, RECHECK};
use super::memory::ChildMemory;
use super::names;
use super::observe::{Ownership, Seen};
use crate::controller::compare::first_difference;
use crate::controller::foreign::removals;
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;

/// So often a patch may miss an object that moves; after that, the object itself is what the API server refuses.
const MOVES: u8 = 5;

/// What came of one child.
#[derive(Debug)]
pub enum Found {
    /// It is as it should be; the digest of its comparable fields, 0 for a child that must not be and is not.
    InSync(u64),
    /// It is on its way, or gone: an event will tell.
    Moving,
    /// It has not been looked at yet: the next pass does, behind whatever waits already.
    Unseen,
    /// Something is in the way.
    Failed(Failed),
}

/// Something is in the way of a child.
#[derive(Debug)]
pub struct Failed {
    /// What.
    pub error: Arc<Error>,
    /// How often in a row.
    pub count: u32,
    /// When to try again; `None` = when something changes.
    pub wait: Option<Duration>,
    /// Whether it was found in this pass, and is not remembered from a former one.
    pub is_new: bool,
}

impl Found {
    /// The digest of a child that is in sync.
    #[must_use]
    pub const fn digest(&self) -> Option<u64> {
        match self {
            Self::InSync(digest) => Some(*digest),
            Self::Moving | Self::Unseen | Self::Failed(_) => None,
        }
    }
}

/// A change that the API server took and that somebody changed back in the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    desired: u64,
    live: u64,
    at: Instant,
    field: String,
}

/// The tools for the children of one EGApp.
#[derive(Clone, Copy)]
pub struct Ensure<'a> {
    /// Where the children are.
    pub cluster: &'a Cluster,
    /// Name of the EGApp and of every child.
    pub key: &'a ObjectKey,
}

impl Ensure<'_> {
    /// Makes the child what is wanted; `None` = it must not be.
    pub async fn run<K: ChildKind + Serialize>(
        self,
        wanted: Option<&K>,
        seen: &Seen<K>,
        memory: &mut ChildMemory,
    ) -> Found {
        // The types of the Kubernetes API always serialise; nothing is applied if they ever did not.
        let wanted = wanted.map(|child| serde_json::to_value(child).unwrap_or_default());
        let situation = || situation(wanted.as_ref(), seen);
        if let Some((error, count, left)) = memory.failure.gate(situation, Instant::now())
            && error.costs_a_request()
        {
            return Found::Failed(Failed { error, count, wait: left, is_new: false });
        }
        let result = match &wanted {
            Some(wanted) => self.keep(wanted, seen, memory).await,
            None => self.remove(seen).await,
        };
        result.unwrap_or_else(|error| self.failed::<K>(error, situation(), memory))
    }

    async fn keep<K: ChildKind>(
        self,
        wanted: &Value,
        seen: &Seen<K>,
        memory: &mut ChildMemory,
    ) -> Result<Found, Error> {
        let live = match &seen.ownership {
            Ownership::Terminating | Ownership::Predecessor => return Ok(Found::Moving),
            Ownership::Foreign(owner) => {
                return Err(Error::NameConflict {
                    kind: K::TITLE,
                    key: self.key.clone(),
                    owner: owner.clone(),
                });
            }
            Ownership::Absent => None,
            Ownership::Ours | Ownership::Orphan => seen.live.clone(),
        };
        let Some(change) = change(wanted, live.as_deref()) else {
            memory.settle();
            return Ok(Found::InSync(seen.digest()));
        };
        if let Some(field) = memory.known_override(wanted, live.as_deref()) {
            return Err(Error::Overridden { kind: K::TITLE, key: self.key.clone(), field });
        }
        let reply = self.send_until_it_fits(wanted, live, memory).await?;
        info!(namespace = self.key.namespace(), name = self.key.name(), kind = K::TITLE, change, "applied");
        match self::change(wanted, Some(&reply)) {
            None => {
                memory.settle();
                Ok(Found::InSync(reply.digest()))
            }
            Some(field) => {
                let (desired, live, at) = (digest_of(wanted), reply.digest(), Instant::now());
                memory.overridden = Some(Override { desired, live, at, field: field.clone() });
                Err(Error::Overridden { kind: K::TITLE, key: self.key.clone(), field })
            }
        }
    }

    /// An apply drops what we once wanted and want no more, so that a new wish is applied before anything is repaired:
    /// what is left then, or what makes the API server refuse the apply, is foreign.
    async fn send_until_it_fits<K: ChildKind>(
        self,
        wanted: &Value,
        live: Option<Arc<Live<K>>>,
        memory: &mut ChildMemory,
    ) -> Result<Live<K>, Error> {
        let Some(live) = live else { return self.send(wanted, None).await };
        if is_applied(wanted, &live) {
            let live = self.repair(wanted, live, memory).await?;
            return self.send(wanted, Some(&live)).await;
        }
        let left = match self.send(wanted, Some(&live)).await {
            Ok(reply) if first_foreign(wanted, &comparable_of(&reply)).is_none() => return Ok(reply),
            Ok(reply) => Arc::new(reply),
            Err(error) if error.is_invalid() => live,
            Err(error) => return Err(error),
        };
        let live = self.repair(wanted, left, memory).await?;
        self.send(wanted, Some(&live)).await
    }

    async fn send<K: ChildKind>(self, wanted: &Value, live: Option<&Live<K>>) -> Result<Live<K>, Error> {
        self.cluster.apply_child::<K>(self.key, &with_uid(wanted, live), live.is_some()).await
    }

    /// Takes foreign members out of the places that are wholly ours, once for each state of the live object. The patch
    /// tests the resource version, so that what is taken out is what was looked at.
    async fn repair<K: ChildKind>(
        self,
        wanted: &Value,
        live: Arc<Live<K>>,
        memory: &mut ChildMemory,
    ) -> Result<Arc<Live<K>>, Error> {
        let removals = removals(wanted, &comparable_of(&live), names::CONTAINER);
        if removals.is_empty() || memory.repaired == Some(live.digest()) {
            return Ok(live);
        }
        let paths: Vec<_> = removals.iter().filter_map(|removal| removal.get("path")?.as_str()).collect();
        info!(
            namespace = self.key.namespace(),
            name = self.key.name(),
            kind = K::TITLE,
            removed = paths.join(" "),
            "repaired"
        );
        let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": live.version() });
        let operations: Vec<_> = [test].into_iter().chain(removals).collect();
        let result = self.cluster.repair_child::<K>(self.key, Value::from(operations)).await;
        // The answer to a test that fails is 422.
        if result.as_ref().is_err_and(Error::is_invalid) && memory.moved < MOVES {
            memory.moved += 1;
            return Err(Error::Moved { kind: K::TITLE, key: self.key.clone() });
        }
        memory.repaired = Some(live.digest());
        result.map(Arc::new)
    }

    async fn remove<K: ChildKind>(self, seen: &Seen<K>) -> Result<Found, Error> {
        match (&seen.ownership, &seen.live) {
            (Ownership::Ours, Some(live)) => {
                self.cluster.delete_child(self.key, live).await?;
                info!(namespace = self.key.namespace(), name = self.key.name(), kind = K::TITLE, "deleted");
                Ok(Found::Moving)
            }
            (Ownership::Terminating, _) => Ok(Found::Moving),
            _ => Ok(Found::InSync(seen.digest())),
        }
    }

    fn failed<K: ChildKind>(self, error: Error, situation: u64, memory: &mut ChildMemory) -> Found {
        let disposition = error.disposition();
        if disposition == Disposition::Gone {
            return Found::Moving;
        }
        let (seed, error) = (format!("{} {}", self.key, K::TITLE), Arc::new(error));
        let delay = |count| disposition.requeue(count, &seed);
        let (count, wait) = memory.failure.record(Arc::clone(&error), situation, Instant::now(), delay);
        // What a look at the local copies finds is found again with every event: it is news once.
        if count == 1 || error.costs_a_request() {
            let (class, reason) = (disposition.class(), error.reason().as_str());
            let (namespace, name) = (self.key.namespace(), self.key.name());
            warn!(namespace, name, class, reason, failures = count, "{}", error.message());
        }
        Found::Failed(Failed { error, count, wait, is_new: true })
    }
}

impl ChildMemory {
    fn settle(&mut self) {
        *self = Self::default();
    }

    fn known_override<K: ChildKind>(&self, wanted: &Value, live: Option<&Live<K>>) -> Option<String> {
        let known = self.overridden.as_ref()?;
        let is_same = known.desired == digest_of(wanted) && known.live == live?.digest();
        (is_same && known.at.elapsed() < RECHECK).then(|| known.field.clone())
    }
}

/// What differs, for the log; `None` where nothing does.
fn change<K: ChildKind>(wanted: &Value, live: Option<&Live<K>>) -> Option<String> {
    let Some(live) = live else { return Some("created".to_owned()) };
    let live = comparable_of(live);
    let wanted_part = comparable(wanted);
    let part = |object: &Value, name: &str| object.get(name).cloned().unwrap_or_default();
    // What people know comes first: the digest among the annotations differs with every change.
    let in_spec = first_difference(&part(&wanted_part, "spec"), &part(&live, "spec"))
        .map(|path| format!("spec.{path}"));
    in_spec.or_else(|| first_foreign(wanted, &live)).or_else(|| first_difference(&wanted_part, &live))
}

/// Whether the last apply of the live object was of this very wish.
fn is_applied<K: ChildKind>(wanted: &Value, live: &Live<K>) -> bool {
    digest_of(wanted) == digest_of(&comparable_of(live))
}

fn comparable_of<K: ChildKind>(live: &Live<K>) -> Value {
    live.details.as_ref().map(|details| details.comparable()).unwrap_or_default()
}

fn first_foreign(wanted: &Value, live: &Value) -> Option<String> {
    let removals = removals(wanted, live, names::CONTAINER);
    removals.first().and_then(|removal| removal.get("path")?.as_str()).map(|path| format!("foreign {path}"))
}

/// The parts of a desired object that the live one is compared in: identity is what found it.
fn comparable(wanted: &Value) -> Value {
    let part = |path: &str| wanted.pointer(path).cloned().unwrap_or_default();
    json!({
        "metadata": {
            "labels": part("/metadata/labels"),
            "annotations": part("/metadata/annotations"),
            "ownerReferences": part("/metadata/ownerReferences"),
        },
        "spec": part("/spec"),
    })
}

/// Names the object that was observed, so that the API server refuses if another has taken its place since.
fn with_uid<K: ChildKind>(wanted: &Value, live: Option<&Live<K>>) -> Value {
    let mut wanted = wanted.clone();
    if let (Some(live), Some(metadata)) = (live, wanted.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("uid".to_owned(), Value::from(&*live.uid));
    }
    wanted
}

fn digest_of(wanted: &Value) -> u64 {
    let annotations = wanted.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let digest = annotations.and_then(|all| all.get(names::APPLIED_DIGEST)).and_then(Value::as_str);
    fnv1a(digest.unwrap_or_default().as_bytes())
}

/// A number that stays the same for as long as a repeated try would meet the same wish and the same object.
fn situation<K: ChildKind>(wanted: Option<&Value>, seen: &Seen<K>) -> u64 {
    let live = seen.live.as_ref().map(|live| (&live.uid, live.digest()));
    fnv1a(format!("{:?} {live:?}", wanted.map(digest_of)).as_bytes())
}

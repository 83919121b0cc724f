//! One child: compares, applies, repairs, deletes. I/O.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::cluster::{ChildKind, Cluster, Live};
use super::contest::Contest;
use super::deviation::Deviation;
use super::error::{Disposition, Error, RECHECK};
use super::memory::ChildMemory;
use super::news::Change;
use super::observe::{Ownership, Seen};
use super::wish::{Comparable, Wish, is_applied, told};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;

/// So often a patch may miss an object that moves; after that, the object itself is what the API server refuses.
const MOVES: u8 = 5;

/// What came of one child.
#[derive(Debug)]
pub enum Found {
    /// It is as it should be.
    InSync,
    /// It is as it should be since it was applied in this pass.
    Applied(Change),
    /// It is on its way out, or its place is gone: an event will tell.
    Moving,
    /// A former object of that kind must be gone before it can be made.
    Waiting(&'static str),
    /// A child of that kind, which must not be, was deleted in this pass.
    Deleted(&'static str),
    /// It has not been looked at yet: the next pass does, behind whatever waits already.
    Unseen,
    /// Something is in the way.
    Failed(Failed),
}

impl Found {
    /// Whether nothing can be made since the namespace is being deleted.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        matches!(self, Self::Failed(failed) if failed.error.is_ending())
    }
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
    /// What the status says of overrides: another process knew of them.
    pub told: &'a str,
}

/// A child that is not as it is wanted.
struct Gap<K: ChildKind> {
    wanted: Wish<K>,
    comparable: Comparable,
    live: Option<Arc<Live<K>>>,
    /// The first field that differs.
    field: String,
    /// All that differs, for people.
    all: String,
}

impl Ensure<'_> {
    /// Makes the child what is wanted; `None` = it must not be.
    pub async fn run<K: ChildKind + Serialize>(
        self,
        wanted: Option<K>,
        seen: &Seen<K>,
        memory: &mut ChildMemory,
    ) -> Found {
        let wanted = wanted.map(Wish::new);
        let pair = (wanted.as_ref().map_or(0, Wish::digest), seen.digest());
        if memory.in_sync == Some(pair) {
            return Found::InSync;
        }
        let situation = situation(pair.0, seen);
        if let Some((error, count, left)) = memory.failure.gate(situation, Instant::now())
            && error.costs_a_request()
        {
            return Found::Failed(Failed { error, count, wait: left, is_new: false });
        }
        let result = match wanted {
            Some(wanted) => match self.whole(seen).await {
                Ok(Some(seen)) => self.keep(wanted, &seen, memory).await,
                Ok(None) => Ok(Found::Moving),
                Err(error) => Err(error),
            },
            None => self.remove(seen, memory).await,
        };
        result.unwrap_or_else(|error| self.failed::<K>(error, situation, memory))
    }

    /// What is there, with all that is compared: of some objects the local copies have no text. `None` where another
    /// object has taken the place, of which an event tells.
    async fn whole<K: ChildKind>(self, seen: &Seen<K>) -> Result<Option<Seen<K>>, Error> {
        let is_compared = matches!(seen.ownership, Ownership::Ours | Ownership::Orphan);
        let Some(known) = seen.live.as_ref().filter(|live| is_compared && !live.is_whole()) else {
            return Ok(Some(seen.clone()));
        };
        let live = self.cluster.read_child::<K>(self.key).await?;
        let live = live.filter(|live| live.uid == known.uid && live.controller == known.controller);
        Ok(live.map(|live| Seen { live: Some(Arc::new(live)), ownership: seen.ownership.clone() }))
    }

    async fn keep<K: ChildKind + Serialize>(
        self,
        wanted: Wish<K>,
        seen: &Seen<K>,
        memory: &mut ChildMemory,
    ) -> Result<Found, Error> {
        let live = match &seen.ownership {
            Ownership::Terminating | Ownership::Predecessor => return Ok(Found::Waiting(K::TITLE)),
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
        let comparable = wanted.comparable();
        let Some(live) = live else {
            let gap = Gap {
                wanted,
                comparable,
                live: None,
                all: "created".to_owned(),
                field: "created".to_owned(),
            };
            return self.close(gap, seen, memory).await;
        };
        let live = self.take_back(&comparable, live, memory).await?;
        let (borne, left): (Vec<_>, Vec<_>) =
            comparable.deviations(&live).into_iter().partition(|deviation| self.bears(deviation, memory));
        let Some(first) = left.first() else {
            memory.settle(wanted.digest(), live.digest());
            memory.borne = borne;
            return Ok(Found::InSync);
        };
        if let Some(field) = memory.known_override(wanted.digest(), live.digest()) {
            return Err(Error::Overridden { kind: K::TITLE, key: self.key.clone(), field });
        }
        let (field, all) = (first.path().to_owned(), told(left.iter()));
        self.close(Gap { wanted, comparable, live: Some(live), all, field }, seen, memory).await
    }

    /// Applies what is wanted.
    async fn close<K: ChildKind + Serialize>(
        self,
        Gap { mut wanted, comparable, live, all, field }: Gap<K>,
        seen: &Seen<K>,
        memory: &mut ChildMemory,
    ) -> Result<Found, Error> {
        let drift = memory.is_known(wanted.digest(), seen).then_some(field);
        let (kind, key) = (K::TITLE, self.key.clone());
        if let (Some(_), Some(field)) = (&live, &drift)
            && let Some(wait) = memory.pause(field)
        {
            return Err(Error::Contested { kind, key, field: field.clone(), wait });
        }
        if let Some(live) = &live
            && let Some(replicas) = wanted.hand_over(live)
        {
            self.cluster.hand_over(self.key, live, replicas).await?;
        }
        let reply = self.send_until_it_fits(&mut wanted, &comparable, live, memory).await?;
        info!(namespace = key.namespace(), name = key.name(), kind, change = all, "applied");
        let left = comparable.deviations(&reply);
        if let Some(essential) = left.iter().find(|deviation| !deviation.is_bearable()) {
            let (desired, live, at) = (wanted.digest(), reply.digest(), Instant::now());
            let field = essential.path().to_owned();
            memory.overridden = Some(Override { desired, live, at, field: field.clone() });
            return Err(Error::Overridden { kind, key, field });
        }
        // What admission changes back in the same request was not put right.
        let drift = drift.filter(|field| left.iter().all(|deviation| deviation.path() != field));
        if let Some(field) = drift.clone() {
            memory.contest = Some(Contest::after(memory.contest.take(), field, Instant::now()));
        }
        memory.settle(wanted.digest(), reply.digest());
        memory.borne = left;
        Ok(Found::Applied(Change::new(seen.live.as_deref(), &reply, drift.map(|_| all))))
    }

    /// Whether admission is known to make this of what is applied, and the app can live with it.
    fn bears(self, deviation: &Deviation, memory: &ChildMemory) -> bool {
        deviation.is_bearable()
            && (memory.borne.contains(deviation) || self.told.contains(deviation.sentence()))
    }

    /// Makes our field manager own its part of a child again where that is lost: an apply only drops what it owns.
    async fn take_back<K: ChildKind>(
        self,
        comparable: &Comparable,
        live: Arc<Live<K>>,
        memory: &mut ChildMemory,
    ) -> Result<Arc<Live<K>>, Error> {
        let Some(lost) = live.details.as_ref().and_then(|details| details.lost.as_deref()) else {
            return Ok(live);
        };
        let (namespace, name) = (self.key.namespace(), self.key.name());
        info!(namespace, name, kind = K::TITLE, "the ownership of its fields is lost, and taken back");
        let reply = self.patch::<K>(&live, comparable.claim(&live, lost), memory).await?;
        Ok(Arc::new(reply))
    }

    /// An apply drops what we once wanted and want no more, so that a new wish is applied before anything is repaired:
    /// what is left then, or what makes the API server refuse the apply, is foreign.
    async fn send_until_it_fits<K: ChildKind + Serialize>(
        self,
        wanted: &mut Wish<K>,
        comparable: &Comparable,
        live: Option<Arc<Live<K>>>,
        memory: &mut ChildMemory,
    ) -> Result<Live<K>, Error> {
        let Some(live) = live else { return self.send(wanted, None).await };
        if is_applied(wanted.digest(), &live) {
            let live = self.repair(comparable, live, memory).await?;
            return self.send(wanted, Some(&live)).await;
        }
        let left = match self.send(wanted, Some(&live)).await {
            Ok(reply) if unknown(comparable.removals(&reply), memory).is_empty() => return Ok(reply),
            Ok(reply) => Arc::new(reply),
            Err(error) if error.is_invalid() => live,
            Err(error) => return Err(error),
        };
        let live = self.repair(comparable, left, memory).await?;
        self.send(wanted, Some(&live)).await
    }

    async fn send<K: ChildKind + Serialize>(
        self,
        wanted: &mut Wish<K>,
        live: Option<&Live<K>>,
    ) -> Result<Live<K>, Error> {
        self.cluster.apply_child(self.key, wanted.object(live), live.is_some()).await
    }

    /// Takes foreign members out of the places that are wholly ours, once for each state of the live object. The patch
    /// tests the resource version, so that what is taken out is what was looked at.
    async fn repair<K: ChildKind>(
        self,
        comparable: &Comparable,
        live: Arc<Live<K>>,
        memory: &mut ChildMemory,
    ) -> Result<Arc<Live<K>>, Error> {
        let removals = unknown(comparable.removals(&live), memory);
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
        let result = self.patch(&live, removals, memory).await;
        if !matches!(result, Err(Error::Moved { .. })) {
            memory.repaired = Some(live.digest());
        }
        result.map(Arc::new)
    }

    /// Sends a JSON Patch for the state of the live object that was looked at.
    async fn patch<K: ChildKind>(
        self,
        live: &Live<K>,
        operations: Vec<Value>,
        memory: &mut ChildMemory,
    ) -> Result<Live<K>, Error> {
        let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": live.version() });
        let operations: Vec<_> = [test].into_iter().chain(operations).collect();
        let result = self.cluster.repair_child::<K>(self.key, Value::from(operations)).await;
        // The answer to a test that fails is 422.
        if result.as_ref().is_err_and(Error::is_invalid) && memory.moved < MOVES {
            memory.moved += 1;
            return Err(Error::Moved { kind: K::TITLE, key: self.key.clone() });
        }
        result
    }

    async fn remove<K: ChildKind>(self, seen: &Seen<K>, memory: &mut ChildMemory) -> Result<Found, Error> {
        match (&seen.ownership, &seen.live) {
            (Ownership::Ours, Some(live)) => {
                let is_gone = self.cluster.delete_child(self.key, live).await?;
                info!(namespace = self.key.namespace(), name = self.key.name(), kind = K::TITLE, "deleted");
                if !is_gone {
                    memory.in_sync = None;
                    return Ok(Found::Moving);
                }
                memory.settle(0, 0);
                Ok(Found::Deleted(K::TITLE))
            }
            (Ownership::Terminating, _) => Ok(Found::Moving),
            _ => {
                memory.settle(0, seen.digest());
                Ok(Found::InSync)
            }
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
    fn settle(&mut self, wanted: u64, live: u64) {
        *self = Self { in_sync: Some((wanted, live)), contest: self.contest.take(), ..Self::default() };
    }

    /// Whether what is there is what came of the same wish, or what was there is gone: what differs is then somebody
    /// else's doing.
    fn is_known<K: ChildKind>(&self, wanted: u64, seen: &Seen<K>) -> bool {
        let was_there = self.in_sync.filter(|(_, live)| *live != 0);
        match &seen.live {
            None => was_there.is_some(),
            Some(live) => was_there.is_some_and(|(wish, _)| wish == wanted) || is_applied(wanted, live),
        }
    }

    /// How long to leave a field alone that somebody else changes back again and again.
    fn pause(&self, field: &str) -> Option<Duration> {
        self.contest.as_ref()?.pause(field, Instant::now())
    }

    fn known_override(&self, wanted: u64, live: u64) -> Option<String> {
        let known = self.overridden.as_ref()?;
        let is_same = known.desired == wanted && known.live == live;
        (is_same && known.at.elapsed() < RECHECK).then(|| known.field.clone())
    }
}

/// The removals that admission has not put back before.
fn unknown(mut removals: Vec<Value>, memory: &ChildMemory) -> Vec<Value> {
    let is_borne = |path: &str| memory.borne.iter().any(|borne| borne.is_foreign_at(path));
    removals.retain(|removal| !removal.get("path").and_then(Value::as_str).is_some_and(is_borne));
    removals
}

/// A number that stays the same for as long as a repeated try would meet the same wish and the same object.
fn situation<K: ChildKind>(wanted: u64, seen: &Seen<K>) -> u64 {
    let live = seen.live.as_ref().map(|live| (&live.uid, live.digest()));
    fnv1a(format!("{wanted} {live:?}").as_bytes())
}

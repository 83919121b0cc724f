//! What the process remembers of one EGApp between passes. Lost at a restart, at the cost of a try. Pure.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::budget::OtherBudget;
use super::contest::{Contest, Told};
use super::deviation::Deviation;
use super::ensure::Override;
use super::error::Error;
use super::observe::Observed;
use super::replicas::{Reign, Scaling};
use crate::controller::events::Bucket;
use crate::controller::key::ObjectKey;

/// The memory of one EGApp.
#[derive(Debug, Default)]
pub struct Memory {
    /// Of the Deployment.
    pub deployment: ChildMemory,
    /// Of the Service.
    pub service: ChildMemory,
    /// Of the PodDisruptionBudget.
    pub disruption_budget: ChildMemory,
    /// Of the HorizontalPodAutoscaler.
    pub autoscaler: ChildMemory,
    /// The last failure that is about the EGApp as a whole.
    pub failure: Failure<Arc<Error>>,
    /// The last failure to write the status.
    pub status_failure: Failure<()>,
    /// The status that was written last, and how often somebody else has changed it.
    pub status_told: Told,
    /// For what every child was last found to be in sync: most passes have another cause, and need not compare again.
    pub in_sync: Option<InSync>,
    /// The generation of an edit that has not been brought about yet.
    pub edit: Option<i64>,
    /// How the app has come through a platform change.
    pub change: ChangeMemory,
    /// Digest of the pod template that its Deployment had last.
    pub template: Option<u64>,
    /// Another PodDisruptionBudget over the app's pods.
    pub other_budget: OtherBudget,
    /// Since when a moving status waits to be written.
    pub moving_since: Option<Instant>,
    /// When a failure was told last, if the app is not settled since.
    pub news_told: Option<Instant>,
    /// Who has had the replicas.
    pub reign: Reign,
    /// Whether pods of a new version are on their way.
    pub is_rolling: bool,
    /// How many passes in a row came to no end.
    pub abandoned: u8,
    /// How many events there were lately.
    pub events: Bucket,
}

/// What the children depend on, besides themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InSync {
    /// The EGApp's generation.
    pub generation: i64,
    /// The platform's revision.
    pub revision: u64,
    /// Who decides on the replicas.
    pub scaling: Scaling,
    /// Whether the app's own PodDisruptionBudget steps back.
    pub steps_back: bool,
}

/// The memory of one platform change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangeMemory {
    change: u64,
    /// Whether the app has had its turn.
    pub had_turn: bool,
    /// Whether the app was Ready with what it then got.
    pub was_well: bool,
    /// Whether it has failed with it.
    pub has_failed: bool,
    advance: Option<(Progress, Instant)>,
}

impl ChangeMemory {
    /// How long the app has come no further: the Deployment controller's own deadline begins anew with every pod that
    /// comes and goes.
    pub fn stands_still(&mut self, now_at: Progress, now: Instant) -> Duration {
        let (furthest, since) = self.advance.get_or_insert((now_at, now));
        if now_at.template != furthest.template || now_at.far > furthest.far {
            (*furthest, *since) = (now_at, now);
        }
        now.saturating_duration_since(*since)
    }

    /// What is left of `patience` with an app that stands still.
    #[must_use]
    pub fn left(&self, patience: Duration, now: Instant) -> Duration {
        let still = self.advance.map(|(_, since)| now.saturating_duration_since(since));
        patience.saturating_sub(still.unwrap_or_default())
    }

    /// The app is where it should be.
    pub fn arrive(&mut self) {
        self.advance = None;
    }

    fn is_empty(&self) -> bool {
        *self == Self { change: self.change, ..Self::default() }
    }
}

/// How far the rollout of a pod template is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Digest of the template.
    pub template: Option<u64>,
    /// A number that grows with every pod that is replaced, and with every one that comes up.
    pub far: i32,
}

/// The memory of one child.
#[derive(Debug, Default)]
pub struct ChildMemory {
    /// The digests of what was wanted and of what was there when both last went together; 0 where there was nothing.
    pub in_sync: Option<(u64, u64)>,
    /// The last failure.
    pub failure: Failure<Arc<Error>>,
    /// A field that somebody else changes back.
    pub contest: Option<Contest>,
    /// An apply that did not stick.
    pub overridden: Option<Override>,
    /// What admission makes of the child, and the app can live with.
    pub borne: Vec<Deviation>,
    /// Digest of the state that was repaired.
    pub repaired: Option<u64>,
    /// How often a repair missed an object that somebody else was changing.
    pub moved: u8,
}

/// Failures in a row of one thing in one situation (a number that changes with whatever a try depends on, above all
/// the EGApp's generation): an edit starts afresh.
#[derive(Debug)]
pub struct Failure<E> {
    last: Option<Last<E>>,
}

#[derive(Debug)]
struct Last<E> {
    error: E,
    count: u32,
    situation: u64,
    until: Option<Instant>,
}

impl<E> Default for Failure<E> {
    fn default() -> Self {
        Self { last: None }
    }
}

impl<E: Clone> Failure<E> {
    /// The failure that still forbids a new try, with the time left (`None` = until the situation changes).
    #[must_use]
    pub fn gate(&self, situation: u64, now: Instant) -> Option<(E, u32, Option<Duration>)> {
        let last = self.last.as_ref().filter(|last| last.situation == situation)?;
        let left = match last.until {
            Some(until) if until <= now => return None,
            until => until.map(|until| until - now),
        };
        Some((last.error.clone(), last.count, left))
    }

    /// Counts a failure; the next try may come after what `delay` says for the count.
    pub fn record(
        &mut self,
        error: E,
        situation: u64,
        now: Instant,
        delay: impl FnOnce(u32) -> Option<Duration>,
    ) -> (u32, Option<Duration>) {
        let former = self.last.as_ref().filter(|last| last.situation == situation);
        let count = former.map_or(1, |last| last.count.saturating_add(1));
        let wait = delay(count);
        self.last = Some(Last { error, count, situation, until: wait.map(|wait| now + wait) });
        (count, wait)
    }

    /// Forgets every failure.
    pub fn clear(&mut self) {
        self.last = None;
    }

    /// Whether there is none to remember.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}

impl Memory {
    /// That change is on its way. What was remembered of another says nothing.
    pub fn enter(&mut self, change: u64) {
        if self.change.change != change {
            self.change = ChangeMemory { change, ..ChangeMemory::default() };
        }
    }

    /// Whether the children were found to be as they are wanted now, and none has changed since.
    #[must_use]
    pub fn is_in_sync(&self, now: &InSync, observed: &Observed) -> bool {
        let is_same =
            |(memory, digest): (&ChildMemory, u64)| memory.in_sync.is_some_and(|(_, was)| was == digest);
        self.in_sync.as_ref() == Some(now) && self.children().into_iter().zip(observed.digests()).all(is_same)
    }

    /// Whether a child that was in sync is gone.
    #[must_use]
    pub fn has_lost(&self, observed: &Observed) -> bool {
        let is_gone = |(memory, digest): (&ChildMemory, u64)| {
            digest == 0 && memory.in_sync.is_some_and(|(_, was)| was != 0)
        };
        self.children().into_iter().zip(observed.digests()).any(is_gone)
    }

    /// What admission makes of the children, and the app can live with; `None` where that has not been looked at.
    #[must_use]
    pub fn overrides(&self) -> Option<Vec<&str>> {
        self.in_sync.as_ref()?;
        let all = self.children().into_iter().flat_map(|child| child.borne.iter());
        Some(all.map(Deviation::sentence).collect())
    }

    /// In the order of [`Observed::digests`].
    fn children(&self) -> [&ChildMemory; 4] {
        [&self.deployment, &self.service, &self.disruption_budget, &self.autoscaler]
    }

    fn is_empty(&self) -> bool {
        let Self {
            deployment,
            service,
            disruption_budget,
            autoscaler,
            failure,
            status_failure,
            status_told,
            in_sync,
            edit,
            change,
            template,
            other_budget,
            moving_since,
            news_told,
            reign,
            is_rolling,
            abandoned,
            events,
        } = self;
        [deployment, service, disruption_budget, autoscaler].into_iter().all(ChildMemory::is_empty)
            && failure.is_empty()
            && status_failure.is_empty()
            && *status_told == Told::default()
            && in_sync.is_none()
            && edit.is_none()
            && change.is_empty()
            && template.is_none()
            && *other_budget == OtherBudget::Absent
            && moving_since.is_none()
            && news_told.is_none()
            && *reign == Reign::Unknown
            && !is_rolling
            && *abandoned == 0
            && *events == Bucket::default()
    }
}

impl ChildMemory {
    fn is_empty(&self) -> bool {
        let Self { in_sync, failure, contest, overridden, borne, repaired, moved } = self;
        in_sync.is_none()
            && failure.is_empty()
            && contest.is_none()
            && overridden.is_none()
            && borne.is_empty()
            && repaired.is_none()
            && *moved == 0
    }
}

/// The memories of all EGApps by uid: an app that is made anew under the same name starts afresh.
#[derive(Default)]
pub struct Memories(Mutex<BTreeMap<ObjectKey, (String, Memory)>>);

impl Memories {
    /// Takes out the memory of the EGApp with that key and uid.
    pub fn take(&self, key: &ObjectKey, uid: &str) -> Memory {
        let remembered = self.lock().remove(key);
        remembered.filter(|(of, _)| of == uid).map(|(_, memory)| memory).unwrap_or_default()
    }

    /// Puts it back; nothing is kept for an app about which there is nothing to remember.
    pub fn put(&self, key: &ObjectKey, uid: &str, memory: Memory) {
        if !memory.is_empty() {
            self.lock().insert(key.clone(), (uid.to_owned(), memory));
        }
    }

    /// Forgets an EGApp that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, (String, Memory)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_failure_forbids_a_try_until_its_time_and_an_edit_starts_afresh() {
        let (mut failure, now) = (Failure::default(), Instant::now());
        assert_eq!(failure.record("no", 1, now, |_| Some(SECOND)), (1, Some(SECOND)));
        assert_eq!(failure.gate(1, now), Some(("no", 1, Some(SECOND))));
        assert_eq!(failure.gate(1, now + SECOND), None);
        assert_eq!(failure.gate(2, now), None, "another situation");
        assert_eq!(failure.record("no", 1, now, |_| None), (2, None));
        assert_eq!(failure.gate(1, now + SECOND * 3600), Some(("no", 2, None)));
        assert_eq!(failure.record("no", 2, now, |_| None).0, 1);
    }

    #[test]
    fn a_memory_belongs_to_one_uid_and_an_empty_one_is_not_kept() {
        let (memories, key) = (Memories::default(), ObjectKey::new("ns", "web"));
        memories.put(&key, "u1", Memory { edit: Some(3), ..Memory::default() });
        assert_eq!(memories.take(&key, "u2").edit, None);
        memories.put(&key, "u1", Memory { edit: Some(3), ..Memory::default() });
        assert_eq!(memories.take(&key, "u1").edit, Some(3));
        memories.put(&key, "u1", Memory::default());
        assert!(memories.lock().is_empty());
    }
}

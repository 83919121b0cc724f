//! The work queue: which objects wait for a reconcile, in which order, and since when. No I/O.
//!
//! The semantics are those of client-go's work queue: a key waits at most once, is never worked on twice at the
//! same time, and a key that is added during its own run is queued again when that run ends. Waiting keys are
//! served first in, first out, so that a busy object starves nobody; only work that can wait, as the rest of what a
//! run has begun, is served as if it had come `COURTESY` later.
//!
//! One namespace's trouble stays its own. A namespace may have all [`WORKERS`] runs for as long as no other wants any,
//! and yet holds up nobody, whatever becomes of them:
//! - [`RESERVE`] more runs are for namespaces that have none;
//! - a namespace of which a run takes longer than two seconds, say behind a webhook that does not answer, has four runs
//!   at a time, and none out of the reserve, until a minute after the last such run.
//!
//! A key that may not run yet keeps its place in line.
//!
//! A queue that has not been opened takes nothing: who stands by and follows events would keep the names of what has
//! long been deleted, and report a line that nobody serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::key::ObjectKey;
use super::lanes::Lanes;
pub use super::lanes::{RESERVE, WORKERS};
use crate::telemetry::{QueueMetrics, TakenItem};

/// How much later work that can wait is served than the rest. In a flood of new objects each has its most important
/// part made before the first has its last; on an idle queue nothing waits.
const COURTESY: Duration = Duration::from_secs(5);

/// A first-in, first-out queue of object keys with delayed additions.
pub struct WorkQueue {
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Normal,
    Patient,
}

#[derive(Default)]
struct State {
    lanes: Lanes,
    /// Keys that wait, and keys that will when their current run ends.
    dirty: BTreeMap<ObjectKey, Urgency>,
    due: BTreeMap<ObjectKey, Instant>,
    timeline: BTreeSet<(Instant, ObjectKey)>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    NotOpened,
    Open,
    Closed,
}

/// A key taken from the queue. Dropping it ends the run.
pub struct Claim {
    key: ObjectKey,
    queue: Arc<WorkQueue>,
    _timer: TakenItem,
}

impl WorkQueue {
    /// An empty queue that reports to `metrics`, and drops what is added before it is opened.
    #[must_use]
    pub fn new(metrics: QueueMetrics) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Notify::new(), metrics })
    }

    /// From now on keys are queued.
    pub fn open(&self) {
        self.lock().phase = Phase::Open;
    }

    /// Whether keys are queued: not before the queue is opened, nor once it is closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().phase == Phase::Open
    }

    /// Queues `key` now, unless it waits already. A delayed addition of the key is replaced by this one.
    pub fn add(&self, key: ObjectKey) {
        self.add_with(key, Urgency::Normal);
    }

    /// Queues `key` for the rest of what its current run has begun: at once, but behind other keys that wait.
    pub fn add_rest(&self, key: ObjectKey) {
        self.add_with(key, Urgency::Patient);
    }

    fn add_with(&self, key: ObjectKey, urgency: Urgency) {
        let mut state = self.lock();
        if state.phase != Phase::Open {
            return;
        }
        state.forget_delay(&key);
        self.enqueue(&mut state, key, urgency);
        drop(state);
        self.changed.notify_one();
    }

    /// Queues `key` after `delay`. Of several delayed additions the earliest counts.
    pub fn add_after(&self, key: ObjectKey, delay: Duration) {
        let at = Instant::now() + delay;
        let mut state = self.lock();
        if state.phase != Phase::Open || state.due.get(&key).is_some_and(|earlier| *earlier <= at) {
            return;
        }
        state.forget_delay(&key);
        state.due.insert(key.clone(), at);
        state.timeline.insert((at, key));
        drop(state);
        self.changed.notify_one();
    }

    /// Counts a run that failed and will be tried again.
    pub fn count_retry(&self) {
        self.metrics.retried();
    }

    /// The next key to work on; `None` once the queue is closed.
    pub async fn take(self: &Arc<Self>) -> Option<Claim> {
        loop {
            let notified = self.changed.notified();
            let next_due = {
                let mut state = self.lock();
                if state.phase == Phase::Closed {
                    return None;
                }
                self.promote_due(&mut state);
                if let Some((key, since)) = state.lanes.next(Instant::now()) {
                    return Some(self.claim(state, key, since));
                }
                state.timeline.first().map(|(at, _)| *at)
            };
            match next_due {
                Some(at) => {
                    tokio::select! { () = notified => (), () = tokio::time::sleep_until(at) => () }
                }
                None => notified.await,
            }
        }
    }

    /// Wakes every taker with `None`. Runs that were claimed before go on.
    pub fn close(&self) {
        self.lock().phase = Phase::Closed;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    fn claim(self: &Arc<Self>, mut state: MutexGuard<'_, State>, key: ObjectKey, since: Instant) -> Claim {
        state.dirty.remove(&key);
        self.metrics.depth(state.lanes.waiting());
        let more = state.lanes.waiting() > 0 || !state.timeline.is_empty();
        drop(state);
        if more {
            // One notification wakes one taker: it passes the word on while there is work or a deadline left.
            self.changed.notify_one();
        }
        Claim { key, queue: Arc::clone(self), _timer: self.metrics.taken(since.elapsed()) }
    }

    fn promote_due(&self, state: &mut State) {
        let now = Instant::now();
        while let Some((at, key)) = state.timeline.first().cloned() {
            if at > now {
                break;
            }
            state.forget_delay(&key);
            self.enqueue(state, key, Urgency::Normal);
        }
    }

    fn enqueue(&self, state: &mut State, key: ObjectKey, urgency: Urgency) {
        let (known, is_running) = (state.dirty.get(&key).copied(), state.lanes.is_running(&key));
        if known.is_some() && !is_running {
            return;
        }
        // An event that comes during a run is no reason to hurry: the run knows best whether what is left can wait.
        state.dirty.insert(key.clone(), known.map_or(urgency, |known| known.max(urgency)));
        if known.is_none() {
            self.metrics.added();
            if !is_running {
                self.line_up(state, key, urgency);
            }
        }
    }

    fn line_up(&self, state: &mut State, key: ObjectKey, urgency: Urgency) {
        let later = match urgency {
            Urgency::Normal => Duration::ZERO,
            Urgency::Patient => COURTESY,
        };
        state.lanes.line_up(key, later, Instant::now());
        self.metrics.depth(state.lanes.waiting());
    }

    fn finish(&self, key: &ObjectKey) {
        let mut state = self.lock();
        state.lanes.end(key, Instant::now());
        if let Some(urgency) = state.dirty.get(key).copied() {
            self.line_up(&mut state, key.clone(), urgency);
        }
        // The end of a run may be what another key waits for.
        let more = state.lanes.waiting() > 0;
        drop(state);
        if more {
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_delay(&mut self, key: &ObjectKey) {
        if let Some((key, at)) = self.due.remove_entry(key) {
            self.timeline.remove(&(at, key));
        }
    }
}

impl Claim {
    /// The object to work on.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.queue.finish(&self.key);
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

//! The work queue: which objects wait for a reconcile, in which order, and since when. No I/O.
//!
//! The semantics are those of client-go's work queue: a key waits at most once, is never worked on twice at the
//! same time, and a key that is added during its own run is queued again when that run ends. Waiting keys are
//! served first in, first out, so that a busy object starves nobody.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::key::ObjectKey;
use crate::telemetry::{QueueMetrics, TakenItem};

/// A first-in, first-out queue of object keys with delayed additions.
pub struct WorkQueue {
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
}

#[derive(Default)]
struct State {
    ready: VecDeque<(ObjectKey, Instant)>,
    /// Keys in `ready`, and keys to be put there when their current run ends.
    dirty: BTreeSet<ObjectKey>,
    running: BTreeSet<ObjectKey>,
    due: BTreeMap<ObjectKey, Instant>,
    timeline: BTreeSet<(Instant, ObjectKey)>,
    closed: bool,
}

/// A key taken from the queue. Dropping it ends the run.
pub struct Claim {
    key: ObjectKey,
    queue: Arc<WorkQueue>,
    _timer: TakenItem,
}

impl WorkQueue {
    /// An empty queue that reports to `metrics`.
    #[must_use]
    pub fn new(metrics: QueueMetrics) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Notify::new(), metrics })
    }

    /// Queues `key` now, unless it waits already. A delayed addition of the key is replaced by this one.
    pub fn add(&self, key: ObjectKey) {
        let mut state = self.lock();
        state.forget_delay(&key);
        self.enqueue(&mut state, key, Instant::now());
        drop(state);
        self.changed.notify_one();
    }

    /// Queues `key` after `delay`. Of several delayed additions the earliest counts.
    pub fn add_after(&self, key: ObjectKey, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let at = Instant::now() + delay;
        let mut state = self.lock();
        if state.due.get(&key).is_some_and(|earlier| *earlier <= at) {
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
                if state.closed {
                    return None;
                }
                self.promote_due(&mut state);
                if let Some((key, since)) = state.ready.pop_front() {
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
        self.lock().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    fn claim(self: &Arc<Self>, mut state: MutexGuard<'_, State>, key: ObjectKey, since: Instant) -> Claim {
        state.dirty.remove(&key);
        state.running.insert(key.clone());
        self.metrics.depth(state.ready.len());
        let more = !state.ready.is_empty() || !state.timeline.is_empty();
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
            self.enqueue(state, key, now);
        }
    }

    fn enqueue(&self, state: &mut State, key: ObjectKey, now: Instant) {
        if !state.dirty.insert(key.clone()) {
            return;
        }
        self.metrics.added();
        if !state.running.contains(&key) {
            state.ready.push_back((key, now));
            self.metrics.depth(state.ready.len());
        }
    }

    fn finish(&self, key: &ObjectKey) {
        let mut state = self.lock();
        state.running.remove(key);
        if state.dirty.contains(key) {
            state.ready.push_back((key.clone(), Instant::now()));
            self.metrics.depth(state.ready.len());
            drop(state);
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

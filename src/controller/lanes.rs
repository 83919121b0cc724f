//! Whose turn it is in the work queue: keys that wait and keys that are worked on, by namespace. Pure: the time is an
//! argument. The rules stand in [`queue`](super::queue).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::key::ObjectKey;

/// Runs at a time. They wait for the API server most of the time; 32 were the fastest in a flood of new apps, and 64
/// only took time from whoever creates them.
pub const WORKERS: usize = 32;

/// So many more, for namespaces that hold no worker.
pub const RESERVE: usize = 8;

/// A run that takes longer hangs: a healthy one takes a tenth of that in a flood.
const HANGING: Duration = Duration::from_secs(2);

/// So many runs at a time has a namespace whose runs hang.
const SHARE: usize = 4;

/// So long a namespace is remembered for its last run that hung: failing keys come back within less at first.
const MEMORY: Duration = Duration::from_mins(1);

/// A place in line: the moment from which it counts, and who came first at the same moment.
type Place = (Instant, u64);

/// Every key that waits or is worked on.
#[derive(Default)]
pub(super) struct Lanes {
    by_namespace: BTreeMap<Arc<str>, Lane>,
    /// Lanes in which a key waits, by the place of their first.
    heads: BTreeSet<(Place, Arc<str>)>,
    arrivals: u64,
    running: usize,
    waiting: usize,
}

/// The keys of one namespace.
#[derive(Default)]
struct Lane {
    /// With the moment since which each waits.
    waiting: BTreeMap<Place, (ObjectKey, Instant)>,
    /// With the moment of its start.
    running: BTreeMap<ObjectKey, Instant>,
    /// When the last run that hung ended.
    hung: Option<Instant>,
}

impl Lanes {
    /// Puts a key into line, as if it came `later` than it does.
    pub(super) fn line_up(&mut self, key: ObjectKey, later: Duration, now: Instant) {
        self.arrivals = self.arrivals.wrapping_add(1);
        let (place, namespace) = ((now + later, self.arrivals), Arc::from(key.namespace()));
        let lane = self.by_namespace.entry(Arc::clone(&namespace)).or_default();
        let former = lane.head();
        lane.waiting.insert(place, (key, now));
        self.waiting += 1;
        self.renew_head(&namespace, former);
    }

    /// Begins a run of the first key whose namespace may have one, and tells since when it has waited.
    pub(super) fn next(&mut self, now: Instant) -> Option<(ObjectKey, Instant)> {
        let may_run = |namespace: &&Arc<str>| {
            self.by_namespace.get(*namespace).is_some_and(|lane| lane.may_run(self.running, now))
        };
        // Few are passed over: namespaces that have a run, or that hang.
        let namespace = Arc::clone(self.heads.iter().map(|(_, namespace)| namespace).find(may_run)?);
        let lane = self.by_namespace.get_mut(&namespace)?;
        let former = lane.head();
        let (_, (key, since)) = lane.waiting.pop_first()?;
        lane.running.insert(key.clone(), now);
        self.running += 1;
        self.waiting -= 1;
        self.renew_head(&namespace, former);
        Some((key, since))
    }

    /// Ends the run of a key.
    pub(super) fn end(&mut self, key: &ObjectKey, now: Instant) {
        let Some(lane) = self.by_namespace.get_mut(key.namespace()) else { return };
        let Some(started) = lane.running.remove(key) else { return };
        self.running -= 1;
        if now - started >= HANGING {
            lane.hung = Some(now);
            self.by_namespace.retain(|_, lane| !lane.is_idle(now));
        } else if lane.is_idle(now) {
            self.by_namespace.remove(key.namespace());
        }
    }

    /// Whether the key is worked on.
    pub(super) fn is_running(&self, key: &ObjectKey) -> bool {
        self.by_namespace.get(key.namespace()).is_some_and(|lane| lane.running.contains_key(key))
    }

    /// How many keys wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    fn renew_head(&mut self, namespace: &Arc<str>, former: Option<Place>) {
        let head = self.by_namespace.get(namespace).and_then(Lane::head);
        if head == former {
            return;
        }
        if let Some(former) = former {
            self.heads.remove(&(former, Arc::clone(namespace)));
        }
        if let Some(head) = head {
            self.heads.insert((head, Arc::clone(namespace)));
        }
    }
}

impl Lane {
    fn head(&self) -> Option<Place> {
        self.waiting.keys().next().copied()
    }

    /// Where so many runs are under way in all namespaces.
    fn may_run(&self, under_way: usize, now: Instant) -> bool {
        let held = self.running.len();
        if self.hangs(now) { under_way < WORKERS && held < SHARE } else { under_way < WORKERS || held == 0 }
    }

    fn hangs(&self, now: Instant) -> bool {
        let is_recent = |hung: Instant| now - hung < MEMORY;
        self.hung.is_some_and(is_recent) || self.running.values().any(|started| now - *started >= HANGING)
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && !self.hangs(now)
    }
}

//! A local copy of one kind of object, fed by its watch and by the replies to our own writes. No I/O.
//!
//! Resource versions of one kind are compared as numbers (KEP-5504 makes that order part of the API), so an event
//! that is older than what we already know is dropped: after our own write the echo from the watch is no news.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::Event;

use super::key::ObjectKey;

/// What a [`Store`] must know of the objects it holds.
pub trait Versioned {
    /// Namespace and name.
    fn key(&self) -> ObjectKey;
    /// `metadata.resourceVersion` as a number; 0 where it is none.
    fn resource_version(&self) -> u64;
}

/// `metadata.resourceVersion` as a number; 0 where it is absent or not a number.
#[must_use]
pub fn parse_resource_version(version: Option<&str>) -> u64 {
    version.and_then(|v| v.parse().ok()).unwrap_or(0)
}

/// A local copy of one kind of object.
pub struct Store<V> {
    state: RwLock<State<V>>,
}

struct State<V> {
    objects: BTreeMap<ObjectKey, Arc<V>>,
    /// The list that is being received; it replaces `objects` at once when it is whole.
    incoming: BTreeMap<ObjectKey, Arc<V>>,
    /// Newest resource version the watch has shown: what is not newer has been seen, or is gone.
    seen: u64,
    /// Counts lists, so that a reply to a write from before a list is not put over it.
    lists: u64,
}

/// Taken before a write, and handed back with the reply to it: see [`Store::learn`].
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

impl<V> Default for Store<V> {
    fn default() -> Self {
        let state = State { objects: BTreeMap::new(), incoming: BTreeMap::new(), seen: 0, lists: 0 };
        Self { state: RwLock::new(state) }
    }
}

impl<V: Versioned> Store<V> {
    /// The object of that name, if it exists.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<V>> {
        self.read().objects.get(key).cloned()
    }

    /// The names of all objects.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// How many objects `is_counted` says yes to.
    pub fn count(&self, is_counted: impl Fn(&V) -> bool) -> usize {
        self.read().objects.values().filter(|object| is_counted(object)).count()
    }

    /// Takes in one event of the watch and returns the keys of the objects that changed by it.
    pub fn handle(&self, event: Event<V>) -> Vec<ObjectKey> {
        let mut state = self.write();
        match event {
            Event::Init => {
                state.incoming.clear();
                state.lists += 1;
                Vec::new()
            }
            Event::InitApply(object) => {
                state.seen = state.seen.max(object.resource_version());
                state.incoming.insert(object.key(), Arc::new(object));
                Vec::new()
            }
            Event::InitDone => state.swap(),
            Event::Apply(object) => state.upsert(object).into_iter().collect(),
            Event::Delete(object) => {
                state.seen = state.seen.max(object.resource_version());
                let key = object.key();
                state.objects.remove(&key).map(|_| key).into_iter().collect()
            }
        }
    }

    /// Marks the moment before a write.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket(self.read().lists)
    }

    /// Takes in the reply to our own write, unless the watch has already told what came of it: a reply that is no
    /// newer than what the watch has shown, or that a list has overtaken, could bring back a deleted object.
    pub fn learn(&self, ticket: Ticket, object: V) {
        let mut state = self.write();
        if ticket.0 == state.lists && object.resource_version() > state.seen {
            let newer_is_known = state.knows(&object);
            if !newer_is_known {
                state.objects.insert(object.key(), Arc::new(object));
            }
        }
    }

    /// Takes out an object that we have deleted, unless another has taken its place: the watch tells later.
    pub fn forget(&self, object: &V) {
        let (key, mut state) = (object.key(), self.write());
        let is_the_same = |held: &Arc<V>| held.resource_version() <= object.resource_version();
        if state.objects.get(&key).is_some_and(is_the_same) {
            state.objects.remove(&key);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State<V>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<V>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Versioned> State<V> {
    fn swap(&mut self) -> Vec<ObjectKey> {
        let before = std::mem::replace(&mut self.objects, std::mem::take(&mut self.incoming));
        let is_same = |key: &ObjectKey, object: &Arc<V>, others: &BTreeMap<ObjectKey, Arc<V>>| {
            others.get(key).is_some_and(|other| other.resource_version() == object.resource_version())
        };
        let gone = before.keys().filter(|key| !self.objects.contains_key(*key));
        let changed =
            self.objects.iter().filter(|(key, object)| !is_same(key, object, &before)).map(|(key, _)| key);
        gone.chain(changed).cloned().collect()
    }

    fn upsert(&mut self, object: V) -> Option<ObjectKey> {
        self.seen = self.seen.max(object.resource_version());
        if self.knows(&object) {
            return None;
        }
        let key = object.key();
        self.objects.insert(key.clone(), Arc::new(object));
        Some(key)
    }

    /// Whether what we hold is at least as new. Versions that are no numbers never are.
    fn knows(&self, object: &V) -> bool {
        let version = object.resource_version();
        version != 0 && self.objects.get(&object.key()).is_some_and(|held| held.resource_version() >= version)
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

//! A local copy of one kind of object, fed by its watch and by the replies to our own writes. No I/O.
//!
//! Resource versions of one kind are compared as numbers (KEP-5504 makes that order part of the API), so an event
//! that is older than what we already know is dropped: after our own write the echo from the watch is no news. The
//! same goes for lists: one that another API server answers from a cache that lags puts nothing back.

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
                state.remove(&object).into_iter().collect()
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
        self.write().remove(object);
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
        let listed = std::mem::take(&mut self.incoming);
        let listed = self.newest_of(listed);
        let before = std::mem::replace(&mut self.objects, listed);
        let is_same = |key: &ObjectKey, object: &Arc<V>, others: &BTreeMap<ObjectKey, Arc<V>>| {
            others.get(key).is_some_and(|other| other.resource_version() == object.resource_version())
        };
        let gone = before.keys().filter(|key| !self.objects.contains_key(*key));
        let changed =
            self.objects.iter().filter(|(key, object)| !is_same(key, object, &before)).map(|(key, _)| key);
        gone.chain(changed).cloned().collect()
    }

    /// What exists after that list. An object of which a newer state is held shows that the list was made before that
    /// state: it says nothing of whatever is as new, and the watch, which goes on from the list, tells the rest. Any other
    /// object that is not listed is gone.
    fn newest_of(&self, mut listed: BTreeMap<ObjectKey, Arc<V>>) -> BTreeMap<ObjectKey, Arc<V>> {
        let is_held_newer = |(key, held): &(&ObjectKey, &Arc<V>)| {
            listed.get(*key).is_some_and(|listed| listed.resource_version() < held.resource_version())
        };
        let newer = self.objects.iter().filter(is_held_newer).map(|(_, held)| held.resource_version());
        let Some(made_before) = newer.min() else { return listed };
        for (key, held) in self.objects.iter().filter(|(_, held)| held.resource_version() >= made_before) {
            let is_newer = listed.get(key).is_none_or(|it| it.resource_version() < held.resource_version());
            if is_newer {
                listed.insert(key.clone(), Arc::clone(held));
            }
        }
        listed
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

    /// Takes out an object that is gone; one of its name that was made since stays.
    fn remove(&mut self, gone: &V) -> Option<ObjectKey> {
        let key = gone.key();
        self.objects.get(&key).filter(|held| held.resource_version() <= gone.resource_version())?;
        self.objects.remove(&key).map(|_| key)
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

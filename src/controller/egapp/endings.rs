//! Namespaces that are being deleted, as far as answers of the API server tell. Pure.
//!
//! Nothing new can be made in one, ever again, and no EGApp can come into it: those that are there are asked for
//! nothing more. One of the same name later has other EGApps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The uids of EGApps by the namespace that ends with them.
#[derive(Default)]
pub struct Endings(Mutex<BTreeMap<Box<str>, BTreeSet<Box<str>>>>);

impl Endings {
    /// The namespace is being deleted, and has these EGApps.
    pub fn begin(&self, namespace: &str, apps: BTreeSet<Box<str>>) {
        self.lock().insert(namespace.into(), apps);
    }

    /// Whether the EGApp ends with its namespace.
    #[must_use]
    pub fn has(&self, namespace: &str, uid: &str) -> bool {
        self.lock().get(namespace).is_some_and(|apps| apps.contains(uid))
    }

    /// An EGApp of that namespace is gone; `is_last` says whether none is left.
    pub fn forget(&self, namespace: &str, is_last: impl FnOnce() -> bool) {
        let mut endings = self.lock();
        if endings.contains_key(namespace) && is_last() {
            endings.remove(namespace);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<str>, BTreeSet<Box<str>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_of_the_apps_that_were_there_and_over_with_the_last() {
        let endings = Endings::default();
        endings.begin("team", BTreeSet::from(["u1".into(), "u2".into()]));
        assert!(endings.has("team", "u1") && !endings.has("team", "u3") && !endings.has("other", "u1"));
        endings.forget("team", || false);
        assert!(endings.has("team", "u2"));
        endings.forget("team", || true);
        assert!(!endings.has("team", "u2"));
    }
}

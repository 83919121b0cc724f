//! Which platform change is on its way, by a number that no other change has: a file that is put back says the same as
//! before, and is another change all the same. Pure; [`history`](super::history) keeps it over a restart.

use std::collections::BTreeSet;

use crate::hash::fnv1a;

/// A platform that holds, and the change that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// See [`Platform::revision`](crate::platform::Platform::revision); `None` where this build makes something else of the
    /// same file.
    pub revision: Option<u64>,
    /// The change. Deployments are marked with it.
    pub change: u64,
}

impl Holding {
    /// Of a platform before which none is known. Releases that knew no number of a change marked with this.
    #[must_use]
    pub const fn first(revision: u64) -> Self {
        Self { revision: Some(revision), change: revision }
    }

    /// That platform holds now. The number follows from the former one: a process that dies before it has written it
    /// down, and the next, come to the same.
    fn next(self, revision: u64) -> Self {
        if self.revision == Some(revision) {
            return self;
        }
        let change = fnv1a(format!("{revision:016x} {:016x}", self.change).as_bytes());
        Self { revision: Some(revision), change }
    }
}

/// What another process has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// What held last.
    pub last: Holding,
    /// Revisions of the platforms that held before that.
    pub former: BTreeSet<u64>,
}

/// The present change and where it comes from.
#[derive(Clone, Debug)]
pub struct Lineage {
    revision: u64,
    /// What held last; `None` while nobody knows what another process has left behind, nor will the next one: a change is
    /// then as good as its platform.
    last: Option<Holding>,
    /// Revisions that have been replaced, as far as another process knows: a copy of the platform file that says so is one
    /// that its kubelet has not brought up to date.
    outdated: BTreeSet<u64>,
}

impl Lineage {
    /// That platform holds, and nothing is known of another.
    #[must_use]
    pub const fn new(revision: u64) -> Self {
        Self { revision, last: None, outdated: BTreeSet::new() }
    }

    /// That platform holds.
    pub fn follow(&mut self, revision: u64) {
        self.revision = revision;
        if !self.is_outdated() {
            self.trust();
        }
    }

    /// Another process went before this one and has left that behind, or none did.
    pub fn recall(&mut self, recalled: Option<Recalled>) {
        let first = || Recalled { last: Holding::first(self.revision), former: BTreeSet::new() };
        let Recalled { last, former } = recalled.unwrap_or_else(first);
        self.last = Some(last);
        self.outdated = former;
        self.outdated.retain(|revision| last.revision != Some(*revision));
        self.follow(self.revision);
    }

    /// The platform that holds is meant, whatever another process knew.
    pub fn trust(&mut self) {
        self.outdated.clear();
        self.last = self.last.map(|last| last.next(self.revision));
    }

    /// Whether the platform that holds may be one that has been replaced.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.outdated.contains(&self.revision)
    }

    /// The platform that holds, and its change.
    #[must_use]
    pub fn now(&self) -> Holding {
        self.last.map_or(Holding::first(self.revision), |last| last.next(self.revision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(revision: u64) -> Lineage {
        let mut lineage = Lineage::new(revision);
        lineage.recall(None);
        lineage
    }

    fn change(lineage: &mut Lineage, revision: u64) -> u64 {
        lineage.follow(revision);
        lineage.now().change
    }

    #[test]
    fn a_platform_that_is_back_is_another_change_and_one_that_stays_is_the_same() {
        let mut lineage = beginning(1);
        let first = lineage.now().change;
        let changes = [1, 2, 1, 2].map(|revision| change(&mut lineage, revision));
        assert_eq!(changes[0], first);
        let distinct: BTreeSet<_> = changes.into_iter().collect();
        assert_eq!(distinct.len(), 4, "{changes:x?}");
    }

    #[test]
    fn another_process_comes_to_the_same_number_whether_or_not_it_was_written_down() {
        let mut former = beginning(1);
        let written = former.now();
        let unwritten = change(&mut former, 2);
        for last in [written, former.now()] {
            let mut lineage = Lineage::new(2);
            lineage.recall(Some(Recalled { last, former: BTreeSet::new() }));
            assert_eq!(lineage.now().change, unwritten);
        }
    }

    #[test]
    fn where_nothing_is_written_down_the_platform_is_the_change() {
        let mut lineage = Lineage::new(1);
        assert_eq!([2, 1, 2].map(|revision| change(&mut lineage, revision)), [2, 1, 2]);
    }

    #[test]
    fn another_build_begins_another_change_with_the_same_file() {
        let mut lineage = Lineage::new(1);
        let last = Holding { revision: None, change: 1 };
        lineage.recall(Some(Recalled { last, former: BTreeSet::new() }));
        assert_ne!(lineage.now().change, 1);
        assert!(!lineage.is_outdated());
    }

    #[test]
    fn a_platform_that_was_replaced_is_not_trusted_until_another_comes_or_for_long() {
        let last = Holding { revision: Some(2), change: 7 };
        let recalled = || {
            let mut lineage = Lineage::new(1);
            lineage.recall(Some(Recalled { last, former: [1, 3].into() }));
            assert!(lineage.is_outdated());
            lineage
        };
        let mut lineage = recalled();
        assert_eq!(change(&mut lineage, 2), 7, "the change that was on its way");
        assert!(!lineage.is_outdated());
        lineage.follow(1);
        assert!(!lineage.is_outdated(), "somebody has put it back");

        let mut lineage = recalled();
        lineage.trust();
        assert!(!lineage.is_outdated() && lineage.now().change != 7);
        assert_eq!(lineage.last, Some(lineage.now()));

        let mut lineage = recalled();
        lineage.follow(3);
        assert!(lineage.is_outdated(), "older still");
        lineage.follow(4);
        assert!(!lineage.is_outdated(), "new");
    }
}

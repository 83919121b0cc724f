#![allow(clippy::as_conversions, clippy::cast_possible_truncation, reason = "dice")]

use std::collections::BTreeMap;

use kube::runtime::watcher::Event;

use super::{Store, Versioned};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;

#[derive(Clone)]
struct Item(&'static str, u64);

impl Versioned for Item {
    fn key(&self) -> ObjectKey {
        ObjectKey::new("ns", self.0)
    }
    fn resource_version(&self) -> u64 {
        self.1
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

fn listed(items: &[Item]) -> Store<Item> {
    let store = Store::default();
    relist(&store, items);
    store
}

fn relist(store: &Store<Item>, items: &[Item]) -> Vec<ObjectKey> {
    store.handle(Event::Init);
    for item in items {
        store.handle(Event::InitApply(item.clone()));
    }
    store.handle(Event::InitDone)
}

fn version(store: &Store<Item>, name: &str) -> Option<u64> {
    store.get(&key(name)).map(|item| item.1)
}

#[test]
fn a_list_replaces_everything_at_once() {
    let store = listed(&[Item("a", 1), Item("b", 2)]);
    store.handle(Event::Init);
    store.handle(Event::InitApply(Item("c", 9)));
    assert_eq!(version(&store, "a"), Some(1), "the old copy serves until the list is whole");
    let touched = store.handle(Event::InitDone);
    assert_eq!(touched, [key("a"), key("b"), key("c")]);
    assert_eq!(version(&store, "a"), None);
}

#[test]
fn an_unchanged_object_is_no_news_after_a_list() {
    let store = listed(&[Item("a", 1), Item("b", 2)]);
    assert_eq!(relist(&store, &[Item("a", 1), Item("b", 3)]), [key("b")]);
}

#[test]
fn a_list_puts_no_older_object_over_a_newer_one() {
    let store = listed(&[Item("a", 5), Item("b", 7)]);
    assert_eq!(relist(&store, &[Item("a", 2), Item("b", 8)]), [key("b")]);
    assert_eq!((version(&store, "a"), version(&store, "b")), (Some(5), Some(8)));
    assert_eq!(store.handle(Event::Apply(Item("a", 4))), [], "the watch goes on from the list");
    assert_eq!(store.handle(Event::Apply(Item("a", 6))), [key("a")]);
}

#[test]
fn what_is_newer_than_an_old_list_is_not_taken_for_deleted_and_what_is_gone_goes() {
    // The list is from before `seen` was 5: `made` was not there yet, `old` may have gone any time before that.
    let store = listed(&[Item("seen", 5), Item("made", 6), Item("old", 4)]);
    assert_eq!(relist(&store, &[Item("seen", 3)]), [key("old")]);
    assert_eq!((version(&store, "seen"), version(&store, "made")), (Some(5), Some(6)));
    assert_eq!(store.handle(Event::Delete(Item("made", 9))), [key("made")], "the watch tells of it");
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Objects that come, change and go, each at a version of its own; what is there at each version.
fn history(seed: u64) -> Vec<BTreeMap<&'static str, u64>> {
    let (mut states, mut state, mut dice) = (vec![BTreeMap::new()], BTreeMap::new(), seed);
    for version in 1..=40 {
        dice = fnv1a(&dice.to_be_bytes());
        let name = NAMES[(dice % 4) as usize];
        if (dice >> 8).is_multiple_of(4) {
            state.remove(name);
        } else {
            state.insert(name, version);
        }
        states.push(state.clone());
    }
    states
}

#[test]
fn whatever_version_a_list_is_of_nothing_goes_back_and_the_watch_from_there_ends_in_the_truth() {
    for seed in 0..2_000 {
        let states = history(seed);
        let (known, of_list) =
            ((fnv1a(&[1, seed as u8]) % 41) as usize, (fnv1a(&seed.to_be_bytes()) % 41) as usize);
        let items =
            |version: usize| states[version].iter().map(|(name, at)| Item(name, *at)).collect::<Vec<_>>();
        let store = listed(&items(known));
        relist(&store, &items(of_list));
        let mut newest = states[known].clone();
        let mut goes_on = || {
            for name in NAMES {
                let (now, held) =
                    (version(&store, name).unwrap_or(u64::MAX), newest.entry(name).or_default());
                assert!(now >= *held, "{seed}: {name} went back from {held} to {now}");
                *held = if now == u64::MAX { 0 } else { now };
            }
        };
        goes_on();
        for (at, pair) in states.windows(2).enumerate().skip(of_list) {
            for name in pair[0].keys().filter(|name| !pair[1].contains_key(*name)) {
                store.handle(Event::Delete(Item(name, at as u64 + 1)));
            }
            for (name, version) in pair[1].iter().filter(|(_, version)| **version == at as u64 + 1) {
                store.handle(Event::Apply(Item(name, *version)));
            }
            goes_on();
        }
        let end: Vec<_> = NAMES.into_iter().filter_map(|name| Some((name, version(&store, name)?))).collect();
        assert_eq!(end, states[40].iter().map(|(name, at)| (*name, *at)).collect::<Vec<_>>(), "{seed}");
    }
}

#[test]
fn the_echo_of_our_own_write_is_no_news() {
    let store = listed(&[Item("a", 1)]);
    store.learn(store.ticket(), Item("a", 5));
    assert_eq!(store.handle(Event::Apply(Item("a", 5))), []);
    assert_eq!(store.handle(Event::Apply(Item("a", 4))), [], "an older event came late");
    assert_eq!(store.handle(Event::Apply(Item("a", 6))), [key("a")]);
}

#[test]
fn a_late_reply_does_not_bring_back_a_deleted_object() {
    let store = listed(&[]);
    let ticket = store.ticket();
    store.handle(Event::Apply(Item("a", 5)));
    store.handle(Event::Delete(Item("a", 6)));
    store.learn(ticket, Item("a", 5));
    assert_eq!(version(&store, "a"), None);
}

#[test]
fn a_reply_from_before_a_list_is_dropped() {
    let store = listed(&[]);
    let ticket = store.ticket();
    relist(&store, &[]);
    store.learn(ticket, Item("a", 5));
    assert_eq!(version(&store, "a"), None);
}

#[test]
fn a_deleted_object_is_forgotten_and_its_successor_is_not() {
    let store = listed(&[Item("a", 1), Item("b", 2)]);
    store.forget(&Item("a", 1));
    store.handle(Event::Apply(Item("b", 9)));
    store.forget(&Item("b", 2));
    assert_eq!((version(&store, "a"), version(&store, "b")), (None, Some(9)));
}

#[test]
fn versions_that_are_no_numbers_are_always_news() {
    let store = listed(&[Item("a", 0)]);
    assert_eq!(store.handle(Event::Apply(Item("a", 0))), [key("a")]);
}

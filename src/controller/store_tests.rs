use kube::runtime::watcher::Event;

use super::{Store, Versioned};
use crate::controller::key::ObjectKey;

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

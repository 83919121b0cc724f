use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::WorkQueue;
use crate::controller::key::ObjectKey;
use crate::telemetry::Metrics;

fn queue() -> Arc<WorkQueue> {
    let queue = WorkQueue::new(Metrics::new().unwrap().queue("test"));
    queue.open();
    queue
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

async fn is_idle(queue: &Arc<WorkQueue>) -> bool {
    timeout(Duration::from_millis(1), queue.take()).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_at_most_once() {
    let queue = queue();
    queue.add(key("a"));
    queue.add(key("a"));
    drop(queue.take().await);
    assert!(is_idle(&queue).await);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_not_open_keeps_nothing() {
    let queue = WorkQueue::new(Metrics::new().unwrap().queue("test"));
    for n in 0..100 {
        queue.add(key(&format!("k{n}")));
        queue.add_after(key(&format!("l{n}")), Duration::from_secs(1));
    }
    queue.open();
    assert!(timeout(Duration::from_mins(1), queue.take()).await.is_err());
    queue.add(key("a"));
    assert_eq!(queue.take().await.unwrap().key(), &key("a"));
    queue.close();
    queue.add(key("a"));
    assert!(queue.take().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn keys_are_served_first_in_first_out() {
    let queue = queue();
    for name in ["c", "a", "b"] {
        queue.add(key(name));
    }
    for expected in ["c", "a", "b"] {
        assert_eq!(queue.take().await.unwrap().key().name(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_added_during_its_run_waits_for_the_end_of_it() {
    let queue = queue();
    queue.add(key("a"));
    let run = queue.take().await.unwrap();
    queue.add(key("a"));
    assert!(is_idle(&queue).await, "the same key ran twice at once");
    drop(run);
    assert_eq!(queue.take().await.unwrap().key(), &key("a"));
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_several_delays_counts() {
    let queue = queue();
    queue.add_after(key("a"), Duration::from_mins(1));
    queue.add_after(key("a"), Duration::from_secs(5));
    queue.add_after(key("a"), Duration::from_secs(30));
    let start = Instant::now();
    drop(queue.take().await);
    assert_eq!(start.elapsed().as_secs(), 5);
    assert!(timeout(Duration::from_mins(2), queue.take()).await.is_err(), "a replaced delay still fired");
}

#[tokio::test(start_paused = true)]
async fn an_addition_replaces_a_delay() {
    let queue = queue();
    queue.add_after(key("a"), Duration::from_mins(1));
    queue.add(key("a"));
    drop(queue.take().await);
    assert!(timeout(Duration::from_mins(2), queue.take()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn closing_wakes_every_taker() {
    let queue = queue();
    let takers: Vec<_> = (0..3)
        .map(|_| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.take().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for taker in takers {
        assert!(timeout(Duration::from_secs(1), taker).await.unwrap().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn many_takers_serve_many_keys_and_a_busy_key_starves_nobody() {
    let queue = queue();
    for n in 0..20 {
        queue.add(key(&format!("k{n:02}")));
    }
    let mut runs = std::collections::BTreeMap::<String, u32>::new();
    for _ in 0..200 {
        let run = queue.take().await.unwrap();
        *runs.entry(run.key().name().to_owned()).or_default() += 1;
        queue.add(run.key().clone());
    }
    assert!(runs.values().all(|n| *n == 10), "{runs:?}");
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_run_waits_behind_new_keys_but_not_for_ever() {
    let queue = queue();
    queue.add(key("first"));
    let run = queue.take().await.unwrap();
    queue.add(key("first"));
    queue.add_rest(key("first"));
    drop(run);
    let mut served = Vec::new();
    for seconds in 0..20 {
        queue.add(key(&format!("new{seconds}")));
        tokio::time::advance(Duration::from_secs(1)).await;
        queue.add(key(&format!("more{seconds}")));
        served.push(queue.take().await.unwrap().key().name().to_owned());
    }
    let place = served.iter().position(|name| name == "first");
    assert!(place.is_some_and(|place| place >= 5), "{served:?}");
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_run_waits_for_nobody_on_an_idle_queue() {
    let queue = queue();
    queue.add_rest(key("a"));
    let start = Instant::now();
    assert_eq!(queue.take().await.unwrap().key(), &key("a"));
    assert!(start.elapsed().is_zero() && is_idle(&queue).await);
}

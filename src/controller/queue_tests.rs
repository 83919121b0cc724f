use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Claim, RESERVE, WORKERS, WorkQueue};
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

fn of(namespace: &str, number: usize) -> ObjectKey {
    ObjectKey::new(namespace, &format!("app-{number:03}"))
}

fn flood(queue: &Arc<WorkQueue>, namespace: &str) {
    for number in 0..200 {
        queue.add(of(namespace, number));
    }
}

/// Every run that may begin now.
async fn take_all(queue: &Arc<WorkQueue>) -> Vec<Claim> {
    let mut runs = Vec::new();
    while runs.len() < WORKERS + RESERVE
        && let Ok(run) = timeout(Duration::from_millis(1), queue.take()).await
    {
        runs.extend(run);
    }
    runs
}

#[tokio::test(start_paused = true)]
async fn one_namespace_alone_has_all_workers_and_another_one_the_reserve() {
    let queue = queue();
    flood(&queue, "busy");
    let held = take_all(&queue).await;
    assert_eq!(held.len(), WORKERS);
    for number in 0..2 {
        queue.add(of("quiet", number));
    }
    let others = take_all(&queue).await;
    assert_eq!(others.len(), 1, "the reserve is for those that have none");
    assert_eq!(others[0].key(), &of("quiet", 0), "and those need not wait behind the flood");
    drop(held);
    assert_eq!(queue.take().await.unwrap().key(), &of("busy", WORKERS), "first in, first out again");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_runs_hang_keeps_its_share_and_no_other_waits() {
    let queue = queue();
    flood(&queue, "slow");
    let mut held = take_all(&queue).await;
    for _ in 0..5 {
        tokio::time::advance(Duration::from_secs(20)).await;
        held.clear();
        held = take_all(&queue).await;
        assert_eq!(held.len(), 4, "runs of a namespace that is known to hang");
        flood(&queue, "fast");
        let fast = take_all(&queue).await;
        assert_eq!(fast.len(), WORKERS - held.len(), "all but the share and the reserve");
        assert!(fast.iter().all(|run| run.key().namespace() == "fast"));
        drop(fast);
        while let Ok(Some(run)) = timeout(Duration::from_millis(1), queue.take()).await {
            assert_eq!(run.key().namespace(), "fast");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_runs_hang_no_more_has_all_workers_again() {
    let queue = queue();
    flood(&queue, "slow");
    let held = take_all(&queue).await;
    tokio::time::advance(Duration::from_secs(20)).await;
    drop(held);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(take_all(&queue).await.len(), 4);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(take_all(&queue).await.len(), WORKERS);
}

#[tokio::test(start_paused = true)]
async fn many_namespaces_that_hang_leave_the_reserve_to_others() {
    let queue = queue();
    let names: Vec<_> = (0..20).map(|number| format!("slow-{number}")).collect();
    for namespace in &names {
        queue.add(of(namespace, 0));
        let run = queue.take().await.unwrap();
        tokio::time::advance(Duration::from_secs(2)).await;
        drop(run);
    }
    for namespace in &names {
        flood(&queue, namespace);
    }
    let held = take_all(&queue).await;
    assert_eq!(held.len(), WORKERS);
    for number in 0..RESERVE {
        queue.add(of(&format!("fast-{number}"), 0));
    }
    assert_eq!(take_all(&queue).await.len(), RESERVE);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_wakes_who_waits_for_its_namespace() {
    let queue = queue();
    flood(&queue, "busy");
    let mut held = take_all(&queue).await;
    let waiter = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.take().await.map(|run| run.key().clone()) }
    });
    tokio::task::yield_now().await;
    assert!(!waiter.is_finished());
    held.pop();
    let next = timeout(Duration::from_secs(1), waiter).await.unwrap().unwrap();
    assert_eq!(next, Some(of("busy", WORKERS)));
}

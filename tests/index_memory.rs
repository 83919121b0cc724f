//! What the manager keeps of a pod, in bytes. A process of its own, with the manager's allocator, so that what it grows
//! by is what was kept. `cargo test --test index_memory -- --nocapture` prints the figures.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test stops where its setting fails")]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]
#![cfg(target_os = "linux")]

use kube::runtime::watcher::Event;
use pe_app::controller::egapp::cluster::{PodIndex, PodView};
use pe_app::controller::key::ObjectKey;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Enough for the pages that the allocator takes in advance not to count.
const PODS: usize = 50_000;
const PODS_OF_AN_APP: usize = 100;

/// What a pod may cost.
const LIMIT: usize = 130;

#[test]
fn a_healthy_pod_costs_little_more_than_its_name_also_after_it_has_failed() {
    let index = PodIndex::default();
    let empty = resident();
    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &running())));
    }
    let healthy = per_pod(empty);
    println!("a healthy pod: {healthy} bytes");
    assert!(healthy <= LIMIT, "{healthy} bytes");

    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &crash_looping())));
    }
    println!("a pod in a crash loop: {} bytes", per_pod(empty));
    assert_eq!(index.troubles(&ObjectKey::new("team", "shop-0")).len(), PODS_OF_AN_APP);

    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &running())));
    }
    assert!(index.troubles(&ObjectKey::new("team", "shop-0")).is_empty());
    assert_eq!(index.names(&ObjectKey::new("team", "shop-0")).len(), PODS_OF_AN_APP);
}

fn per_pod(empty: usize) -> usize {
    resident().saturating_sub(empty) / PODS
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn running() -> Value {
    json!({ "ready": true, "started": true, "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } } })
}

fn crash_looping() -> Value {
    json!({
        "restartCount": 3,
        "state": { "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 40s" } },
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
    })
}

fn pod(number: usize, status: &Value) -> PodView {
    let app = format!("shop-{}", number / PODS_OF_AN_APP);
    let mut container = status.clone();
    container["name"] = "app".into();
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("{app}-6d4cf56db6-{number:05x}"), "namespace": "team", "uid": "u",
            "labels": { egapp_api::labels::EGAPP: app, "pod-template-hash": "6d4cf56db6" },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-6d4cf56db6"), "uid": "r",
                "controller": true,
            }],
        },
        "status": { "phase": "Running", "containerStatuses": [container] },
    }))
    .unwrap()
}

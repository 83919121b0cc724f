//! What the manager keeps of a pod, and of somebody's autoscaler, in bytes. A process of its own, with the manager's allocator, so that what it grows
//! by is what was kept. `cargo test --test index_memory -- --nocapture` prints the figures.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test stops where its setting fails")]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]
#![cfg(target_os = "linux")]

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher::Event;
use pe_app::controller::egapp::cluster::{Caches, Live, PodIndex, PodView, Target, View};
use pe_app::controller::key::ObjectKey;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Enough for the pages that the allocator takes in advance not to count.
const PODS: usize = 50_000;
const PODS_OF_AN_APP: usize = 100;

/// What a pod may cost.
const LIMIT: usize = 130;

const AUTOSCALERS: usize = 20_000;

/// What an autoscaler may cost that is not the operator's.
const AUTOSCALER_LIMIT: usize = 800;

#[test]
fn what_is_kept_is_small() {
    // One after the other, and held: what one frees would serve the next.
    let _held = somebody_elses_autoscaler_costs_its_name_and_its_target();
    a_healthy_pod_costs_little_more_than_its_name_also_after_it_has_failed();
}

fn somebody_elses_autoscaler_costs_its_name_and_its_target() -> Caches {
    let (caches, empty) = (Caches::default(), resident());
    for number in 0..AUTOSCALERS {
        let view = autoscaler(number);
        caches.aims.handle(Event::Apply(view.aim()));
        caches.autoscalers.handle(Event::Apply(Live::from(view)));
    }
    let each = resident().saturating_sub(empty) / AUTOSCALERS;
    println!("a foreign autoscaler: {each} bytes");
    assert!(each <= AUTOSCALER_LIMIT, "{each} bytes");
    assert_eq!(caches.aims.of(Target::Deployment, &ObjectKey::new("team", "shop-7")), ["shop-7".into()]);
    caches
}

fn autoscaler(number: usize) -> View<HorizontalPodAutoscaler> {
    let name = format!("shop-{number}");
    serde_json::from_value(json!({
        "metadata": { "namespace": "team", "name": name, "uid": format!("{number:036}"), "resourceVersion": "1" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name },
            "minReplicas": 2, "maxReplicas": 9,
        },
        "status": { "currentReplicas": 2, "desiredReplicas": 2, "conditions": [] },
    }))
    .unwrap()
}

fn a_healthy_pod_costs_little_more_than_its_name_also_after_it_has_failed() {
    let (index, now) = (PodIndex::default(), Timestamp::now());
    let empty = resident();
    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &running())), now);
    }
    let healthy = per_pod(empty);
    println!("a healthy pod: {healthy} bytes");
    assert!(healthy <= LIMIT, "{healthy} bytes");

    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &crash_looping())), now);
    }
    println!("a pod in a crash loop: {} bytes", per_pod(empty));
    assert_eq!(index.troubles(&ObjectKey::new("team", "shop-0")).len(), PODS_OF_AN_APP);

    for number in 0..PODS {
        index.handle(Event::Apply(pod(number, &running())), now);
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
        "spec": { "containers": [{ "name": "app", "image": "registry.example.com/team/shop:1", "resources": {
            "requests": { "cpu": "250m", "memory": "256Mi" }, "limits": { "memory": "256Mi" },
        } }] },
        "status": { "phase": "Running", "containerStatuses": [container] },
    }))
    .unwrap()
}

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{PodIndex, PodView};
use crate::controller::key::ObjectKey;
use egapp_api::labels;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn app(name: &str) -> ObjectKey {
    ObjectKey::new("team", name)
}

fn pod_json(app: &str, name: &str) -> Value {
    json!({
        "metadata": {
            "namespace": "team", "name": name,
            "labels": { labels::EGAPP: app, "pod-template-hash": "5f6" },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-5f6"), "uid": "u", "controller": true
            }],
            "managedFields": [{ "manager": "kubelet" }],
        },
        "status": { "phase": "Running" },
    })
}

fn decode(pod: Value) -> PodView {
    serde_json::from_value(pod).unwrap()
}

fn pod(app: &str, name: &str) -> PodView {
    decode(pod_json(app, name))
}

fn names(index: &PodIndex, of: &str) -> Vec<String> {
    index.names(&app(of)).iter().map(ToString::to_string).collect()
}

#[test]
fn names_are_sorted_and_only_a_change_of_the_set_is_news() {
    let index = PodIndex::default();
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-b")), now()), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a")), now()), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a")), now()), [], "a status change is no news");
    assert_eq!(names(&index, "web"), ["web-5f6-a", "web-5f6-b"]);
}

#[test]
fn terminating_finished_and_deleted_pods_are_dropped_at_once() {
    let index = PodIndex::default();
    for name in ["web-a", "web-b", "web-c"] {
        index.handle(Event::Apply(pod("web", name)), now());
    }
    let mut terminating = pod_json("web", "web-a");
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut finished = pod_json("web", "web-b");
    finished["status"]["phase"] = json!("Failed");
    assert_eq!(index.handle(Event::Apply(decode(terminating.clone())), now()), [app("web")]);
    assert_eq!(index.handle(Event::Apply(decode(terminating)), now()), [], "told once");
    assert_eq!(index.handle(Event::Apply(decode(finished)), now()), [app("web")]);
    assert_eq!(index.handle(Event::Delete(pod("web", "web-c")), now()), [app("web")]);
    assert!(names(&index, "web").is_empty());
}

#[test]
fn copied_labels_make_no_pod_an_apps() {
    let index = PodIndex::default();
    let mut bare = pod_json("web", "bare");
    bare["metadata"]["ownerReferences"] = json!([]);
    let mut of_another = pod_json("web", "other-5f6-x");
    of_another["metadata"]["ownerReferences"][0]["name"] = json!("other-5f6");
    let mut of_a_job = pod_json("web", "job-x");
    of_a_job["metadata"]["ownerReferences"][0]["kind"] = json!("Job");
    for stranger in [bare, of_another, of_a_job] {
        assert_eq!(index.handle(Event::Apply(decode(stranger.clone())), now()), [], "{stranger}");
    }
}

#[test]
fn a_pod_whose_label_is_changed_by_hand_leaves_its_app() {
    let index = PodIndex::default();
    index.handle(Event::Apply(pod("web", "web-5f6-a")), now());
    let mut moved = pod_json("web", "web-5f6-a");
    moved["metadata"]["labels"][labels::EGAPP] = json!("debug");
    assert_eq!(index.handle(Event::Apply(decode(moved)), now()), [app("web")]);
    assert!(names(&index, "web").is_empty() && names(&index, "debug").is_empty());
}

#[test]
fn a_list_tells_which_apps_gained_or_lost_pods_meanwhile() {
    let index = PodIndex::default();
    for (app, name) in [("gone", "gone-a"), ("same", "same-a"), ("grown", "grown-a")] {
        index.handle(Event::Apply(pod(app, name)), now());
    }
    index.handle(Event::Init, now());
    for (app, name) in [("same", "same-a"), ("grown", "grown-a"), ("grown", "grown-b")] {
        index.handle(Event::InitApply(pod(app, name)), now());
    }
    assert_eq!(names(&index, "gone"), ["gone-a"], "the old set serves until the list is whole");
    assert_eq!(index.handle(Event::InitDone, now()), [app("grown"), app("gone")]);
    assert!(names(&index, "gone").is_empty());
}

fn failing(name: &str, message: &str) -> PodView {
    let mut pod = pod_json("web", name);
    let waiting = json!({ "waiting": { "reason": "CreateContainerConfigError", "message": message } });
    pod["status"]["containerStatuses"] = json!([{ "name": "app", "state": waiting }]);
    decode(pod)
}

#[test]
fn a_trouble_is_news_when_it_comes_changes_and_goes_and_not_in_between() {
    let index = PodIndex::default();
    let troubles = || -> Vec<String> {
        index.troubles(&app("web")).iter().map(|trouble| trouble.message.to_string()).collect()
    };
    index.handle(Event::Apply(pod("web", "web-5f6-a")), now());
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no secret")), now()), [app("web")]);
    assert_eq!(troubles(), ["container app cannot be made: no secret"]);
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no secret")), now()), [], "told once");
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no key")), now()), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a")), now()), [app("web")]);
    assert!(troubles().is_empty());
}

#[test]
fn a_list_tells_of_troubles_that_came_or_went_meanwhile() {
    let index = PodIndex::default();
    index.handle(Event::Apply(failing("web-5f6-a", "no secret")), now());
    for (event, expected) in [
        (failing("web-5f6-a", "no secret"), vec![]),
        (pod("web", "web-5f6-a"), vec![app("web")]),
        (failing("web-5f6-a", "no secret"), vec![app("web")]),
    ] {
        index.handle(Event::Init, now());
        index.handle(Event::InitApply(event), now());
        assert_eq!(index.handle(Event::InitDone, now()), expected);
    }
}

/// A pod that its node has evicted, made that many minutes ago.
fn evicted(name: &str, minutes: i64) -> PodView {
    let mut pod = pod_json("web", name);
    pod["metadata"]["creationTimestamp"] = json!((now() - SignedDuration::from_mins(minutes)).to_string());
    pod["status"] = json!({ "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. " });
    decode(pod)
}

#[test]
fn the_youngest_of_the_pods_that_nodes_have_ended_trouble_the_app_and_no_name_tells_of_them() {
    let index = PodIndex::default();
    index.handle(Event::Apply(pod("web", "web-5f6-a")), now());
    let troubles = || index.troubles(&app("web")).len();
    assert_eq!(index.handle(Event::Apply(evicted("web-5f6-a", 3)), now()), [app("web")]);
    assert_eq!(index.handle(Event::Apply(evicted("web-5f6-a", 3)), now()), [], "told once");
    assert_eq!(
        index.handle(Event::Apply(evicted("web-5f6-old", 300)), now()),
        [],
        "what is left of a pod stays"
    );
    assert!(names(&index, "web").is_empty() && troubles() == 1);
    for number in 4..200 {
        index.handle(Event::Apply(evicted(&format!("web-5f6-{number}"), number % 29)), now());
    }
    assert_eq!(troubles(), 4, "however many are left");
    let before = index.troubles(&app("web"));
    index.handle(Event::Init, now());
    for number in 4..200 {
        index.handle(Event::InitApply(evicted(&format!("web-5f6-{number}"), number % 29)), now());
    }
    assert_eq!((index.handle(Event::InitDone, now()), index.troubles(&app("web"))), (vec![], before));
    for number in 4..200 {
        index.handle(Event::Delete(evicted(&format!("web-5f6-{number}"), 1)), now());
    }
    assert_eq!(troubles(), 0);
}

#[test]
fn what_pods_were_given_is_held_once_and_told_by_template() {
    let index = PodIndex::default();
    let given = |name: &str, cpu: &str| {
        let mut pod = pod_json("web", name);
        pod["spec"] = json!({ "containers": [{ "name": "app", "resources": { "limits": { "cpu": cpu } } }] });
        decode(pod)
    };
    for name in ["web-5f6-a", "web-5f6-b", "web-5f6-c"] {
        index.handle(Event::Apply(given(name, "1")), now());
    }
    let made = index.made(&app("web"));
    assert_eq!((made.len(), &*made[0].template, made[0].resources.limits["cpu"].as_str()), (1, "5f6", "1"));
    assert_eq!(index.handle(Event::Apply(given("web-5f6-b", "2")), now()), [app("web")]);
    let limits =
        index.made(&app("web")).iter().map(|made| made.resources.limits["cpu"].clone()).collect::<Vec<_>>();
    assert_eq!(limits, ["1", "2", "1"]);
}

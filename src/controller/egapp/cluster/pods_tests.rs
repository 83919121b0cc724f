use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{PodIndex, PodView};
use crate::controller::key::ObjectKey;
use egapp_api::labels;

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
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-b"))), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a"))), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a"))), [], "a status change is no news");
    assert_eq!(names(&index, "web"), ["web-5f6-a", "web-5f6-b"]);
}

#[test]
fn terminating_finished_and_deleted_pods_are_dropped_at_once() {
    let index = PodIndex::default();
    for name in ["web-a", "web-b", "web-c"] {
        index.handle(Event::Apply(pod("web", name)));
    }
    let mut terminating = pod_json("web", "web-a");
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut finished = pod_json("web", "web-b");
    finished["status"]["phase"] = json!("Failed");
    assert_eq!(index.handle(Event::Apply(decode(terminating.clone()))), [app("web")]);
    assert_eq!(index.handle(Event::Apply(decode(terminating))), [], "told once");
    assert_eq!(index.handle(Event::Apply(decode(finished))), [app("web")]);
    assert_eq!(index.handle(Event::Delete(pod("web", "web-c"))), [app("web")]);
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
        assert_eq!(index.handle(Event::Apply(decode(stranger.clone()))), [], "{stranger}");
    }
}

#[test]
fn a_pod_whose_label_is_changed_by_hand_leaves_its_app() {
    let index = PodIndex::default();
    index.handle(Event::Apply(pod("web", "web-5f6-a")));
    let mut moved = pod_json("web", "web-5f6-a");
    moved["metadata"]["labels"][labels::EGAPP] = json!("debug");
    assert_eq!(index.handle(Event::Apply(decode(moved))), [app("web")]);
    assert!(names(&index, "web").is_empty() && names(&index, "debug").is_empty());
}

#[test]
fn a_list_tells_which_apps_gained_or_lost_pods_meanwhile() {
    let index = PodIndex::default();
    for (app, name) in [("gone", "gone-a"), ("same", "same-a"), ("grown", "grown-a")] {
        index.handle(Event::Apply(pod(app, name)));
    }
    index.handle(Event::Init);
    for (app, name) in [("same", "same-a"), ("grown", "grown-a"), ("grown", "grown-b")] {
        index.handle(Event::InitApply(pod(app, name)));
    }
    assert_eq!(names(&index, "gone"), ["gone-a"], "the old set serves until the list is whole");
    assert_eq!(index.handle(Event::InitDone), [app("grown"), app("gone")]);
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
    index.handle(Event::Apply(pod("web", "web-5f6-a")));
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no secret"))), [app("web")]);
    assert_eq!(troubles(), ["container app cannot be made: no secret"]);
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no secret"))), [], "told once");
    assert_eq!(index.handle(Event::Apply(failing("web-5f6-a", "no key"))), [app("web")]);
    assert_eq!(index.handle(Event::Apply(pod("web", "web-5f6-a"))), [app("web")]);
    assert!(troubles().is_empty());
}

#[test]
fn a_list_tells_of_troubles_that_came_or_went_meanwhile() {
    let index = PodIndex::default();
    index.handle(Event::Apply(failing("web-5f6-a", "no secret")));
    for (event, expected) in [
        (failing("web-5f6-a", "no secret"), vec![]),
        (pod("web", "web-5f6-a"), vec![app("web")]),
        (failing("web-5f6-a", "no secret"), vec![app("web")]),
    ] {
        index.handle(Event::Init);
        index.handle(Event::InitApply(event));
        assert_eq!(index.handle(Event::InitDone), expected);
    }
}

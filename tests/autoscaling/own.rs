//! `spec.autoscaling`: on, within its bounds, stopped, and off again.

use serde_json::json;

use crate::support::App;
use crate::support::app::{condition, reason};
use crate::support::operator::requests_when_quiet;
use crate::{Counts, bounded, cluster, ready_with, small, until_autoscalers};

#[tokio::test]
async fn switched_on_it_takes_the_replicas_as_they_are_and_off_it_gives_them_back() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &small(5)).await;
    let counts = Counts::begin(&app).await;
    app.patch(&json!({ "spec": { "autoscaling": { "minReplicas": 2, "maxReplicas": 10 } } })).await;
    until_autoscalers(&app, &["web"]).await;
    let message = ready_with(&app, 5).await;
    assert!(message.ends_with("HorizontalPodAutoscaler web decides how many there are"), "{message}");
    let autoscaler = app.object("horizontalpodautoscaler").await.unwrap();
    assert_eq!(autoscaler["spec"]["metrics"][0]["containerResource"]["target"]["averageUtilization"], 80);
    assert_eq!(autoscaler["metadata"]["ownerReferences"][0]["kind"], "EGApp");

    // As the autoscaler itself does it.
    app.kubectl(&["scale", "deployment", "web", "--replicas=7"]).await;
    ready_with(&app, 7).await;
    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:2" } })).await;
    ready_with(&app, 7).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).writes();
    assert_eq!(
        writes.clone().resource("deployments").count(),
        1,
        "nothing is handed over twice: {writes:#?}"
    );
    assert_eq!(writes.resource("horizontalpodautoscalers").count(), 0);
    counts.were(&[5, 7]).await;

    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    until_autoscalers(&app, &[]).await;
    ready_with(&app, 5).await;
    counts.were(&[5, 7, 5]).await;
    let scaled: Vec<_> = app.events().await.into_iter().filter(|event| event["reason"] == "Scaled").collect();
    let notes: Vec<_> = scaled.iter().map(|event| event["note"].as_str().unwrap()).collect();
    assert_eq!(notes, ["replicas 7 → 5"]);
}

#[tokio::test]
async fn a_new_app_starts_within_the_bounds_and_follows_them() {
    let app = App::named(cluster().await, "web").await;
    let counts = Counts::begin(&app).await;
    app.apply(&bounded(1, 3, 10)).await;
    ready_with(&app, 3).await;
    until_autoscalers(&app, &["web"]).await;
    app.patch(&json!({ "spec": { "autoscaling": { "minReplicas": 1, "maxReplicas": 2 } } })).await;
    ready_with(&app, 2).await;
    app.patch(&json!({ "spec": { "autoscaling": { "minReplicas": 4, "maxReplicas": 4 } } })).await;
    ready_with(&app, 4).await;
    // With a file's number, again and again, nothing happens.
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.patch(&json!({ "spec": { "replicaCount": 20 } })).await;
    ready_with(&app, 4).await;
    counts.were(&[3, 2, 4]).await;
}

#[tokio::test]
async fn zero_stops_it_and_any_other_number_lets_it_go_on() {
    let app = App::named(cluster().await, "web").await;
    let counts = Counts::begin(&app).await;
    app.apply(&bounded(1, 2, 5)).await;
    ready_with(&app, 2).await;
    until_autoscalers(&app, &["web"]).await;
    app.patch(&json!({ "spec": { "replicaCount": 0 } })).await;
    app.until("it is stopped", |app| reason(app) == "ScaledToZero").await;
    until_autoscalers(&app, &[]).await;
    app.patch(&json!({ "spec": { "replicaCount": 3 } })).await;
    ready_with(&app, 3).await;
    until_autoscalers(&app, &["web"]).await;
    counts.were(&[2, 0, 3]).await;
}

#[tokio::test]
async fn a_zero_that_somebody_else_sets_stays_and_is_told() {
    let app = App::ready(cluster().await, "web", &bounded(1, 2, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    app.kubectl(&["scale", "deployment", "web", "--replicas=0"]).await;
    let now = app.until("it is told", |app| reason(app) == "ScaledToZero").await;
    let message = condition(&now, "Ready")["message"].as_str().unwrap();
    assert!(message.ends_with("web does nothing until somebody sets another number"), "{message}");
    app.kubectl(&["scale", "deployment", "web", "--replicas=3"]).await;
    ready_with(&app, 3).await;
}

#[tokio::test]
async fn a_deployment_that_somebody_deletes_starts_again_and_is_told_as_repaired() {
    let app = App::ready(cluster().await, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let uid = app.deployment().await["metadata"]["uid"].clone();
    let counts = Counts::begin(&app).await;
    app.kubectl(&["delete", "deployment", "web"]).await;
    app.until_deployment("there is another", |live| live["metadata"]["uid"] != uid).await;
    ready_with(&app, 3).await;
    counts.were(&[3]).await;
    let told: Vec<_> = app.events().await.iter().map(|event| event["reason"].clone()).collect();
    assert!(told.contains(&json!("Repaired")), "{told:?}");
    assert_eq!(told.iter().filter(|reason| **reason == "Created").count(), 1, "{told:?}");
}

#[tokio::test]
async fn what_others_say_of_its_behaviour_stays() {
    let app = App::ready(cluster().await, "web", &bounded(2, 2, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let calm = json!({ "spec": {
        "behavior": { "scaleDown": { "stabilizationWindowSeconds": 600 } },
        "minReplicas": 1, "maxReplicas": 9, "scaleTargetRef": { "name": "other" },
        "metrics": [{ "type": "Resource", "resource": { "name": "memory", "target": { "type": "Utilization", "averageUtilization": 5 } } }],
    } });
    app.kubectl(&["patch", "horizontalpodautoscaler", "web", "--type=merge", "-p", &calm.to_string()]).await;
    crate::support::eventually("ours is put right", async || {
        let spec = app.object("horizontalpodautoscaler").await.unwrap()["spec"].clone();
        let is_right =
            spec["maxReplicas"] == 5 && spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 600;
        crate::support::holds(is_right, || spec.to_string())
    })
    .await;
}

//! Autoscalers that should not be there, and are: no apply of ours names a number beside them.

use serde_json::{Value, json};

use crate::support::app::{condition, reason};
use crate::support::policy::{refusing, until_history_limit_is, until_refused, weakening};
use crate::support::{App, eventually, holds};
use crate::{Counts, bounded, cluster, ready_with, small, until_autoscalers};

async fn patch(app: &App<'_>, kind: &str, patch: &Value) {
    app.kubectl(&["patch", kind, "web", "--type=merge", "-p", &patch.to_string()]).await;
}

async fn until_image(app: &App<'_>, image: &str) {
    let container = |live: &Value| live["spec"]["template"]["spec"]["containers"][0].clone();
    app.until_deployment("the image", |live| container(live)["image"] == image).await;
}

#[tokio::test]
async fn one_that_a_former_egapp_left_decides_until_it_is_asked_for_or_gone() {
    let app = App::ready(cluster().await, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let counts = Counts::begin(&app).await;
    app.kubectl(&["delete", "egapp", "web", "--cascade=orphan"]).await;
    app.apply(&small(1)).await;
    let message = ready_with(&app, 3).await;
    assert!(message.ends_with("HorizontalPodAutoscaler web decides how many there are"), "{message}");

    app.patch(&json!({ "spec": { "autoscaling": { "minReplicas": 2, "maxReplicas": 4 } } })).await;
    let uid = app.get().await["metadata"]["uid"].clone();
    eventually("it is taken over", async || {
        let autoscaler = app.object("horizontalpodautoscaler").await.unwrap();
        let is_ours = autoscaler["metadata"]["ownerReferences"][0]["uid"] == uid;
        holds(is_ours && autoscaler["spec"]["maxReplicas"] == 4, || autoscaler.to_string())
    })
    .await;
    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    ready_with(&app, 1).await;
    until_autoscalers(&app, &[]).await;
    counts.were(&[3, 1]).await;
}

#[tokio::test]
async fn one_that_a_finalizer_holds_keeps_the_replicas_and_nothing_else_waits_for_it() {
    let app = App::ready(cluster().await, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let counts = Counts::begin(&app).await;
    patch(&app, "horizontalpodautoscaler", &json!({ "metadata": { "finalizers": ["example.com/hold"] } }))
        .await;
    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    let waits = "waiting for the former HorizontalPodAutoscaler of this name to be gone";
    app.until("it waits", |app| condition(app, "Ready")["message"] == waits).await;
    let image = "registry.example.com/team/web:2";
    app.patch(&json!({ "spec": { "image": image } })).await;
    until_image(&app, image).await;
    app.kubectl(&["scale", "deployment", "web", "--replicas=4"]).await;
    app.until("it is as the autoscaler would have it", |app| app["status"]["readyReplicas"] == 4).await;
    patch(&app, "horizontalpodautoscaler", &json!({ "metadata": { "finalizers": null } })).await;
    ready_with(&app, 1).await;
    counts.were(&[3, 4, 1]).await;
}

#[tokio::test]
async fn one_that_may_not_be_deleted_keeps_the_replicas_and_stops_nothing_else() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let counts = Counts::begin(&app).await;
    let policy = refusing(&app.namespace, "DELETE", ("autoscaling", "v2"), "horizontalpodautoscalers");
    cluster.apply(&policy).await.unwrap();
    until_refused(&app, true, &["delete", "horizontalpodautoscaler", "web", "--dry-run=server"]).await;
    let image = "registry.example.com/team/web:2";
    app.patch(&json!({ "spec": { "autoscaling": null, "image": image } })).await;
    let told = app.until("it is told", |app| reason(app) == "AdmissionDenied").await;
    let message = condition(&told, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("HorizontalPodAutoscaler") && message.contains("nothing new"), "{message}");
    until_image(&app, image).await;
    cluster.kubectl(["delete", "validatingadmissionpolicybinding", &app.namespace]).await.unwrap();
    ready_with(&app, 1).await;
    until_autoscalers(&app, &[]).await;
    counts.were(&[3, 1]).await;
}

#[tokio::test]
async fn one_goes_with_a_deployment_that_is_somebody_elses() {
    let app = App::ready(cluster().await, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "controller": true, "uid": "",
    });
    app.kubectl(&["create", "configmap", "theirs"]).await;
    let maps = app.items("configmaps").await;
    let theirs = maps.iter().find(|map| map["metadata"]["name"] == "theirs").unwrap();
    let mut owner = owner;
    owner["uid"] = theirs["metadata"]["uid"].clone();
    patch(&app, "deployment", &json!({ "metadata": { "ownerReferences": [owner] } })).await;
    app.until("it is told", |app| reason(app) == "NameConflict").await;
    until_autoscalers(&app, &[]).await;
}

#[tokio::test]
async fn its_bounds_follow_also_where_the_deployment_is_never_as_it_should_be() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &bounded(1, 3, 5)).await;
    until_autoscalers(&app, &["web"]).await;
    cluster.apply(&weakening(&app.namespace)).await.unwrap();
    until_history_limit_is(&app, "1").await;
    app.patch(&json!({ "spec": {
        "image": "registry.example.com/team/web:2", "autoscaling": { "minReplicas": 4, "maxReplicas": 9 },
    } }))
    .await;
    app.until("it is told", |app| reason(app) == "Overridden").await;
    app.until("the bounds are followed", |app| app["status"]["readyReplicas"] == 4).await;
    cluster.kubectl(["delete", "mutatingadmissionpolicybinding", &app.namespace]).await.unwrap();
}

//! Autoscalers that somebody else makes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::App;
use crate::support::app::condition;
use crate::support::operator::requests_when_quiet;
use crate::{Counts, cluster, ready_with, small, until_autoscalers};

#[tokio::test]
async fn somebody_elses_autoscaler_of_the_deployment_is_given_way_to_and_named() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &small(1)).await;
    let counts = Counts::begin(&app).await;
    app.kubectl(&["autoscale", "deployment", "web", "--name=theirs", "--min=3", "--max=5"]).await;
    let message = ready_with(&app, 3).await;
    assert!(message.ends_with("HorizontalPodAutoscaler theirs decides how many there are"), "{message}");
    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "autoscaling": { "maxReplicas": 4 } } })).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).writes();
    assert_eq!(writes.resource("horizontalpodautoscalers").count(), 0, "two would switch each other off");
    until_autoscalers(&app, &["theirs"]).await;
    app.kubectl(&["delete", "horizontalpodautoscaler", "theirs"]).await;
    until_autoscalers(&app, &["web"]).await;
    ready_with(&app, 3).await;
    counts.were(&[1, 3]).await;
    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    ready_with(&app, 1).await;
    counts.were(&[1, 3, 1]).await;
}

#[tokio::test]
async fn without_one_any_more_the_replicas_are_the_operators_again() {
    let app = App::ready(cluster().await, "web", &small(1)).await;
    let counts = Counts::begin(&app).await;
    app.kubectl(&["autoscale", "deployment", "web", "--min=2", "--max=5"]).await;
    let message = ready_with(&app, 2).await;
    assert!(message.contains("HorizontalPodAutoscaler web decides"), "one of the app's own name: {message}");
    app.kubectl(&["delete", "horizontalpodautoscaler", "web"]).await;
    ready_with(&app, 1).await;
    counts.were(&[1, 2, 1]).await;
}

#[tokio::test]
async fn one_that_is_replaced_leaves_the_replicas_as_they_are_and_one_that_stays_away_gives_them_back() {
    let app = App::ready(cluster().await, "web", &small(1)).await;
    let counts = Counts::begin(&app).await;
    let says = async |end: &str| {
        app.until(end, |app| {
            let ready = condition(app, "Ready");
            ready["status"] == "True" && ready["message"].as_str().is_some_and(|text| text.ends_with(end))
        })
        .await
    };
    app.kubectl(&["autoscale", "deployment", "web", "--name=theirs", "--min=3", "--max=9"]).await;
    ready_with(&app, 3).await;
    // As the autoscaler itself does it.
    app.kubectl(&["scale", "deployment", "web", "--replicas=6"]).await;
    ready_with(&app, 6).await;
    app.kubectl(&["delete", "horizontalpodautoscaler", "theirs"]).await;
    says("is gone: unless another one comes, spec.replicaCount counts within half a minute").await;
    app.kubectl(&["autoscale", "deployment", "web", "--name=renamed", "--min=3", "--max=9"]).await;
    says("HorizontalPodAutoscaler renamed decides how many there are").await;
    app.kubectl(&["delete", "horizontalpodautoscaler", "renamed"]).await;
    let gone = Instant::now();
    ready_with(&app, 1).await;
    assert!(gone.elapsed() > Duration::from_secs(25), "{:?}", gone.elapsed());
    counts.were(&[1, 3, 6, 1]).await;
}

#[tokio::test]
async fn an_autoscaler_of_the_egapp_itself_works_and_nobody_fights() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &small(1)).await;
    let counts = Counts::begin(&app).await;
    app.kubectl(&["autoscale", "egapp", "web", "--min=3", "--max=5"]).await;
    ready_with(&app, 3).await;
    assert_eq!(app.get().await["spec"]["replicaCount"], 3);
    let mark = cluster.audit_mark().unwrap();
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
    counts.were(&[1, 3]).await;

    app.patch(&json!({ "spec": { "autoscaling": { "minReplicas": 2, "maxReplicas": 9 } } })).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).writes();
    assert_eq!(writes.resource("horizontalpodautoscalers").count(), 0, "two would switch each other off");
    let message = ready_with(&app, 3).await;
    let words =
        "HorizontalPodAutoscaler web decides how many there are; spec.autoscaling has no effect beside it";
    assert!(message.ends_with(words), "{message}");
    app.kubectl(&["delete", "horizontalpodautoscaler", "web"]).await;
    until_autoscalers(&app, &["web"]).await;
    let autoscaler = app.object("horizontalpodautoscaler").await.unwrap();
    assert_eq!(autoscaler["spec"]["scaleTargetRef"]["kind"], "Deployment");
    ready_with(&app, 3).await;
    app.kubectl(&["autoscale", "egapp", "web", "--name=theirs", "--min=3", "--max=5"]).await;
    until_autoscalers(&app, &["theirs"]).await;
    counts.were(&[1, 3]).await;
}

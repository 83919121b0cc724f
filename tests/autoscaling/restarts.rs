//! A manager that ends at each step on the way to an autoscaler and back.

use std::time::Duration;

use serde_json::json;

use crate::support::app::condition;
use crate::support::operator::{identity, install, requests_when_quiet};
use crate::support::{App, Operator, full_with_crd};
use crate::{Counts, bounded, ready_with, small, until_autoscalers};
use cluster::Cluster;

async fn manager(cluster: &Cluster, name: &str) -> Operator {
    let operator = Operator::start_with(cluster, name, &identity(), |command| {
        command.arg("--leader-elect=false");
    })
    .await;
    operator.ready().await;
    operator
}

#[tokio::test]
async fn an_app_whose_former_deployment_does_not_go_is_not_looked_at_without_end() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = manager(&cluster, "manager").await;
    let app = App::ready(&cluster, "web", &bounded(1, 2, 5)).await;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    app.kubectl(&["patch", "deployment", "web", "--type=merge", "-p", &hold.to_string()]).await;
    app.kubectl(&["delete", "deployment", "web", "--wait=false"]).await;
    let waits = "waiting for the former Deployment of this name to be gone";
    app.until("it waits", |app| condition(app, "Ready")["message"] == waits).await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    let passes =
        || operator.metric("controller_runtime_reconcile_time_seconds_count{controller=\"egapp\"}").unwrap();
    let before = passes();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(passes() - before < 10.0, "{before} and then {}", passes());
    let free = json!({ "metadata": { "finalizers": null } });
    app.kubectl(&["patch", "deployment", "web", "--type=merge", "-p", &free.to_string()]).await;
    ready_with(&app, 2).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_manager_that_ends_at_any_step_leaves_the_replicas_as_they_are() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = manager(&cluster, "manager-1").await;
    let app = App::ready(&cluster, "web", &small(5)).await;
    let counts = Counts::begin(&app).await;
    drop(operator);

    // The first step was done: somebody else owns the replicas as well.
    let uid = app.deployment().await["metadata"]["uid"].clone();
    let handed_over = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": app.namespace, "uid": uid }, "spec": { "replicas": 5 },
    });
    let apply = ["apply", "--server-side", "--field-manager=egapp-handover", "-f", "-"];
    cluster.admin().run_with_input(apply, &handed_over.to_string()).await.unwrap();
    app.apply(&bounded(5, 2, 10)).await;
    let operator = manager(&cluster, "manager-2").await;
    until_autoscalers(&app, &["web"]).await;
    ready_with(&app, 5).await;
    drop(operator);

    // The second was done, and the last was not.
    app.kubectl(&["delete", "horizontalpodautoscaler", "web"]).await;
    let operator = manager(&cluster, "manager-3").await;
    until_autoscalers(&app, &["web"]).await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    drop(operator);

    // All was done: a restart writes nothing.
    app.kubectl(&["scale", "deployment", "web", "--replicas=6"]).await;
    let mark = cluster.audit_mark().unwrap();
    let operator = manager(&cluster, "manager-4").await;
    ready_with(&app, 6).await;
    let writes =
        requests_when_quiet(&cluster, mark).await.writes().filter(|event| event.subresource != "status");
    assert_eq!(writes.count(), 0, "{writes:#?}");

    // Off: the autoscaler was deleted, and the Deployment not yet applied.
    drop(operator);
    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    app.kubectl(&["delete", "horizontalpodautoscaler", "web"]).await;
    let mark = cluster.audit_mark().unwrap();
    let operator = manager(&cluster, "manager-5").await;
    ready_with(&app, 5).await;
    counts.were(&[5, 6, 5]).await;
    // What it had listed a moment before was not gone by alone.
    let asked = requests_when_quiet(&cluster, mark).await;
    assert_eq!(asked.clone().resource("egapps").verb("get").count(), 1, "{asked:#?}");
    assert_eq!(asked.resource("horizontalpodautoscalers").verb("list").count(), 1);
    operator.stop().await;
}

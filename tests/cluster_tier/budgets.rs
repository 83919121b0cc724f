//! Somebody else's PodDisruptionBudget over an app's pods: Kubernetes evicts no pod that two of them select, so the
//! operator's own steps back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster;
use crate::support::app::{condition, with_image};
use crate::support::operator::{requests, requests_when_quiet};
use crate::support::{App, eventually, holds};

fn in_prod() -> Value {
    let mut spec = with_image(2);
    spec["environment"] = json!("prod");
    spec
}

async fn make(app: &App<'_>, name: &str, selector: &Value) {
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": app.namespace },
        "spec": { "maxUnavailable": 1, "selector": selector },
    });
    app.cluster.apply(&budget.to_string()).await.unwrap();
}

async fn until_budgets(app: &App<'_>, names: &[&str]) {
    eventually("the budgets", async || {
        let all = app.items("poddisruptionbudgets").await;
        let found: Vec<_> = all.iter().map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
        holds(found == names, || format!("{found:?}, not {names:?}"))
    })
    .await;
}

async fn until_told(app: &App<'_>, words: &str) {
    app.until("it is told", |app| {
        let ready = condition(app, "Ready");
        ready["status"] == "True" && ready["message"].as_str().unwrap_or_default().ends_with(words)
    })
    .await;
}

/// Evicts a pod as `kubectl drain` does, in a dry run; the API server's words where it does not.
async fn evict(app: &App<'_>) -> Result<(), String> {
    let pod = app.pod_names().await.remove(0);
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/eviction", app.namespace);
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod, "namespace": app.namespace },
        "deleteOptions": { "dryRun": ["All"] },
    });
    let answer = app
        .cluster
        .admin()
        .run_with_input(["create", "--raw", &path, "-f", "-"], &eviction.to_string())
        .await;
    answer.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn ours_steps_back_while_another_selects_the_pods_and_nodes_are_drained() {
    let app = App::ready(cluster().await, "web", &in_prod()).await;
    until_budgets(&app, &["web"]).await;
    let is_frontend = json!({ "matchExpressions": [
        { "key": "app.kubernetes.io/name", "operator": "In", "values": ["web", "shop"] },
        { "key": "team.example.com/canary", "operator": "DoesNotExist" },
    ] });
    make(&app, "theirs", &is_frontend).await;
    until_budgets(&app, &["theirs"]).await;
    until_told(&app, "; PodDisruptionBudget theirs decides on the eviction of its pods").await;
    eventually("a pod can be evicted", async || evict(&app).await).await;

    make(&app, "worse", &json!({})).await;
    until_told(&app, "no pod can be evicted that several select").await;
    let refused = evict(&app).await.unwrap_err();
    assert!(refused.contains("more than one PodDisruptionBudget"), "{refused}");
    app.kubectl(&["delete", "pdb", "worse"]).await;
    until_told(&app, "; PodDisruptionBudget theirs decides on the eviction of its pods").await;

    make(&app, "theirs", &json!({ "matchLabels": { "app.kubernetes.io/name": "shop" } })).await;
    until_budgets(&app, &["theirs", "web"]).await;
    app.wait_ready().await;
    eventually("a pod can be evicted", async || evict(&app).await).await;
}

#[tokio::test]
async fn ours_is_not_made_beside_one_that_was_there_and_comes_when_that_is_gone() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    make(&app, "web", &json!({})).await;
    app.apply(&in_prod()).await;
    app.wait_ready().await;
    until_told(&app, "; PodDisruptionBudget web decides on the eviction of its pods").await;
    let hold = json!({ "metadata": { "finalizers": ["team.example.com/hold"] } }).to_string();
    app.kubectl(&["patch", "pdb", "web", "--type=merge", "-p", &hold]).await;
    app.kubectl(&["delete", "pdb", "web", "--wait=false"]).await;
    let mark = cluster.audit_mark().unwrap();
    make(&app, "theirs", &json!({ "matchLabels": { "app.kubernetes.io/part-of": "cart" } })).await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    let writes = requests(cluster, mark).namespace(&app.namespace).resource("poddisruptionbudgets").writes();
    assert_eq!(writes.count(), 0, "one that is on its way out counts until it is gone: {writes:#?}");
    let free = json!({ "metadata": { "finalizers": null } }).to_string();
    app.kubectl(&["patch", "pdb", "web", "--type=merge", "-p", &free]).await;
    eventually("it is the app's own", async || {
        let budget = app.object("pdb").await.unwrap_or_default();
        holds(budget["metadata"]["ownerReferences"][0]["kind"] == "EGApp", || budget.to_string())
    })
    .await;
    until_budgets(&app, &["theirs", "web"]).await;
}

#[tokio::test]
async fn one_that_comes_and_goes_is_not_answered_each_time() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &in_prod()).await;
    until_budgets(&app, &["web"]).await;
    let mark = cluster.audit_mark().unwrap();
    for _ in 0..5 {
        make(&app, "theirs", &json!({})).await;
        until_budgets(&app, &["theirs"]).await;
        app.kubectl(&["delete", "pdb", "theirs"]).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    until_budgets(&app, &["web"]).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace);
    let writes = writes.resource("poddisruptionbudgets").writes();
    assert_eq!(writes.count(), 2, "deleted once, and made once: {writes:#?}");
}

//! What a namespace demands of the resources of its pods, and what it gives them.

use serde_json::{Value, json};

use crate::refusals::recorded;
use crate::support::App;
use crate::{GOOD, cluster, failing, recovered, running};

#[tokio::test]
async fn a_quota_that_demands_a_limit_is_told_with_the_field_to_set() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "quota", "one", "--hard=limits.cpu=4"]).await;
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "ResourcesRequired").await;
    let sentence = recorded(&app, "quota-limit.txt").await;
    assert_eq!(message, format!("new pods are refused: {sentence}; set spec.resources.limits.cpu"));
    app.patch(&json!({ "spec": { "resources": { "limits": { "cpu": "1" } } } })).await;
    recovered(&app).await;
}

#[tokio::test]
async fn a_size_that_a_limit_range_does_not_allow_is_told_with_the_fields_to_change() {
    let app = App::named(cluster().await, "web").await;
    limit_range(&app, &json!({ "type": "Container", "max": { "memory": "1Mi" } })).await;
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "PodsRefused").await;
    let sentence = recorded(&app, "limit-range.txt").await;
    let advice = "; change spec.instanceType or spec.resources";
    assert_eq!(message, format!("new pods are refused: {sentence}{advice}"));
    app.kubectl(&["delete", "limitrange", "one"]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn what_a_limit_range_adds_to_the_pods_shows_in_the_status() {
    let app = App::named(cluster().await, "web").await;
    limit_range(&app, &json!({ "type": "Container", "default": { "cpu": "700m" } })).await;
    app.apply(&running(GOOD, 1)).await;
    app.wait_ready().await;
    let now = app.until("it shows", |app| app["status"]["resources"]["limits"]["cpu"] == "700m").await;
    let wanted = &app.deployment().await["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert_eq!(wanted["limits"]["cpu"], json!(null), "the Deployment says nothing of it");
    assert_eq!(now["status"]["resources"]["limits"]["memory"], wanted["limits"]["memory"]);
    assert_eq!(now["status"]["resources"]["requests"], wanted["requests"]);
}

async fn limit_range(app: &App<'_>, limit: &Value) {
    let object = json!({
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": { "namespace": app.namespace, "name": "one" },
        "spec": { "limits": [limit] },
    });
    app.cluster.apply(&object.to_string()).await.unwrap();
}

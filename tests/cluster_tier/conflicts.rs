//! Objects that are not the app's are never touched, and the app says what stands in its way.

use serde_json::{Value, json};

use crate::cluster;
use crate::support::App;
use crate::support::app::{condition, reason, with_image};

#[tokio::test]
async fn a_foreign_deployment_of_the_name_is_never_touched_and_the_app_goes_on_when_it_is_gone() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "deployment", "web", "--image=registry.example.com/other:1"]).await;
    let before = app.deployment().await;
    app.apply(&with_image(1)).await;
    let blocked = app.until("the conflict is told", |app| reason(app) == "NameConflict").await;
    assert_eq!(condition(&blocked, "Ready")["status"], "False");
    assert_eq!(condition(&blocked, "Stalled")["status"], "True");
    assert!(blocked["status"]["selector"].is_string(), "the first status has the selector on every path");
    assert_eq!(blocked["status"]["pods"], Value::Null, "its pods are not ours");
    let after = app.deployment().await;
    assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"]);
    assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);

    app.kubectl(&["delete", "deployment", "web"]).await;
    app.wait_ready().await;
    let now = app.get().await;
    assert_eq!(condition(&now, "Stalled"), &Value::Null, "present only while it is true");
}

#[tokio::test]
async fn pods_with_copied_labels_are_not_listed() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let labels = "--labels=egplatform.platform.evillgenius.com/egapp=web,pod-template-hash=5f6";
    app.kubectl(&["run", "stranger", "--image=registry.example.com/other:1", labels]).await;
    app.kubectl(&["scale", "egapp/web", "--replicas=2"]).await;
    let now = app.until("two pods", |app| app["status"]["replicas"] == 2 && reason(app) == "Available").await;
    let pods = now["status"]["pods"].as_array().unwrap();
    assert!(pods.len() == 2 && !pods.contains(&json!("stranger")), "{pods:?}");
}

#[tokio::test]
async fn a_quota_is_told_in_the_servers_words_and_ends_by_itself() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "quota", "none", "--hard=count/deployments.apps=0"]).await;
    app.apply(&with_image(1)).await;
    let blocked = app.until("the quota is told", |app| reason(app) == "QuotaExceeded").await;
    let message = condition(&blocked, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("exceeded quota: none"), "{message}");
    app.kubectl(&["delete", "quota", "none"]).await;
    app.wait_ready().await;
}

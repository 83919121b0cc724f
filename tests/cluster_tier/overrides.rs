//! Policies of the cluster that change what the operator applies, in the very same request.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster;
use crate::support::App;
use crate::support::app::{condition, reason, with_image};
use crate::support::operator::requests_when_quiet;
use crate::support::policy::{mirroring, rewriting, until_history_limit_is, until_image_is, weakening};

fn image(deployment: &Value) -> &str {
    deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default()
}

/// The message of the condition `Overridden`, where it is True.
fn overridden(app: &Value) -> &str {
    let told = condition(app, "Overridden");
    if told["status"] == "True" { told["message"].as_str().unwrap() } else { "" }
}

async fn end(app: &App<'_>) {
    let policy = ["delete", "mutatingadmissionpolicybinding", &app.namespace];
    app.cluster.kubectl(policy).await.unwrap();
}

#[tokio::test]
async fn an_app_whose_image_a_policy_rewrites_is_ready_and_says_so() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&mirroring(&app.namespace)).await.unwrap();
    until_image_is(&app, "mirror.example.com/x:1").await;
    app.apply(&with_image(1)).await;
    app.wait_ready().await;
    let told = app.until("it is told", |app| !overridden(app).is_empty()).await;
    let message = overridden(&told);
    for words in [
        "Deployment",
        "spec.template.spec.containers[app].image",
        "\"registry.example.com/team/web:1\"",
        "\"mirror.example.com/registry.example.com/team/web:1\"",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert_eq!((reason(&told), condition(&told, "Stalled")), ("Available", &Value::Null));
    app.told(&["Created", "Overridden"]).await;

    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["annotate", "deployment", "web", "team.example.com/poke=1"]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");

    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:2" } })).await;
    app.until("the new one is told", |app| overridden(app).contains("\"registry.example.com/team/web:2\""))
        .await;
    app.wait_ready().await;
    assert_eq!(image(&app.deployment().await), "mirror.example.com/registry.example.com/team/web:2");
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).resource("deployments");
    assert_eq!(writes.writes().count(), 1);
    assert_eq!(app.items("replicasets").await.len(), 2, "it rolls out once");

    app.kubectl(&["scale", "deployment", "web", "--replicas=3"]).await;
    app.until_deployment("other drift is healed", |live| live["spec"]["replicas"] == 1).await;
    app.wait_ready().await;

    end(&app).await;
    until_image_is(&app, "x:1").await;
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:3" } })).await;
    app.until("it is over", |app| condition(app, "Overridden") == &Value::Null).await;
    app.wait_ready().await;
}

#[tokio::test]
async fn a_policy_that_comes_later_is_not_fought() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &with_image(1)).await;
    cluster.apply(&rewriting(&app.namespace)).await.unwrap();
    until_history_limit_is(&app, "1").await;
    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["annotate", "deployment", "web", "team.example.com/poke=1"]).await;
    app.until("it is told", |app| overridden(app).contains("spec.revisionHistoryLimit")).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).resource("deployments");
    assert_eq!(writes.writes().count(), 1, "one try to put it right");
    app.wait_ready().await;
    app.told(&["Created", "Overridden"]).await;
    end(&app).await;
}

#[tokio::test]
async fn a_policy_that_takes_something_essential_away_is_a_failure_and_not_fought() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&weakening(&app.namespace)).await.unwrap();
    until_history_limit_is(&app, "1").await;
    app.apply(&with_image(1)).await;
    let told = app.until("it is told", |app| reason(app) == "Overridden").await;
    let message = condition(&told, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("securityContext.allowPrivilegeEscalation"), "{message}");
    assert_eq!(condition(&told, "Stalled")["status"], "True");

    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["annotate", "deployment", "web", "team.example.com/poke=1"]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let writes = requests_when_quiet(cluster, mark).await.namespace(&app.namespace).resource("deployments");
    assert_eq!(writes.clone().writes().count(), 0, "{writes:#?}");

    end(&app).await;
    until_history_limit_is(&app, "10").await;
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.wait_ready().await;
}

//! Events are extra: they repeat nothing, and no app waits for one.

use serde_json::{Value, json};

use crate::support::app::with_image;
use crate::support::operator::{event_requests, install, requests_when_quiet, user};
use crate::support::{App, Operator, eventually, full_with_crd, holds};

#[tokio::test]
async fn a_restart_repeats_no_event_and_without_the_right_to_write_any_all_apps_go_on() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    let app = App::ready(&cluster, "web", &with_image(1)).await;
    app.patch(&json!({ "spec": { "serviceAccountName": "nobody" } })).await;
    app.until("it fails", |app| !app["status"]["lastFailure"].is_null()).await;
    let before = app.told(&["Created", "PodsRefused"]).await;
    operator.stop().await;

    let role = cluster.kubectl_json(["get", "clusterrole", "pe-app-manager-role"]).await.unwrap();
    let mark = cluster.audit_mark().unwrap();
    let operator = Operator::start(&cluster, "restarted").await;
    operator.leading().await;
    requests_when_quiet(&cluster, mark).await;
    assert_eq!(app.events().await, before);
    assert_eq!(event_requests(&cluster, mark).count(), 0);

    without_events(&cluster, role).await;
    for name in ["one", "two", "three"] {
        let app = app.sibling(name);
        app.apply(&with_image(1)).await;
        app.wait_ready().await;
    }
    eventually("the refusals are counted", async || {
        let failed = operator.metric("egapp_events_total{controller=\"egapp\",result=\"failed\"");
        holds(failed == Some(3.0), || format!("{failed:?}"))
    })
    .await;
    let lines = operator.log().matches("events cannot be written").count();
    assert_eq!(lines, 1, "{}", operator.log());
    operator.stop().await;
}

/// Takes the right to write events away.
async fn without_events(cluster: &cluster::Cluster, mut role: Value) {
    role["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    role["rules"].as_array_mut().unwrap().retain(|rule| rule["resources"] != json!(["events"]));
    cluster.admin().run_with_input(["replace", "-f", "-"], &role.to_string()).await.unwrap();
    eventually("the right is gone", async || {
        let answer =
            cluster.kubectl(["auth", "can-i", "create", "events.events.k8s.io", "--as", &user()]).await;
        holds(answer.is_err(), || format!("{answer:?}"))
    })
    .await;
}

//! The Service and the PodDisruptionBudget: switched on and off, never taken from somebody else.

use serde_json::{Value, json};

use crate::cluster;
use crate::support::App;
use crate::support::app::{condition, reason, with_image};

async fn until_there(app: &App<'_>, kind: &str) -> Value {
    crate::support::eventually(kind, async || app.object(kind).await.ok_or_else(|| format!("no {kind}")))
        .await
}

async fn until_not_there(app: &App<'_>, kind: &str) {
    crate::support::eventually(kind, async || match app.object(kind).await {
        None => Ok(()),
        Some(object) => Err(format!("{object:#}")),
    })
    .await;
}

#[tokio::test]
async fn a_service_leads_to_the_pods_of_its_app_alone() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    let service = until_there(&app, "service").await;
    assert_eq!(service["spec"]["type"], "ClusterIP");
    assert_eq!(service["spec"]["ports"][0]["port"], 80);
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "http");
    let slices = ["get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o"];
    crate::support::eventually("both pods are endpoints", async || {
        let addresses =
            app.kubectl(&[&slices[..], &["jsonpath={.items[*].endpoints[*].targetRef.name}"]].concat()).await;
        crate::support::holds(addresses.split_whitespace().count() == 2, || addresses)
    })
    .await;
}

#[tokio::test]
async fn children_are_switched_off_and_on_again() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    until_there(&app, "service").await;
    app.patch(&json!({ "spec": { "service": { "enabled": false }, "environment": "prod" } })).await;
    until_not_there(&app, "service").await;
    let budget = until_there(&app, "poddisruptionbudget").await;
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["unhealthyPodEvictionPolicy"], "AlwaysAllow");
    app.patch(&json!({ "spec": { "service": { "enabled": true }, "environment": "dev" } })).await;
    until_there(&app, "service").await;
    until_not_there(&app, "poddisruptionbudget").await;
    app.wait_ready().await;
    app.kubectl(&["delete", "egapp", "web"]).await;
    app.until_gone("deployments,services,poddisruptionbudgets,pods").await;
}

#[tokio::test]
async fn a_foreign_service_of_the_name_is_never_touched_and_the_deployment_is_made_all_the_same() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "service", "clusterip", "web", "--tcp=81:81"]).await;
    let before = until_there(&app, "service").await;
    app.apply(&with_image(1)).await;
    let blocked = app.until("the conflict is told", |app| reason(app) == "NameConflict").await;
    let message = condition(&blocked, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("Service"), "{message}");
    app.until_deployment("the pods run", |live| live["status"]["availableReplicas"] == 1).await;
    app.patch(&json!({ "spec": { "service": { "enabled": false } } })).await;
    app.until("what is not wanted is in nobody's way", |app| reason(app) == "Available").await;
    let after = until_there(&app, "service").await;
    assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);

    app.kubectl(&["delete", "service", "web"]).await;
    app.patch(&json!({ "spec": { "service": { "enabled": true } } })).await;
    until_there(&app, "service").await;
    app.wait_ready().await;
}

#[tokio::test]
async fn drift_of_a_service_is_healed_also_where_an_apply_alone_cannot() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    until_there(&app, "service").await;
    let is_healed = |service: &Value| {
        service["spec"]["ports"].as_array().is_some_and(|ports| ports.len() == 1)
            && service["spec"]["ports"][0]["port"] == 80
            && service["spec"]["ports"][0]["targetPort"] == "http"
            && service["spec"]["selector"]["egplatform.platform.evillgenius.com/egapp"] == "web"
    };
    let drifts = [
        json!([{ "op": "replace", "path": "/spec/ports/0/port", "value": 81 }]),
        json!([{ "op": "replace", "path": "/spec/ports/0/targetPort", "value": 9 }]),
        json!([{ "op": "add", "path": "/spec/ports/-", "value": { "name": "extra", "port": 90, "targetPort": 90 } }]),
        json!([{ "op": "replace", "path": "/spec/selector", "value": { "app": "other" } }]),
    ];
    for drift in drifts {
        app.kubectl(&["patch", "service", "web", "--type=json", "-p", &drift.to_string()]).await;
        crate::support::eventually("the Service is healed", async || {
            let service = app.object("service").await.unwrap_or_default();
            crate::support::holds(is_healed(&service), || format!("{drift}: {service:#}"))
        })
        .await;
    }
    app.wait_ready().await;
}

#[tokio::test]
async fn a_worker_listens_on_nothing() {
    let worker = json!({
        "framework": "python", "environment": "dev", "image": "registry.example.com/team/worker:1",
        "service": { "enabled": false },
    });
    let app = App::ready(cluster().await, "worker", &worker).await;
    let container = app.deployment().await["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(
        (&container["ports"], &container["readinessProbe"], &container["startupProbe"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(app.object("service").await, None);
}

#[tokio::test]
async fn an_app_is_not_ready_while_a_former_service_of_its_name_is_on_its_way_out() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let hold = json!({ "metadata": { "finalizers": ["team.example.com/hold"] } }).to_string();
    app.kubectl(&["patch", "service", "web", "--type=merge", "-p", &hold]).await;
    app.kubectl(&["delete", "service", "web", "--wait=false"]).await;
    let waiting = |app: &Value| {
        let message = condition(app, "Ready")["message"].as_str().unwrap_or_default();
        message == "waiting for the former Service of this name to be gone"
    };
    let told = app.until("it is told", waiting).await;
    assert_eq!(condition(&told, "Ready")["status"], "False");
    let release = json!({ "metadata": { "finalizers": null } }).to_string();
    app.kubectl(&["patch", "service", "web", "--type=merge", "-p", &release]).await;
    app.wait_ready().await;
    app.kubectl(&["get", "service", "web"]).await;
}

//! Create, change, scale: what an application team does all day.

use serde_json::{Value, json};

use crate::cluster;
use crate::support::App;
use crate::support::app::{five_fields, reason, with_image};

/// The image of the application's container.
fn image(deployment: &Value) -> &str {
    deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn five_fields_are_enough_for_running_pods_in_every_environment_and_framework() {
    let cluster = cluster().await;
    let first = App::named(cluster, "unused").await;
    let mut apps = Vec::new();
    for framework in ["java", "python", "go"] {
        for environment in ["dev", "stage", "prod"] {
            let app = first.sibling(&format!("{framework}-{environment}"));
            app.apply(&five_fields(framework, environment)).await;
            apps.push(app);
        }
    }
    for app in apps {
        app.wait_ready().await;
        let now = app.get().await;
        assert_eq!(reason(&now), "StarterImage", "{now:#}");
        assert_eq!(now["status"]["pods"].as_array().unwrap().len(), 1, "{now:#}");
    }
    let phases = first.kubectl(&["get", "pods", "-o", "jsonpath={.items[*].status.phase}"]).await;
    assert_eq!(phases, ["Running"; 9].join(" "));
}

#[tokio::test]
async fn pods_meet_pod_security_restricted() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    let label = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(["label", "namespace", &app.namespace, label]).await.unwrap();
    app.apply(&five_fields("python", "prod")).await;
    app.wait_ready().await;
}

#[tokio::test]
async fn kubectl_scale_reaches_the_pods() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.kubectl(&["scale", "egapp/web", "--replicas=3"]).await;
    let scaled = app.until("three pods are listed", |app| {
        app["status"]["pods"].as_array().is_some_and(|pods| pods.len() == 3) && reason(app) == "Available"
    });
    let scaled = scaled.await;
    assert_eq!(scaled["status"]["replicas"], 3, "the scale subresource reads it");
    let autoscaler_view = app.kubectl(&["get", "egapp", "web", "--subresource=scale", "-o", "json"]).await;
    let scale: Value = serde_json::from_str(&autoscaler_view).unwrap();
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["replicas"]), (&json!(3), &json!(3)));
    assert_eq!(scale["status"]["selector"], scaled["status"]["selector"]);
}

#[tokio::test]
async fn zero_replicas_are_ready_without_a_pod() {
    let app = App::ready(cluster().await, "web", &with_image(0)).await;
    let now = app.get().await;
    assert_eq!((reason(&now), &now["status"]["pods"]), ("ScaledToZero", &Value::Null));
    app.kubectl(&["scale", "egapp/web", "--replicas=1"]).await;
    app.until("a pod runs", |app| reason(app) == "Available").await;
}

#[tokio::test]
async fn a_new_image_rolls_out_and_the_selector_stays() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    let before = app.deployment().await;
    let change = json!({ "spec": { "image": "registry.example.com/team/web:2", "environment": "prod", "framework": "java" } });
    app.patch(&change).await;
    app.wait_ready().await;
    let after = app.deployment().await;
    assert_eq!(image(&after), "registry.example.com/team/web:2");
    assert_eq!(after["spec"]["selector"], before["spec"]["selector"]);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(app.get().await["status"]["image"], "registry.example.com/team/web:2");
}

#[tokio::test]
async fn a_field_that_is_no_longer_wanted_is_removed() {
    let app = App::ready(cluster().await, "web", &five_fields("go", "dev")).await;
    let container = |deployment: &Value| deployment["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(container(&app.deployment().await)["args"], json!(["--port=8080"]), "the starter's");
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:1", "appId": null } })).await;
    app.until("the user's image runs", |app| reason(app) == "Available").await;
    let after = app.deployment().await;
    assert_eq!(container(&after)["args"], Value::Null);
    assert_eq!(after["spec"]["template"]["spec"]["securityContext"]["runAsUser"], Value::Null);
    assert_eq!(after["metadata"]["labels"]["egplatform.platform.evillgenius.com/app-id"], Value::Null);
}

#[tokio::test]
async fn fifty_quick_edits_end_in_the_last_one_with_the_same_deployment() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let uid = app.deployment().await["metadata"]["uid"].clone();
    for edit in 1..=50 {
        let image = format!("registry.example.com/team/web:{edit}");
        app.patch(&json!({ "spec": { "image": image, "replicaCount": edit % 3 } })).await;
    }
    app.wait_ready().await;
    let live = app.deployment().await;
    assert_eq!(image(&live), "registry.example.com/team/web:50");
    assert_eq!((&live["spec"]["replicas"], &live["metadata"]["uid"]), (&json!(2), &uid));
}

#[tokio::test]
async fn two_apps_of_a_namespace_never_share_pods() {
    let first = App::ready(cluster().await, "web", &five_fields("go", "dev")).await;
    let second = first.sibling("web-2");
    second.apply(&five_fields("go", "dev")).await;
    second.wait_ready().await;
    let pods = |app: &Value| app["status"]["pods"].as_array().unwrap().clone();
    let (of_first, of_second) = (pods(&first.get().await), pods(&second.get().await));
    assert_eq!((of_first.len(), of_second.len()), (1, 1));
    assert_ne!(of_first, of_second);
    let selected = |app: &Value| app["status"]["selector"].as_str().unwrap().to_owned();
    let found = first.kubectl(&["get", "pods", "-o", "name", "-l", &selected(&first.get().await)]).await;
    assert_eq!(found.trim(), format!("pod/{}", of_first[0].as_str().unwrap()));
}

#[tokio::test]
async fn a_name_of_63_characters_works_from_end_to_end() {
    let app = App::ready(cluster().await, &"a".repeat(63), &with_image(1)).await;
    assert_eq!(app.get().await["status"]["pods"].as_array().unwrap().len(), 1);
    app.kubectl(&["delete", "egapp", &app.name]).await;
    app.until_gone("deployments,pods").await;
}

#[tokio::test]
async fn a_suspended_app_is_left_alone_and_reported() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.patch(&json!({ "spec": { "suspend": true, "replicaCount": 5 } })).await;
    let suspended = app.until("it is suspended", |app| reason(app) == "Suspended").await;
    assert_eq!(crate::support::app::condition(&suspended, "Ready")["status"], "Unknown");
    app.kubectl(&["scale", "deployment/web", "--replicas=2"]).await;
    app.until("the pods are reported all the same", |app| {
        app["status"]["pods"].as_array().is_some_and(|pods| pods.len() == 2)
    })
    .await;
    assert_eq!(app.deployment().await["spec"]["replicas"], 2, "nobody heals it");
    app.patch(&json!({ "spec": { "suspend": false } })).await;
    app.until_deployment("work goes on", |live| live["spec"]["replicas"] == 5).await;
    app.wait_ready().await;
}

#[tokio::test]
async fn the_users_spec_and_metadata_are_never_written() {
    let app = App::named(cluster().await, "web").await;
    app.apply(&json!({ "framework": "go", "environment": "dev" })).await;
    app.wait_ready().await;
    let now = app.get().await;
    let managers: Vec<_> = now["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    assert!(managers.is_empty(), "kubectl hides them: {managers:?}");
    let shown = app.kubectl(&["get", "egapp", "web", "-o", "json", "--show-managed-fields"]).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    for entry in shown["metadata"]["managedFields"].as_array().unwrap() {
        let ours = entry["manager"] == "egapp-controller";
        assert_eq!(ours, entry["subresource"] == "status", "{entry}");
    }
    assert_eq!(now["metadata"]["generation"], 1);
    assert_eq!(now["metadata"]["finalizers"], Value::Null);
}

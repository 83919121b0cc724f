//! Every kind of event, once for each change.

use cluster::Failure;
use serde_json::{Value, json};

use crate::cluster;
use crate::support::app::{five_fields, reason, with_image};
use crate::support::{App, eventually, holds};

#[tokio::test]
async fn what_is_done_to_an_app_is_told_once_each() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.told(&["Created"]).await;
    app.kubectl(&["scale", "egapp/web", "--replicas=2"]).await;
    app.told(&["Created", "Scaled"]).await;
    app.wait_ready().await;
    app.kubectl(&["set", "image", "deployment/web", "app=evil:1"]).await;
    app.told(&["Created", "Scaled", "Repaired"]).await;
    app.wait_ready().await;
    app.patch(&json!({ "spec": { "service": { "enabled": false } } })).await;
    let events = app.told(&["Created", "Scaled", "Repaired", "Deleted"]).await;
    let (notes, uid) = (notes(&events), app.get().await["metadata"]["uid"].clone());
    assert_eq!(
        notes,
        [
            "made Deployment web",
            "replicas 1 → 2",
            "Deployment web was changed by somebody else, and is put right: spec.template.spec.containers[app].image",
            "deleted Service web, which is not wanted any more",
        ]
    );
    for event in &events {
        assert_eq!(event["type"], "Normal");
        assert_eq!(event["reportingController"], "egapp-controller");
        let regarding = &event["regarding"];
        assert_eq!((&regarding["kind"], &regarding["uid"]), (&json!("EGApp"), &uid));
        assert_eq!(regarding["resourceVersion"], Value::Null);
    }

    for text in
        [app.kubectl(&["describe", "ega", "web"]).await, app.kubectl(&["events", "--for", "egapp/web"]).await]
    {
        for note in &notes {
            assert!(text.contains(note), "{note}: {text}");
        }
    }
}

#[tokio::test]
async fn the_same_repair_again_is_counted_in_its_event() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.told(&["Created"]).await;
    for count in [Value::Null, json!(2), json!(3)] {
        app.kubectl(&["scale", "deployment/web", "--replicas=4"]).await;
        eventually("it is told", async || {
            let events = app.events().await;
            let repaired = events.iter().find(|event| event["reason"] == "Repaired").unwrap_or(&Value::Null);
            holds(repaired["note"].is_string() && repaired["series"]["count"] == count, || {
                format!("{events:#?}")
            })
        })
        .await;
    }
    app.told(&["Created", "Repaired"]).await;
}

#[tokio::test]
async fn a_deleted_deployment_is_told_as_a_repair() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.told(&["Created"]).await;
    app.kubectl(&["delete", "deployment", "web"]).await;
    let events = app.told(&["Created", "Repaired"]).await;
    assert_eq!(notes(&events)[1], "Deployment web was gone, and has been made anew");
}

#[tokio::test]
async fn a_crash_loop_is_told_once_however_often_it_crashes_and_so_is_the_recovery() {
    let app = App::named(cluster().await, "web").await;
    let mut spec = with_image(1);
    spec["image"] = Failure::CrashLoop.image().into();
    app.apply(&spec).await;
    let failing = app.until("it fails", |app| reason(app) == "CrashLoop").await;
    let restarts = || async {
        let pods = app.items("pods").await;
        pods[0]["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap_or(0)
    };
    let first = restarts().await;
    eventually("two more crashes", async || {
        let now = restarts().await;
        holds(now >= first + 2, || now.to_string())
    })
    .await;
    let events = app.told(&["Created", "CrashLoop"]).await;
    assert_eq!((&events[1]["type"], &events[1]["series"]), (&json!("Warning"), &Value::Null));
    assert_eq!(events[1]["note"], failing["status"]["lastFailure"]["message"]);

    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:1" } })).await;
    app.wait_ready().await;
    let events = app.told(&["Created", "CrashLoop", "Recovered"]).await;
    assert_eq!(notes(&events)[2], "CrashLoop is over: all replicas are up to date and available");
}

#[tokio::test]
async fn an_image_without_a_version_in_prod_is_a_warning_once() {
    let mut spec = with_image(1);
    spec["image"] = "registry.example.com:5000/team/web".into();
    let app = App::ready(cluster().await, "web", &spec).await;
    app.told(&["Created"]).await;
    app.patch(&json!({ "spec": { "environment": "prod" } })).await;
    let events = app.told(&["Created", "UntaggedImage", "RolledOut"]).await;
    assert_eq!(events[1]["type"], "Warning");
    app.wait_ready().await;
    app.patch(&json!({ "spec": { "env": [{ "name": "A", "value": "1" }] } })).await;
    eventually("two rollouts", async || {
        let events = app.events().await;
        holds(events[2]["series"]["count"] == 2, || format!("{events:#?}"))
    })
    .await;
    let events = app.told(&["Created", "UntaggedImage", "RolledOut"]).await;
    assert_eq!(events[1]["series"], Value::Null, "another variable is no news of the image");
}

#[tokio::test]
async fn a_starter_outside_dev_is_a_warning_once() {
    let app = App::ready(cluster().await, "web", &five_fields("java", "stage")).await;
    let events = app.told(&["Created", "StarterImage"]).await;
    assert_eq!(events[1]["type"], "Warning");
    assert!(notes(&events)[1].starts_with("stage gets the framework's starter, "), "{events:#?}");
    let dev = app.sibling("dev");
    dev.apply(&five_fields("java", "dev")).await;
    dev.wait_ready().await;
    dev.told(&["Created"]).await;
}

fn notes(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["note"].as_str().unwrap()).collect()
}

//! What people read: columns, explain, wait, pods.

use std::time::Duration;

use serde_json::json;

use crate::cluster;
use crate::support::App;
use crate::support::app::{condition, reason, with_image};
use crate::support::operator::requests;

#[tokio::test]
async fn kubectl_get_shows_the_columns() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    app.until("settled", |app| reason(app) == "Available").await;
    let table = app.kubectl(&["get", "ega"]).await;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = table.lines().map(words).collect();
    assert_eq!(lines[0], ["NAME", "FRAMEWORK", "SIZE", "ENV", "DESIRED", "READY", "STATUS", "AGE"]);
    assert_eq!(lines[1][..7], ["web", "go", "lowMem", "dev", "2", "2", "Available"]);
    let wide = app.kubectl(&["get", "ega", "-o", "wide"]).await;
    assert!(wide.contains("registry.example.com/team/web:1") && wide.contains("available"), "{wide}");
}

#[tokio::test]
async fn kubectl_explain_tells_what_a_field_is() {
    let text = cluster().await.kubectl(["explain", "egapp.spec.framework"]).await.unwrap();
    for word in
        ["FIELD: framework <string>", "java\n", "python\n", "go\n", "What the application is written in"]
    {
        assert!(text.contains(word), "{word:?} in {text}");
    }
}

#[tokio::test]
async fn pods_are_listed_in_order_and_terminating_ones_are_dropped_at_once() {
    let app = App::ready(cluster().await, "web", &with_image(3)).await;
    let pods = |app: &serde_json::Value| app["status"]["pods"].as_array().cloned().unwrap_or_default();
    let listed = pods(&app.until("three pods", |app| pods(app).len() == 3).await);
    let names: Vec<_> = listed.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(names, app.pod_names().await);

    // A finalizer holds the pod in termination, as a slow shutdown would.
    let (victim, patch) = (&names[0], json!({ "metadata": { "finalizers": ["test.example.com/slow"] } }));
    app.kubectl(&["patch", "pod", victim, "--type=merge", "-p", &patch.to_string()]).await;
    app.kubectl(&["delete", "pod", victim, "--wait=false"]).await;
    let now =
        app.until("it is replaced", |app| pods(app).len() == 3 && !pods(app).contains(&json!(victim))).await;
    assert_eq!(condition(&now, "Ready")["status"], "True", "{now:#}");
    app.kubectl(&["patch", "pod", victim, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#]).await;
}

#[tokio::test]
async fn kubectl_wait_never_passes_on_a_stale_generation() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    for edit in 1..=10 {
        let image = format!("registry.example.com/team/web:{edit}");
        app.patch(&json!({ "spec": { "image": image } })).await;
        app.wait_ready().await;
        let (now, live) = (app.get().await, app.deployment().await);
        assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], image, "passed too early");
        assert_eq!(live["status"]["updatedReplicas"], 1);
        assert_eq!(now["status"]["observedGeneration"], now["metadata"]["generation"]);
        for type_ in ["Ready", "Available", "Progressing"] {
            assert_eq!(
                condition(&now, type_)["observedGeneration"],
                now["metadata"]["generation"],
                "{type_}"
            );
        }
    }
}

#[tokio::test]
async fn a_hundred_pods_are_listed_and_the_rest_is_counted() {
    let app = App::ready(cluster().await, "big", &with_image(103)).await;
    let now = app.until("all are counted", |app| app["status"]["podsOmitted"] == 3).await;
    assert_eq!(now["status"]["pods"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn what_somebody_else_writes_into_the_status_is_taken_back_once_and_for_all() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &with_image(1)).await;
    let time = "2026-01-01T00:00:00Z";
    let entry = |type_: &str| {
        json!({ "op": "add", "path": "/status/conditions/-", "value": {
        "type": type_, "status": "True", "reason": "Foo", "message": "x", "lastTransitionTime": time,
    } })
    };
    let count = json!({ "op": "add", "path": "/status/podsOmitted", "value": 5 });
    let lies = json!([entry("Stalled"), entry("Audited"), count]).to_string();
    app.kubectl(&[
        "patch",
        "egapp",
        "web",
        "--subresource=status",
        "--type=json",
        "--field-manager=other",
        "-p",
        &lies,
    ])
    .await;
    let told = app.until("it is taken back", |app| app["status"]["podsOmitted"].is_null()).await;
    assert!(condition(&told, "Stalled").is_null(), "{told:#}");
    assert_eq!(condition(&told, "Audited")["reason"], "Foo", "a type of somebody else's stays");

    let mark = cluster.audit_mark().unwrap();
    for poke in 1..=5 {
        app.kubectl(&[
            "annotate",
            "deployment",
            "web",
            "--overwrite",
            &format!("team.example.com/poke={poke}"),
        ])
        .await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let writes = requests(cluster, mark).namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
}

#[tokio::test]
async fn a_status_that_somebody_keeps_changing_is_put_right_ever_less_often() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.until("settled", |app| reason(app) == "Available").await;
    let mark = app.cluster.audit_mark().unwrap();
    for round in 0..30 {
        let patch = json!({ "status": { "replicas": 70 + round } }).to_string();
        app.kubectl(&["patch", "egapp", "web", "--subresource=status", "--type=merge", "-p", &patch]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let writes = requests(app.cluster, mark).namespace(&app.namespace).writes();
    assert!((5..=14).contains(&writes.count()), "{} writes: {writes:#?}", writes.count());
    app.until("it is right in the end", |app| app["status"]["replicas"] == 1).await;
}

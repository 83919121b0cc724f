//! New pods for an app.

use cluster::Failure;
use serde_json::json;

use crate::support::App;
use crate::support::app::with_image;
use crate::{cluster, through_kubectl};

#[tokio::test]
async fn a_restart_replaces_every_pod_and_tells_how_far_it_is() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    let before = app.pod_names().await;
    let ran = through_kubectl(&app, &["restart", "web", "--wait"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "egapp/web restarts");
    assert_eq!(lines.last(), Some(&"2 of 2 replicas updated, 2 ready: Available"), "{lines:#?}");
    let after = app
        .until("the old pods are gone", |app| {
            app["status"]["pods"].as_array().is_some_and(|pods| pods.len() == 2)
        })
        .await;
    let after = after["status"]["pods"].to_string();
    assert!(before.iter().all(|pod| !after.contains(pod.as_str())), "{before:?} {after}");
}

#[tokio::test]
async fn a_restart_that_ends_nowhere_fails_with_the_reason() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.patch(&json!({ "spec": { "image": Failure::ImagePull.image() } })).await;
    let ran = through_kubectl(&app, &["restart", "web", "--wait", "--timeout=8s"], "");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("web is not Ready after the restart: 8 s are over"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ImagePull: image"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_restart_without_effect_is_refused_with_the_reason() {
    let app = App::ready(cluster().await, "web", &with_image(0)).await;
    let ran = through_kubectl(&app, &["restart", "web"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("spec.replicaCount is 0"), "{}", ran.stderr);
    assert_eq!(app.get().await["spec"]["restartedAt"], json!(null));
}

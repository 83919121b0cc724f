//! New pods for an app.

use std::thread;

use cluster::Failure;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::app::{reason, with_image};
use crate::{EGAPPS, alone, cluster, kubectl_egapp, manifest, run, through_kubectl, with_rights};

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
async fn a_restart_that_is_taken_back_restarts_nothing_and_a_later_one_does() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    let restart = || through_kubectl(&app, &["restart", "web", "--wait", "--field-manager=ci"], "");
    assert_eq!(restart().code, 0);
    let restarted = app.get().await;
    let managers = app.kubectl(&["get", "egapp", "web", "-o", "yaml", "--show-managed-fields"]).await;
    assert!(managers.contains("manager: ci") && !managers.contains("manager: kubectl-egapp"), "{managers}");
    let (before, pods) = (app.deployment().await, restarted["status"]["pods"].clone());
    for at in
        [json!(null), json!("2020-01-01T00:00:00Z"), restarted["spec"]["restartedAt"].clone(), json!(null)]
    {
        app.patch(&json!({ "spec": { "restartedAt": at } })).await;
        let now = app.wait_for_its_generation().await;
        assert_eq!((reason(&now), &now["status"]["pods"]), ("Available", &pods), "{at}");
        let live = app.deployment().await;
        assert_eq!(
            live["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"],
            "{at}: not a write"
        );
    }
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &with_image(2)));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "the plugin knows as much");

    // What is put right meanwhile takes the restart along.
    app.kubectl(&["scale", "deployment", "web", "--replicas=1"]).await;
    app.until_deployment("it is healed", |live| live["spec"]["replicas"] == 2).await;
    let of_template = |live: &Value| live["spec"]["template"]["metadata"].clone();
    assert_eq!(of_template(&app.deployment().await), of_template(&before));
    app.wait_ready().await;

    assert_eq!(restart().code, 0);
    assert_ne!(of_template(&app.deployment().await), of_template(&before));
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

#[tokio::test]
async fn who_may_not_watch_is_told_at_once_that_the_restart_cannot_be_followed() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let kubeconfig = with_rights(&app, &[("get,patch", EGAPPS)]).await;
    let mut command = alone();
    command.env("KUBECONFIG", &kubeconfig).args(["restart", "web", "--wait", "-n", &app.namespace]);
    let ran = run(&mut command, "");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "egapp/web restarts\n"));
    assert!(ran.stderr.starts_with("error: web restarts, but you cannot be told how: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("forbidden"), "{}", ran.stderr);
    assert!(app.get().await["spec"]["restartedAt"].is_string());
}

#[tokio::test]
async fn an_app_that_is_suspended_meanwhile_is_waited_for_no_longer() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    app.patch(&json!({ "spec": { "image": Failure::ImagePull.image() } })).await;
    let mut command = kubectl_egapp(&app, &["restart", "egapp/web", "--wait"]);
    let restart = thread::spawn(move || run(&mut command, ""));
    app.until("it restarts", |app| app["spec"]["restartedAt"].is_string()).await;
    app.patch(&json!({ "spec": { "suspend": true } })).await;
    let ran = restart.join().unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("spec.suspend is true"), "{}", ran.stderr);
}

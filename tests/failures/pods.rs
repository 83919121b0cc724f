//! Pods that do not come up: told from their own events, in words that stay.

use cluster::Failure;
use serde_json::{Value, json};

use crate::support::app::{condition, reason};
use crate::support::operator::requests;
use crate::support::{App, eventually, holds};
use crate::{GOOD, app_of, cluster, failing, fix, recovered, running};

/// A worker: no probe, so that its container is ready as soon as it runs.
fn worker(image: &str) -> Value {
    json!({ "framework": "go", "environment": "dev", "image": image, "service": { "enabled": false } })
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_told_with_the_registrys_words_and_clears_after_the_fix() {
    let app = app_of(&running(&Failure::ImagePull.image(), 1)).await;
    let message = failing(&app, "ImagePull").await;
    let image = "fail.example/imagepull:1";
    assert!(
        message.starts_with(&format!("image {image} cannot be pulled: failed to pull and unpack")),
        "{message}"
    );
    assert!(message.contains(&format!("{image}: not found; check spec.image")), "{message}");
    fix(&app).await;
}

#[tokio::test]
async fn failing_pods_and_a_service_whose_name_is_taken_are_told_together() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "service", "clusterip", "web", "--tcp=80"]).await;
    app.apply(&running(&Failure::ImagePull.image(), 1)).await;
    let both = |app: &Value| {
        let message = condition(app, "Ready")["message"].as_str().unwrap_or_default().to_owned();
        reason(app) == "ImagePull" && message.contains("besides, NameConflict: the name of Service")
    };
    app.until("both are told", both).await;
    app.patch(&json!({ "spec": { "image": GOOD } })).await;
    app.until("one is left", |app| reason(app) == "NameConflict").await;
    app.kubectl(&["delete", "service", "web"]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn a_failure_that_stays_is_written_once_while_the_kubelets_reasons_alternate() {
    let cluster = cluster().await;
    let app = app_of(&running(&Failure::ImagePull.image(), 2)).await;
    failing(&app, "ImagePull").await;
    app.until("all is counted", |app| {
        let status = &app["status"];
        status["updatedReplicas"] == 2 && status["pods"].as_array().is_some_and(|pods| pods.len() == 2)
    })
    .await;
    let mark = cluster.audit_mark().unwrap();
    for waiting in ["ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff"] {
        eventually(waiting, async || {
            let pods = app.items("pods").await;
            let is =
                |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == waiting;
            holds(pods.iter().any(is), || format!("{pods:#?}"))
        })
        .await;
    }
    let writes = requests(cluster, mark).namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
    assert_eq!(reason(&app.get().await), "ImagePull");
}

#[tokio::test]
async fn a_missing_config_map_is_told_and_clears_after_the_fix() {
    let app = app_of(&running(&Failure::ConfigError.image(), 1)).await;
    let message = failing(&app, "ContainerConfig").await;
    assert_eq!(message, "container app cannot be made: configmap \"app-config\" not found");
    fix(&app).await;
}

#[tokio::test]
async fn an_image_that_would_run_as_root_is_told_with_the_way_out() {
    let app = app_of(&running(&Failure::RunAsRoot.image(), 1)).await;
    let message = failing(&app, "ContainerConfig").await;
    assert!(
        message.ends_with("image will run as root; set spec.runAsUser, or a numeric USER in the image"),
        "{message}"
    );
    fix(&app).await;
}

#[tokio::test]
async fn a_crash_loop_says_its_exit_code_and_clears_after_the_fix() {
    let app = app_of(&running("fail.example/crashloop:42", 1)).await;
    let message = failing(&app, "CrashLoop").await;
    assert!(
        message.starts_with("container app ends again and again: exit code 42; `kubectl logs "),
        "{message}"
    );
    fix(&app).await;
}

#[tokio::test]
async fn a_container_that_is_killed_for_its_memory_says_so() {
    let app = app_of(&running(&Failure::OutOfMemory.image(), 1)).await;
    let message = failing(&app, "CrashLoop").await;
    assert!(message.contains("OOMKilled") && message.contains("spec.resources.limits"), "{message}");
    fix(&app).await;
}

#[tokio::test]
async fn a_crash_looping_worker_is_never_ready_though_its_container_is_between_two_crashes() {
    let app = app_of(&worker(&Failure::CrashLoop.image())).await;
    failing(&app, "CrashLoop").await;
    let restarts = || async {
        let pods = app.items("pods").await;
        pods[0]["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap()
    };
    let (first, mut seen_running) = (restarts().await, false);
    while restarts().await < first + 3 {
        let (pods, now) = (app.items("pods").await, app.get().await);
        seen_running |= pods[0]["status"]["containerStatuses"][0]["ready"] == true;
        assert_eq!(condition(&now, "Ready")["status"], "False", "{now:#}");
        assert_eq!(reason(&now), "CrashLoop", "{now:#}");
    }
    assert!(seen_running, "it was never ready between two crashes: nothing was tested");
    fix(&app).await;
}

#[tokio::test]
async fn an_app_that_never_becomes_ready_is_told_when_its_time_is_over() {
    let app = app_of(&running(&Failure::NeverReady.image(), 1)).await;
    let message = failing(&app, "ProbeFailing").await;
    let words =
        "container app runs, but nothing answers on port 8080; set spec.port to the one the app listens on";
    assert_eq!(message, words);
    fix(&app).await;
}

#[tokio::test]
async fn an_app_that_never_starts_is_told_by_its_startup_probe_however_often_it_is_killed_for_that() {
    let probe = json!({ "exec": { "command": ["true"] }, "periodSeconds": 1, "failureThreshold": 2 });
    let mut spec = running(&Failure::NeverStarted.image(), 1);
    spec["startupProbe"] = probe;
    let app = app_of(&spec).await;
    let message = failing(&app, "ProbeFailing").await;
    assert_eq!(message, "container app runs, but the command of spec.startupProbe does not succeed");
    let mark = app.cluster.audit_mark().unwrap();
    eventually("it was restarted three times", async || {
        let pods = app.items("pods").await;
        let restarts = pods[0]["status"]["containerStatuses"][0]["restartCount"].as_i64();
        holds(restarts >= Some(3), || format!("{pods:#?}"))
    })
    .await;
    assert_eq!(failing(&app, "ProbeFailing").await, message);
    let writes = requests(app.cluster, mark).namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
    fix(&app).await;
}

#[tokio::test]
async fn an_app_that_is_slow_but_in_time_is_no_failure() {
    let app = app_of(&running("fail.example/slowready:4", 1)).await;
    app.until("it rolls out", |app| reason(app) == "RollingOut").await;
    let ready =
        app.until("it is ready, or told as a failure", |app| !matches!(reason(app), "RollingOut" | "")).await;
    assert_eq!(reason(&ready), "Available", "{ready:#}");
}

#[tokio::test]
async fn a_pod_that_no_node_takes_is_told_in_the_schedulers_words_and_clears_after_the_fix() {
    let mut spec = running(GOOD, 1);
    spec["resources"] = json!({ "requests": { "cpu": "5000" } });
    let app = app_of(&spec).await;
    let message = failing(&app, "Unschedulable").await;
    assert!(message.starts_with("no node takes the pods: Insufficient cpu; ask for less"), "{message}");
    app.patch(&json!({ "spec": { "resources": null } })).await;
    recovered(&app).await;
}

#[tokio::test]
async fn of_two_replicas_one_that_fails_keeps_the_app_from_being_ready() {
    let app = App::ready(cluster().await, "web", &running(GOOD, 2)).await;
    let pods = app
        .until("two pods", |app| app["status"]["pods"].as_array().is_some_and(|pods| pods.len() == 2))
        .await;
    let victim = pods["status"]["pods"][0].as_str().unwrap();
    let lost = json!({ "status": {
        "conditions": [{ "type": "Ready", "status": "False" }],
        "containerStatuses": [{
            "name": "app", "ready": false, "restartCount": 1, "image": GOOD, "imageID": "x",
            "state": { "waiting": { "reason": "CreateContainerError", "message": format!("no room for {victim}") } },
        }],
    } });
    app.kubectl(&["patch", "pod", victim, "--subresource=status", "-p", &lost.to_string()]).await;
    let message = failing(&app, "ContainerConfig").await;
    assert_eq!(message, "container app cannot be made: no room for <pod>");
    assert_eq!(app.get().await["status"]["readyReplicas"], 1);
    app.kubectl(&["delete", "pod", victim]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn an_old_version_that_fails_does_not_speak_for_the_new_one() {
    let app = app_of(&running(&Failure::ConfigError.image(), 1)).await;
    failing(&app, "ContainerConfig").await;
    app.patch(&json!({ "spec": { "image": Failure::ImagePull.image() } })).await;
    let now = app.until("the new failure", |app| reason(app) == "ImagePull").await;
    assert_eq!(now["status"]["lastFailure"]["reason"], "ImagePull");
    fix(&app).await;
}

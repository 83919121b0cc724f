//! Rollouts that are given up, and apps that cannot go.

use cluster::Failure;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::app::{condition, reason};
use crate::{GOOD, app_of, cluster, failing, fix, recovered, running};

/// In `stage` a rollout is given up after seconds.
fn impatient(image: &str) -> Value {
    let mut spec = running(image, 1);
    spec["environment"] = "stage".into();
    spec
}

#[tokio::test]
async fn a_rollout_past_its_deadline_is_stalled_and_the_cause_still_speaks() {
    let app = app_of(&impatient(&Failure::ImagePull.image())).await;
    let stalled = app.until("it is given up", |app| condition(app, "Stalled")["status"] == "True").await;
    assert_eq!(condition(&stalled, "Stalled")["reason"], "ProgressDeadlineExceeded");
    assert_eq!(condition(&stalled, "Progressing")["status"], "False");
    assert_eq!(reason(&stalled), "ImagePull", "{stalled:#}");
    fix(&app).await;
}

#[tokio::test]
async fn a_rollout_past_its_deadline_without_a_known_cause_says_that_alone() {
    let mut spec = impatient(GOOD);
    spec["startupProbe"] = json!({ "exec": { "command": ["true"] }, "periodSeconds": 60 });
    spec["image"] = Failure::NeverStarted.image().into();
    let app = app_of(&spec).await;
    let message = failing(&app, "ProgressDeadlineExceeded").await;
    assert!(message.contains("made no progress"), "{message}");
    app.patch(&json!({ "spec": { "startupProbe": null, "image": GOOD } })).await;
    recovered(&app).await;
}

#[tokio::test]
async fn the_last_failure_stays_while_its_fix_rolls_out() {
    let app = app_of(&running(&Failure::ConfigError.image(), 1)).await;
    failing(&app, "ContainerConfig").await;
    let since = app.get().await["status"]["lastFailure"]["since"].clone();
    app.patch(&json!({ "spec": { "image": "fail.example/slowready:4" } })).await;
    let moving = app.until("the fix rolls out", |app| reason(app) == "RollingOut").await;
    let failure = &moving["status"]["lastFailure"];
    assert_eq!((&failure["reason"], &failure["since"]), (&json!("ContainerConfig"), &since), "{moving:#}");
    recovered(&app).await;
}

#[tokio::test]
async fn an_app_whose_deletion_is_held_up_says_by_what() {
    let app = App::ready(cluster().await, "web", &running(GOOD, 1)).await;
    app.patch(&json!({ "metadata": { "finalizers": ["test.example.com/held"] } })).await;
    app.kubectl(&["delete", "egapp", "web", "--wait=false"]).await;
    let held = app.until("it says so", |app| reason(app) == "Terminating").await;
    let ready = condition(&held, "Ready");
    assert_eq!(
        (&ready["status"], &ready["observedGeneration"]),
        (&json!("False"), &held["metadata"]["generation"])
    );
    assert!(ready["message"].as_str().unwrap().ends_with(": test.example.com/held"), "{ready}");
    app.patch(&json!({ "metadata": { "finalizers": null } })).await;
    app.until_gone("egapps,deployments,pods").await;
}

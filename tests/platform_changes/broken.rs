//! A change that breaks apps.

use std::process::Command;

use cluster::{Cluster, Failure};
use serde_json::{Value, json};

use crate::support::app::reason;
use crate::support::mount::Mount;
use crate::support::operator::{requests, requests_when_quiet};
use crate::support::{App, Operator, eventually, holds};
use crate::{
    HALTED, STARTER, apps_in_each_environment, installed, manager, platform, told, until_metric, until_told,
};

const AT_A_TIME: usize = 2;

fn with_starter(image: &str) -> String {
    platform(AT_A_TIME, &[(STARTER, image)])
}

/// Names of the Deployments that run that image, sorted.
async fn running(app: &App<'_>, image: &str) -> Vec<String> {
    let is = |deployment: &&Value| deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image;
    let deployments = app.items("deployments").await;
    let name = |deployment: &Value| deployment["metadata"]["name"].as_str().unwrap().to_owned();
    let mut names: Vec<_> = deployments.iter().filter(is).map(name).collect();
    names.sort();
    names
}

/// What `kubectl egapp explain` says of an app under that platform file.
fn explained(app: &App<'_>, name: &str, mount: &Mount) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-egapp"));
    command.args(["explain", name, "-n", &app.namespace, "--platform-config"]).arg(mount.file());
    let output = command.env("KUBECONFIG", app.cluster.kubeconfig()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until the change is halted and nothing moves, and holds that to what may have happened.
async fn until_halted(cluster: &Cluster, operator: &Operator) {
    until_metric(operator, HALTED, 1.0).await;
    requests_when_quiet(cluster, cluster.audit_mark().unwrap()).await;
}

async fn delete_pods(app: &App<'_>, name: &str) {
    app.kubectl(&["delete", "pods", "--selector", &format!("{}={name}", egapp_api::labels::EGAPP)]).await;
}

/// What somebody changes of an app that waits is put right, as the former platform has it, and who scales it gets no
/// other pods.
async fn is_kept(app: &App<'_>) {
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.until("it is scaled", |app| app["status"]["readyReplicas"] == 2 && reason(app) == "StarterImage")
        .await;
    let image = |live: &Value| live["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    app.kubectl(&["set", "image", &format!("deployment/{}", app.name), "app=registry.example.com/other:1"])
        .await;
    app.kubectl(&["scale", "deployment", &app.name, "--replicas=3"]).await;
    app.until_deployment("it is put right", |live| live["spec"]["replicas"] == 2 && image(live) == STARTER)
        .await;
    app.patch(&json!({ "spec": { "restartedAt": "2024-05-06T07:08:09Z" } })).await;
    app.until_deployment("it is restarted as it was", |live| {
        live["spec"]["template"]["metadata"]["annotations"].is_object() && image(live) == STARTER
    })
    .await;
    app.kubectl(&["delete", "deployment", &app.name]).await;
    app.until_deployment("it comes back as it was", |live| image(live) == STARTER).await;
    app.kubectl(&["delete", "poddisruptionbudget", &app.name]).await;
    eventually("what was deleted is back", async || {
        holds(app.object("poddisruptionbudget").await.is_some(), || "it is gone".to_owned())
    })
    .await;
}

async fn nothing_is_said_of(held: &App<'_>) {
    let held = held.get().await;
    assert_eq!((reason(&held), &held["status"]["image"]), ("StarterImage", &json!(STARTER)));
}

/// An app that has the change fails when all have it: that halts nothing.
async fn fails_for_another_cause(app: &App<'_>, operator: &Operator) {
    app.kubectl(&["create", "quota", "full", "--hard=pods=0"]).await;
    delete_pods(app, "prod-00").await;
    app.sibling("prod-00").until("it fails", |app| reason(app) == "QuotaExceeded").await;
    requests_when_quiet(app.cluster, app.cluster.audit_mark().unwrap()).await;
    assert_eq!(operator.metric(HALTED), Some(0.0));
    let told = told(app.cluster).await;
    assert_eq!(told.last().unwrap().0, "PlatformChangeComplete", "{told:#?}");
}

#[tokio::test]
async fn a_change_that_breaks_apps_is_halted_and_goes_on_when_it_is_mended() {
    let cluster = installed().await;
    let mount = Mount::new(&with_starter(STARTER));
    let operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, 3).await;
    let bad = Failure::ImagePull.image();

    mount.put(&with_starter(&bad));
    until_halted(&cluster, &operator).await;
    let broken = running(&any, &bad).await;
    assert!(
        (1..=AT_A_TIME).contains(&broken.len()) && broken.iter().all(|name| name.starts_with("dev")),
        "{broken:?}"
    );
    let note = until_told(&cluster, "PlatformChangeHalted").await;
    assert!(
        note.contains(&format!("{}/dev-0", any.namespace)) && note.contains("ImagePull: image"),
        "{note}"
    );
    assert!(note.contains("stage 3, prod 3"), "{note}");
    assert!(operator.log().contains("no other app gets it"), "{}", operator.log());
    nothing_is_said_of(&any.sibling("stage-00")).await;
    is_kept(&any.sibling("prod-01")).await;
    assert!(explained(&any, "stage-00", &mount).contains("it waits for its turn"));
    let edit = json!({ "spec": { "image": "registry.example.com/team/web:2" } });
    let (broken, mended) = broken.split_at(1);
    // A turn is free when the others are well, and the pods that follow the deleted ones have no trouble of their own yet.
    for name in mended {
        any.sibling(name).patch(&edit).await;
        any.sibling(name).wait_ready().await;
    }
    let no_other_pods = json!({ "spec": { "replicaCount": 2, "restartedAt": "2024-05-06T07:08:09Z" } });
    any.sibling(&broken[0]).patch(&no_other_pods).await;
    delete_pods(&any, &broken[0]).await;
    until_halted(&cluster, &operator).await;
    assert_eq!(running(&any, &bad).await, broken, "it stays halted until that one is Ready");

    let edited = any.sibling("stage-01");
    edited.patch(&edit).await;
    edited.wait_ready().await;
    let new = any.sibling("prod-new");
    new.apply(&json!({ "framework": "go", "environment": "prod" })).await;
    new.until_deployment("a new app waits for nobody", |live| live["spec"]["replicas"] == 1).await;

    drop(operator);
    let mark = cluster.audit_mark().unwrap();
    let operator = manager(&cluster, "manager-restarted", &mount).await;
    until_halted(&cluster, &operator).await;
    assert_eq!(requests(&cluster, mark).writes().resource("deployments").count(), 0, "it stays halted");
    let still: Vec<_> = broken.iter().cloned().chain(["prod-new".to_owned()]).collect();
    assert_eq!(running(&any, &bad).await, still);
    is_kept(&any.sibling("prod-02")).await;
    assert_eq!(running(&any, &bad).await, still, "nobody who is scaled takes the change along");

    let good = "docker.io/traefik/whoami:v1.12";
    mount.put(&with_starter(good));
    eventually("every app has the mended change", async || {
        let running = running(&any, good).await;
        holds(running.len() == 9 - mended.len(), || format!("{running:?}"))
    })
    .await;
    any.kubectl(&["wait", "egapps", "--all", "--for=condition=Ready", "--timeout=90s"]).await;
    until_metric(&operator, HALTED, 0.0).await;
    until_told(&cluster, "PlatformChangeComplete").await;

    fails_for_another_cause(&any, &operator).await;
    operator.stop().await;
}

/// Names of the apps that have no image, sorted.
async fn without_image(app: &App<'_>) -> Vec<String> {
    let apps = app.items("egapps").await;
    let is = |app: &&Value| reason(app) == "ImageUnresolved";
    let mut names: Vec<_> =
        apps.iter().filter(is).map(|app| app["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_change_that_cannot_be_applied_stays_halted_over_restarts_and_edits_of_no_use() {
    let cluster = installed().await;
    let mount = Mount::new(&with_starter(STARTER));
    let mut operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, 3).await;
    let shipped = with_starter(STARTER);
    let (before, after) = shipped.split_once(&format!("    go:\n      image: {STARTER}\n")).unwrap();
    let without_starter = format!("{before}{}", after.split_once("runAsUser: 65532\n").unwrap().1);

    mount.put(&without_starter);
    until_halted(&cluster, &operator).await;
    let broken = without_image(&any).await;
    assert!(
        (1..=AT_A_TIME).contains(&broken.len()) && broken.iter().all(|name| name.starts_with("dev")),
        "{broken:?}"
    );
    for number in 1..3 {
        drop(operator);
        operator = manager(&cluster, &format!("manager-{number}"), &mount).await;
        until_halted(&cluster, &operator).await;
        assert_eq!(without_image(&any).await, broken);
        any.sibling(&broken[0]).patch(&json!({ "spec": { "replicaCount": 1 + number } })).await;
        until_halted(&cluster, &operator).await;
        assert_eq!(without_image(&any).await, broken);
    }
    mount.put(&shipped);
    any.kubectl(&["wait", "egapps", "--all", "--for=condition=Ready", "--timeout=90s"]).await;
    until_metric(&operator, HALTED, 0.0).await;
    until_told(&cluster, "PlatformChangeComplete").await;
    operator.stop().await;
}

//! Apps that would hold up a change, or that the change does not reach yet.

use cluster::{Cluster, Failure};
use serde_json::{Value, json};

use crate::support::app::reason;
use crate::support::mount::Mount;
use crate::support::operator::{identity, requests, requests_when_quiet};
use crate::support::{App, Operator, eventually, holds};
use crate::{HALTED, STARTER, installed, manager, platform, until_metric, until_told};

/// The platform file whose starter for `go` is that image, one app at a time.
fn with_starter(image: &str) -> String {
    platform(1, &[(STARTER, image)])
}

fn image(deployment: &Value) -> &str {
    deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default()
}

async fn apply(app: &App<'_>, framework: &str, environment: &str) {
    app.apply(&json!({ "framework": framework, "environment": environment })).await;
    app.wait_ready().await;
}

async fn has_image(app: &App<'_>, wanted: &str) {
    app.until_deployment(wanted, |live| image(live) == wanted).await;
}

#[tokio::test]
async fn a_former_file_put_back_is_not_halted_by_an_app_that_fails_for_a_reason_of_its_own() {
    let cluster = installed().await;
    let mount = Mount::new(&with_starter(STARTER));
    let operator = manager(&cluster, "manager", &mount).await;
    let dev = App::named(&cluster, "dev").await;
    let prod = App::named(&cluster, "prod").await;
    apply(&dev, "go", "dev").await;
    apply(&prod, "go", "prod").await;
    let (good, bad) = ("docker.io/traefik/whoami:v1.12", Failure::ImagePull.image());
    mount.put(&with_starter(good));
    until_told(&cluster, "PlatformChangeComplete").await;

    prod.kubectl(&["create", "quota", "full", "--hard=pods=0"]).await;
    prod.kubectl(&["delete", "pods", "--all"]).await;
    prod.until("it fails", |app| reason(app) == "QuotaExceeded").await;
    mount.put(&with_starter(&bad));
    until_metric(&operator, HALTED, 1.0).await;
    has_image(&dev, &bad).await;
    has_image(&prod, good).await;
    mount.put(&with_starter(good));
    has_image(&dev, good).await;
    dev.wait_ready().await;
    until_metric(&operator, HALTED, 0.0).await;
    operator.stop().await;
}

/// A file in which a rollout has five seconds to make progress, and takes three in prod.
fn with_short_deadline(image: &str) -> String {
    let changes = [
        ("startupSeconds: 180", "startupSeconds: 1"),
        ("startupSeconds: 60", "startupSeconds: 1"),
        ("startupSeconds: 30", "startupSeconds: 1"),
        ("minReadySeconds: 0", "minReadySeconds: 3\n    progressDeadlineSeconds: 5"),
        (STARTER, image),
    ];
    platform(1, &changes)
}

/// Deletes the Service, which a finalizer holds from then on.
async fn hold_service(app: &App<'_>) {
    let hold = r#"{"metadata":{"finalizers":["example.com/hold"]}}"#;
    app.kubectl(&["patch", "service", &app.name, "--type=merge", "-p", hold]).await;
    app.kubectl(&["delete", "service", &app.name, "--wait=false"]).await;
}

async fn release_service(app: &App<'_>) {
    let release = r#"{"metadata":{"finalizers":null}}"#;
    app.kubectl(&["patch", "service", &app.name, "--type=merge", "-p", release]).await;
}

#[tokio::test]
async fn an_app_that_hangs_without_failing_holds_up_nobody_for_ever_without_a_word() {
    let cluster = installed().await;
    let mount = Mount::new(&with_short_deadline(STARTER));
    let operator = manager(&cluster, "manager", &mount).await;
    let dev = App::named(&cluster, "dev").await;
    let (first, second) = (dev.sibling("prod-1"), dev.sibling("prod-2"));
    apply(&dev, "go", "dev").await;
    apply(&first, "go", "prod").await;
    apply(&second, "go", "prod").await;
    hold_service(&dev).await;
    dev.until("it hangs", |app| reason(app) == "RollingOut").await;
    let good = "docker.io/traefik/whoami:v1.12";
    mount.put(&with_short_deadline(good));
    has_image(&dev, good).await;
    // That one was not Ready before, and says nothing about the change. This one was.
    has_image(&first, good).await;
    hold_service(&first).await;
    let note = until_told(&cluster, "PlatformChangeHalted").await;
    assert!(
        note.contains("prod-1") && note.contains("former Service") && note.contains("no further"),
        "{note}"
    );
    assert_eq!((operator.metric(HALTED), image(&second.deployment().await)), (Some(1.0), STARTER));
    assert_eq!(first.get().await["status"]["lastFailure"]["reason"], "RollingOut");
    release_service(&first).await;
    has_image(&second, good).await;
    until_told(&cluster, "PlatformChangeComplete").await;
    operator.stop().await;
}

/// All apps get more memory, and those of `go` an image that cannot be pulled.
fn breaks_go(max_failing: usize) -> String {
    let allowed = format!("maxConcurrent: 1\n  maxFailing: {max_failing}");
    let bad = Failure::ImagePull.image();
    platform(1, &[(STARTER, &bad), ("memory: 256Mi", "memory: 300Mi"), ("maxConcurrent: 1", &allowed)])
}

#[tokio::test]
async fn an_administrator_goes_on_past_an_app_that_fails_and_no_scale_to_zero_does() {
    let cluster = installed().await;
    let mount = Mount::new(&platform(1, &[]));
    let mut operator = manager(&cluster, "manager", &mount).await;
    let dev = App::named(&cluster, "dev").await;
    let prod = dev.sibling("prod");
    apply(&dev, "go", "dev").await;
    apply(&prod, "python", "stage").await;
    let former = image(&prod.deployment().await).to_owned();
    mount.put(&breaks_go(0));
    until_metric(&operator, HALTED, 1.0).await;

    dev.patch(&json!({ "spec": { "replicaCount": 0 } })).await;
    dev.until("it is scaled", |app| reason(app) == "ScaledToZero").await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    assert_eq!(operator.metric(HALTED), Some(1.0));
    drop(operator);
    operator = manager(&cluster, "manager-restarted", &mount).await;
    until_metric(&operator, HALTED, 1.0).await;
    dev.patch(&json!({ "spec": { "replicaCount": 1 } })).await;
    dev.until("it fails again", |app| reason(app) == "ImagePull").await;
    let memory = |live: &Value| {
        live["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"].clone()
    };
    assert_eq!(memory(&prod.deployment().await), "256Mi");

    let generation = dev.deployment().await["metadata"]["generation"].clone();
    mount.put(&breaks_go(1));
    prod.until_deployment("it goes on", |live| memory(live) == "300Mi").await;
    prod.wait_ready().await;
    assert_eq!(image(&prod.deployment().await), former);
    let note = until_told(&cluster, "PlatformChangeComplete").await;
    assert!(note.contains("1 fail with it"), "{note}");
    assert_eq!((operator.metric(HALTED), reason(&dev.get().await)), (Some(0.0), "ImagePull"));
    assert_eq!(dev.deployment().await["metadata"]["generation"], generation);
    operator.stop().await;
}

/// Takes out of the history what an older release does not write.
async fn as_an_older_release_leaves_it(app: &App<'_>) {
    let patch = r#"{"data":{"change":null,"build":null}}"#;
    let arguments = ["-n", "pe-app-system", "patch", "configmap", HISTORY, "--type=merge", "-p", patch];
    app.cluster.kubectl(arguments).await.unwrap();
}

const HISTORY: &str = "pe-app-platform-history";

#[tokio::test]
async fn an_app_that_waits_is_cared_for_where_nobody_knows_what_made_its_pods() {
    let cluster = installed().await;
    let mount = Mount::new(&with_starter(STARTER));
    let operator = manager(&cluster, "manager", &mount).await;
    let dev = App::named(&cluster, "dev").await;
    let prod = dev.sibling("prod");
    apply(&dev, "go", "dev").await;
    apply(&prod, "go", "prod").await;
    let scaled = dev.sibling("scaled");
    let autoscaling = json!({ "minReplicas": 1, "maxReplicas": 3 });
    scaled.apply(&json!({ "framework": "go", "environment": "prod", "autoscaling": autoscaling })).await;
    scaled.wait_ready().await;
    operator.stop().await;
    cluster.kubectl(["-n", "pe-app-system", "delete", "configmap", HISTORY]).await.unwrap();
    mount.put(&with_starter(&Failure::ImagePull.image()));
    let operator = manager(&cluster, "manager-upgraded", &mount).await;
    until_metric(&operator, HALTED, 1.0).await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    drop(operator);

    as_an_older_release_leaves_it(&dev).await;
    let mark = cluster.audit_mark().unwrap();
    let operator = manager(&cluster, "manager-upgraded-again", &mount).await;
    until_metric(&operator, HALTED, 1.0).await;
    requests_when_quiet(&cluster, mark).await;
    assert_eq!(requests(&cluster, mark).writes().count(), 0, "what was marked by it counts");

    prod.kubectl(&["scale", "deployment", "prod", "--replicas=3"]).await;
    prod.until_deployment("it is scaled back", |live| live["spec"]["replicas"] == 1).await;
    for (app, kind) in [(&prod, "service"), (&prod, "poddisruptionbudget"), (&scaled, "hpa")] {
        app.kubectl(&["delete", kind, &app.name]).await;
        eventually("what was deleted is back", async || {
            holds(app.object(kind).await.is_some(), || format!("the {kind} is gone"))
        })
        .await;
    }
    prod.kubectl(&["label", "service", "prod", "app.kubernetes.io/managed-by=me", "--overwrite"]).await;
    eventually("it is put right", async || {
        let service = prod.object("service").await.unwrap();
        let by = service["metadata"]["labels"]["app.kubernetes.io/managed-by"].clone();
        holds(by == "pe-app", || by.to_string())
    })
    .await;
    requests_when_quiet(&cluster, mark).await;
    assert_eq!((operator.metric(HALTED), image(&prod.deployment().await)), (Some(1.0), STARTER));
    operator.stop().await;
}

/// A manager that takes part in the election.
async fn candidate(cluster: &Cluster, name: &str, mount: &Mount) -> Operator {
    let operator = Operator::start_with(cluster, name, &identity(), |command| {
        command.arg(format!("--platform-config={}", mount.file().display()));
    })
    .await;
    operator.ready().await;
    operator
}

#[tokio::test]
async fn a_new_leader_whose_file_has_been_replaced_waits_for_the_one_that_held_last() {
    let cluster = installed().await;
    let [of_leader, of_standby] = [STARTER; 2].map(|image| Mount::new(&with_starter(image)));
    let leader = candidate(&cluster, "leader", &of_leader).await;
    leader.leading().await;
    let standby = candidate(&cluster, "standby", &of_standby).await;
    let dev = App::named(&cluster, "dev").await;
    apply(&dev, "go", "dev").await;
    let [next, last] = ["docker.io/traefik/whoami:v1.12", "docker.io/traefik/whoami:v1.13"];
    of_leader.put(&with_starter(next));
    has_image(&dev, next).await;
    dev.wait_ready().await;
    until_told(&cluster, "PlatformChangeComplete").await;
    drop(leader);

    let mark = cluster.audit_mark().unwrap();
    standby.leading().await;
    requests_when_quiet(&cluster, mark).await;
    assert_eq!(image(&dev.deployment().await), next, "{}", standby.log());
    assert!(standby.log().contains("no app has a turn"), "{}", standby.log());
    of_standby.put(&with_starter(next));
    requests_when_quiet(&cluster, mark).await;
    assert_eq!(requests(&cluster, mark).writes().count(), 0, "it goes on where the other one was");
    of_standby.put(&with_starter(last));
    has_image(&dev, last).await;
    standby.stop().await;
}

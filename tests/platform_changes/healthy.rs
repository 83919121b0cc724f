//! Changes that apps can live with.

use std::collections::BTreeMap;

use cluster::{AuditMark, Cluster, Failure};
use serde_json::Value;

use crate::record::{Progress, Record};
use crate::support::mount::Mount;
use crate::support::operator::{requests, requests_when_quiet};
use crate::support::{App, eventually, holds};
use crate::{apps_in_each_environment, installed, manager, platform, told, until_told};

const AT_A_TIME: usize = 5;
const OF_EACH: usize = 20;

fn with_memory(memory: &str) -> String {
    platform(AT_A_TIME, &[("memory: 256Mi", &format!("memory: {memory}"))])
}

fn has_memory(memory: &str) -> impl Fn(&Value) -> bool {
    move |deployment| {
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        container["resources"]["limits"]["memory"] == memory
    }
}

/// How often each Deployment was applied since `mark`.
fn applies(cluster: &Cluster, mark: AuditMark) -> BTreeMap<String, usize> {
    let mut applies = BTreeMap::new();
    for event in requests(cluster, mark).writes().resource("deployments").events() {
        *applies.entry(event.name).or_default() += 1;
    }
    applies
}

fn done(progress: &BTreeMap<String, Progress>) -> usize {
    progress.values().filter(|progress| **progress == Progress::Done).count()
}

/// Waits until so many Deployments are done with the change to that memory.
async fn until_done(record: &Record, memory: &str, count: usize) {
    eventually("apps have the change", async || {
        let progress = record.check(AT_A_TIME, has_memory(memory));
        holds(done(&progress) >= count, || format!("{} of {count}: {progress:?}", done(&progress)))
    })
    .await;
}

#[tokio::test]
async fn a_size_change_reaches_sixty_apps_in_turn_also_when_the_manager_dies_in_the_middle() {
    let cluster = installed().await;
    let mount = Mount::new(&with_memory("256Mi"));
    let operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, OF_EACH).await;
    let chronic = any.sibling("dev-chronic");
    let spec =
        serde_json::json!({ "framework": "go", "environment": "dev", "image": Failure::ImagePull.image() });
    let elsewhere = App { namespace: cluster.namespace("elsewhere").await.unwrap(), ..chronic };
    elsewhere.apply(&spec).await;
    elsewhere.until("it never comes up", |app| crate::support::app::reason(app) == "ImagePull").await;
    // One more that is never Ready, though its pods run: it waits for its turn all the same.
    any.kubectl(&["create", "service", "clusterip", "prod-impaired", "--tcp=80"]).await;
    let impaired = any.sibling("prod-impaired");
    impaired.apply(&serde_json::json!({ "framework": "go", "environment": "prod" })).await;
    impaired.until("it is told", |app| crate::support::app::reason(app) == "NameConflict").await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;

    let record = Record::begin(&any, "record-1").await;
    let mark = cluster.audit_mark().unwrap();
    mount.put(&with_memory("300Mi"));
    until_done(&record, "300Mi", 3 * OF_EACH + 1).await;
    until_told(&cluster, "PlatformChangeComplete").await;
    requests_when_quiet(&cluster, mark).await;
    let applied = applies(&cluster, mark);
    assert_eq!(applied.len(), 3 * OF_EACH + 2, "the app that is broken for a reason of its own gets it too");
    assert!(applied.values().all(|count| *count == 1), "{applied:?}");
    let begun = &told(&cluster).await[0].1;
    assert!(begun.contains("dev 21, stage 20, prod 21") && begun.contains("5 apps at a time"), "{begun}");

    let (record, mark) = (Record::begin(&any, "record-2").await, cluster.audit_mark().unwrap());
    mount.put(&with_memory("320Mi"));
    until_done(&record, "320Mi", OF_EACH + OF_EACH / 2).await;
    drop(operator);
    let finished = record.check(AT_A_TIME, has_memory("320Mi"));
    let restart = cluster.audit_mark().unwrap();
    let operator = manager(&cluster, "manager-restarted", &mount).await;
    until_done(&record, "320Mi", 3 * OF_EACH + 1).await;
    requests_when_quiet(&cluster, mark).await;
    let applied = applies(&cluster, mark);
    assert!(applied.values().all(|count| *count == 1), "{applied:?}");
    let again = requests(&cluster, restart).writes().filter(|event| {
        finished.get(&event.name) == Some(&Progress::Done) && event.namespace == any.namespace
    });
    // The status of an app whose rollout ended while nobody looked is the one thing left to write.
    assert!(again.clone().resource("deployments").count() == 0 && again.count() <= AT_A_TIME, "{again:#?}");
    operator.stop().await;
}

#[tokio::test]
async fn another_file_at_the_start_as_another_release_reaches_apps_in_turn_too() {
    let cluster = installed().await;
    let mount = Mount::new(&platform(1, &[]));
    let operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, 2).await;
    let restarted = any.sibling("dev-01");
    for at in [serde_json::json!("2026-02-03T04:05:06Z"), Value::Null] {
        restarted.patch(&serde_json::json!({ "spec": { "restartedAt": at } })).await;
        restarted.wait_for_its_generation().await;
    }
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    operator.stop().await;

    let record = Record::begin(&any, "record").await;
    mount.put(&platform(1, &[("memory: 256Mi", "memory: 300Mi")]));
    let operator = manager(&cluster, "manager-upgraded", &mount).await;
    eventually("apps have the change", async || {
        let progress = record.check(1, has_memory("300Mi"));
        holds(done(&progress) == 6, || format!("{progress:?}"))
    })
    .await;
    any.sibling("dev-00").told(&["Created", "PlatformChanged", "RolledOut"]).await;
    let annotations = &restarted.deployment().await["spec"]["template"]["metadata"]["annotations"];
    let at = &annotations["egplatform.platform.evillgenius.com/restarted-at"];
    assert_eq!(at, "2026-02-03T04:05:06Z", "a restart that was taken back is no change of any other");
    operator.stop().await;
}

/// Leaves the Deployment as a release left it that spread pods of all templates alike.
async fn make_as_a_former_release(app: &App<'_>) {
    let keys = |place| format!("/spec/template/spec/topologySpreadConstraints/{place}/matchLabelKeys");
    let digest = |name| format!("/metadata/annotations/egplatform.platform.evillgenius.com~1applied-{name}");
    let patch = serde_json::json!([
        { "op": "remove", "path": keys(0) },
        { "op": "remove", "path": keys(1) },
        { "op": "replace", "path": digest("template"), "value": "00000000000000aa" },
        { "op": "replace", "path": digest("digest"), "value": "00000000000000ab" },
    ]);
    app.kubectl(&["patch", "deployment", &app.name, "--type=json", "-p", &patch.to_string()]).await;
    app.kubectl(&["rollout", "status", &format!("deployment/{}", app.name)]).await;
}

#[tokio::test]
async fn a_release_that_spreads_pods_otherwise_reaches_apps_in_turn() {
    let cluster = installed().await;
    let mount = Mount::new(&platform(1, &[]));
    let operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, 2).await;
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;
    operator.stop().await;
    for name in ["stage-00", "stage-01", "prod-00", "prod-01"] {
        make_as_a_former_release(&any.sibling(name)).await;
    }

    let record = Record::begin(&any, "record").await;
    let operator = manager(&cluster, "manager-upgraded", &mount).await;
    // The pods of dev are not spread, so that nothing changes there.
    let spreads_so = |live: &Value| {
        let constraints = live["spec"]["template"]["spec"]["topologySpreadConstraints"].as_array();
        let mut constraints = constraints.into_iter().flatten();
        constraints.all(|one| one["matchLabelKeys"] == serde_json::json!(["pod-template-hash"]))
    };
    eventually("apps have the change", async || {
        let progress = record.check(1, spreads_so);
        holds(done(&progress) == 6, || format!("{progress:?}"))
    })
    .await;
    operator.stop().await;
}

#[tokio::test]
async fn an_app_that_is_scaled_while_it_waits_gets_the_change_in_its_turn() {
    let cluster = installed().await;
    let mount = Mount::new(&platform(1, &[]));
    let operator = manager(&cluster, "manager", &mount).await;
    let any = apps_in_each_environment(&cluster, 2).await;
    let record = Record::begin(&any, "record").await;
    mount.put(&platform(1, &[("memory: 256Mi", "memory: 300Mi")]));
    until_told(&cluster, "PlatformChangeBegun").await;
    let scaled = any.sibling("prod-00");
    scaled.patch(&serde_json::json!({ "spec": { "replicaCount": 2 } })).await;
    scaled.until_deployment("it is scaled", |live| live["spec"]["replicas"] == 2).await;
    assert!(has_memory("256Mi")(&scaled.deployment().await), "it has no other pods yet");
    eventually("apps have the change", async || {
        let progress = record.check(1, has_memory("300Mi"));
        holds(done(&progress) == 6, || format!("{progress:?}"))
    })
    .await;
    until_told(&cluster, "PlatformChangeComplete").await;
    operator.stop().await;
}

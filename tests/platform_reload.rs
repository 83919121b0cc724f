//! The platform file under a running manager: swapped as the kubelet swaps a mounted ConfigMap, good, broken and gone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

mod support;

use cluster::{Cluster, Shared};
use serde_json::{Value, json};
use support::mount::Mount;
use support::operator::{identity, install, own_pod};
use support::{App, Operator, eventually, full_with_crd, holds};

static CLUSTER: Shared = Shared::new(full_with_crd);

const IS_GOOD: &str = "egapp_platform_config_last_reload_successful";
const REFUSED: &str = "egapp_platform_config_reloads_total{result=\"failure\"}";
const TAKEN: &str = "egapp_platform_config_reloads_total{result=\"success\"}";

/// A platform file in which `lowMem` has so much memory.
fn with_memory(memory: &str) -> String {
    let shipped = std::fs::read_to_string(support::project("config/manager/platform.yaml")).unwrap();
    let changed = shipped.replacen("memory: 256Mi", &format!("memory: {memory}"), 1);
    assert!(memory == "256Mi" || changed != shipped, "the shipped file says what lowMem is");
    changed
}

/// What `with_three_faults` has wrong.
const FAULTY: [&str; 3] = ["sizes.lowMem.memory", "frameworks.go.goMemLimit", "environments.stage.spread"];

/// One value that cannot be, and two that are of another type.
fn with_three_faults() -> String {
    with_memory("lots").replace("goMemLimit: true", "goMemLimit: 12").replacen(
        "spread: true",
        "spread: zones",
        1,
    )
}

/// Notes of the events about the manager's own pod, the earliest first, each with its reason.
async fn told(cluster: &Cluster) -> Vec<(String, String)> {
    let events = cluster.kubectl_json(["-n", "pe-app-system", "get", "events.events.k8s.io"]).await.unwrap();
    let uid = own_pod(cluster).await.expect("the manager has a pod")["metadata"]["uid"].clone();
    let mut events = events["items"].as_array().unwrap().clone();
    events
        .retain(|event| event["regarding"]["uid"] == uid && event["reportingController"] == "pe-app-manager");
    events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    events.iter().map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
}

async fn until_metric(operator: &Operator, series: &str, wanted: f64) {
    eventually("the metric says so", async || {
        let found = operator.metric(series);
        holds(found == Some(wanted), || format!("{series} is {found:?}, not {wanted}"))
    })
    .await;
}

/// The newest first.
async fn the_history_holds(cluster: &Cluster, memories: [&str; 2]) {
    let history = ["-n", "pe-app-system", "get", "configmaps", "--field-selector"];
    let named = ["metadata.name=pe-app-platform-history"];
    eventually("the history is kept", async || {
        let found = cluster.kubectl_json([&history[..], &named].concat()).await.unwrap();
        let data = &found["items"][0]["data"];
        let is = |(key, memory): (&&str, &str)| {
            data[*key].as_str().is_some_and(|text| text.contains(&format!("memory: {memory}")))
        };
        let all = ["current.yaml", "former-1.yaml"].iter().zip(memories).all(is);
        holds(all && data["former-2.yaml"].is_null(), || data.to_string())
    })
    .await;
}

async fn the_log_tells_that_no_history_is_kept(operator: &Operator) {
    eventually("the log tells", async || {
        let log = operator.log();
        let line = log.lines().find(|line| line.contains("pe-app-system/pe-app-platform-history"));
        holds(line.is_some_and(|line| line.contains("cannot get resource")), || log.clone())
    })
    .await;
}

async fn is_taken_when_it_is_back(operator: &Operator, mount: &Mount, text: &str) {
    mount.remove();
    until_metric(operator, IS_GOOD, 0.0).await;
    mount.put(text);
    until_metric(operator, IS_GOOD, 1.0).await;
    assert_eq!(operator.metric(TAKEN), Some(1.0), "it says what held already");
    let (code, text) = operator.probe("/readyz?verbose");
    assert!(code == 200 && !text.contains("cannot"), "{code} {text}");
}

#[tokio::test]
async fn a_broken_platform_file_is_refused_for_all_to_see_and_changes_nothing() {
    let cluster = CLUSTER.get().await.unwrap();
    install(cluster).await;
    eventually("the manager has a pod", async || {
        holds(own_pod(cluster).await.is_some(), || "none".to_owned())
    })
    .await;
    let role = ["-n", "pe-app-system", "delete", "role", "pe-app-platform-history-role"];
    cluster.kubectl(role).await.unwrap();
    let mount = Mount::new(&with_memory("256Mi"));
    let operator = Operator::start_with(cluster, "reload", &identity(), |command| {
        command.arg(format!("--platform-config={}", mount.file().display()));
    })
    .await;
    operator.leading().await;
    the_log_tells_that_no_history_is_kept(&operator).await;
    install(cluster).await;
    let app = App::ready(cluster, "web", &support::app::with_image(1)).await;
    let before = app.deployment().await;

    mount.put(&with_three_faults());
    until_metric(&operator, IS_GOOD, 0.0).await;
    let tells_all = |text: &str| FAULTY.iter().all(|key| text.contains(key));
    let (code, text) = operator.probe("/readyz?verbose");
    assert!(code == 200 && tells_all(&text), "{code} {text}");
    assert_eq!(operator.metric(REFUSED), Some(1.0));
    let told_of = eventually("an event tells", async || {
        let told = told(cluster).await;
        told.last().cloned().ok_or_else(|| "no event".to_owned())
    })
    .await;
    assert_eq!(told_of.0, "PlatformConfigRefused");
    assert!(tells_all(&told_of.1) && told_of.1.contains("platform.yaml:"), "{told_of:?}");
    let line = operator.log().lines().find(|line| tells_all(line)).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains("\"level\":\"error\"")), "{}", operator.log());

    let other = app.sibling("other");
    other.apply(&support::app::with_image(1)).await;
    other.wait_ready().await;
    let memory = "/spec/template/spec/containers/0/resources/limits/memory";
    assert_eq!(other.deployment().await.pointer(memory), Some(&json!("256Mi")), "the last good file holds");
    assert_eq!(app.deployment().await, before);

    mount.put(&with_memory("384Mi"));
    until_metric(&operator, IS_GOOD, 1.0).await;
    assert_eq!((operator.metric(TAKEN), operator.metric(REFUSED)), (Some(1.0), Some(1.0)));
    let newest = app.sibling("newest");
    newest.apply(&support::app::with_image(1)).await;
    newest.wait_ready().await;
    assert_eq!(newest.deployment().await.pointer(memory), Some(&json!("384Mi")));
    eventually("an event tells", async || {
        let told = told(cluster).await;
        let reasons: Vec<_> = told.iter().map(|(reason, _)| reason.as_str()).collect();
        holds(
            reasons.first() == Some(&"PlatformConfigRefused") && reasons.contains(&"PlatformConfigChanged"),
            || format!("{told:?}"),
        )
    })
    .await;

    the_history_holds(cluster, ["384Mi", "256Mi"]).await;

    is_taken_when_it_is_back(&operator, &mount, &with_memory("384Mi")).await;
    operator.stop().await;
}

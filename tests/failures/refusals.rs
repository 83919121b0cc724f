//! Pods that the API server refuses: told in its own words. Its real answers are kept in `tests/failures/refusals`, and
//! compared with what it says now; `UPDATE_GOLDEN=1` records them anew.

use std::fs;

use serde_json::{Value, json};

use crate::support::policy::{refusing, until_refused};
use crate::support::{App, project};
use crate::{GOOD, app_of, cluster, failing, recovered, running};

/// The sentence that the Deployment shows, recorded under that name, without what differs from run to run.
pub(crate) async fn recorded(app: &App<'_>, name: &str) -> String {
    let is_failure = |one: &&Value| one["type"] == "ReplicaFailure";
    let conditions = |live: &Value| live["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let live =
        app.until_deployment("a failure", |live| conditions(live).iter().any(|one| is_failure(&one))).await;
    let failure = conditions(&live).into_iter().find(|one| is_failure(&one)).unwrap();
    let raw = failure["message"].as_str().unwrap();
    let sentence = raw.replace(&app.namespace, "team");
    let path = project("tests/failures/refusals").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{sentence}\n")).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap();
    assert_eq!(nameless(&sentence), nameless(known.trim_end()), "{name}: the API server has other words now");
    nameless(raw)
}

/// The sentence without the random name of the pod.
fn nameless(sentence: &str) -> String {
    let (start, rest) = sentence.split_once("pods \"web-").unwrap();
    let (_, end) = rest.split_once('"').unwrap();
    format!("{start}pods \"<pod>\"{end}")
}

#[tokio::test]
async fn a_quota_without_room_for_pods_is_told_and_clears_when_there_is_room() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "quota", "one", "--hard=pods=1"]).await;
    app.apply(&running(GOOD, 2)).await;
    let message = failing(&app, "QuotaExceeded").await;
    let sentence = recorded(&app, "quota.txt").await;
    assert_eq!(
        message,
        format!("new pods are refused: {sentence}; free some of the quota or ask for a larger one")
    );
    app.kubectl(&["delete", "quota", "one"]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn pods_without_their_service_account_are_told_and_come_when_it_is_there() {
    let mut spec = running(GOOD, 1);
    spec["serviceAccountName"] = "robot".into();
    let app = app_of(&spec).await;
    let message = failing(&app, "PodsRefused").await;
    assert_eq!(message, format!("new pods are refused: {}", recorded(&app, "service-account.txt").await));
    app.kubectl(&["create", "serviceaccount", "robot"]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn pods_that_pod_security_refuses_are_told_and_come_when_it_allows_them() {
    let cluster = cluster().await;
    let app = App::ready(cluster, "web", &running(GOOD, 1)).await;
    let label = "pod-security.kubernetes.io/enforce";
    cluster.kubectl(["label", "namespace", &app.namespace, &format!("{label}=restricted")]).await.unwrap();
    let sidecar = json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "proxy", "image": "registry.example.com/proxy:1" },
    ] } } } });
    app.kubectl(&["patch", "deployment", "web", "-p", &sidecar.to_string()]).await;
    let message = failing(&app, "PodsRefused").await;
    assert_eq!(message, format!("new pods are refused: {}", recorded(&app, "pod-security.txt").await));
    cluster.kubectl(["label", "namespace", &app.namespace, &format!("{label}-")]).await.unwrap();
    recovered(&app).await;
}

#[tokio::test]
async fn pods_that_a_policy_refuses_are_told_and_come_when_it_is_gone() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&refusing(&app.namespace, "CREATE", ("", "v1"), "pods")).await.unwrap();
    until_refused(&app, true, &["run", "probe", "--image=x:1", "--dry-run=server"]).await;
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "PodsRefused").await;
    assert_eq!(message, format!("new pods are refused: {}", recorded(&app, "policy.txt").await));
    cluster.kubectl(["delete", "validatingadmissionpolicybinding", &app.namespace]).await.unwrap();
    recovered(&app).await;
}

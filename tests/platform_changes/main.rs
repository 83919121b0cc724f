//! A change of the platform file on its way to running apps: in which order, how many at a time, what halts it, and what a
//! manager that dies in the middle makes of it. The order is read from a watch that was there before the change.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod broken;
mod healthy;
mod held_up;
mod record;

use std::fmt::Write as _;

use cluster::Cluster;
use serde_json::Value;
use support::mount::Mount;
use support::operator::{identity, install, own_pod};
use support::{App, Operator, eventually, full_with_crd, holds, project};

const ENVIRONMENTS: [&str; 3] = ["dev", "stage", "prod"];
const HALTED: &str = "egapp_platform_change_halted";

/// The starter for `go` of the shipped platform file.
const STARTER: &str = "docker.io/traefik/whoami:v1.11";

/// The shipped platform file, with short rollouts, in which so many apps change at a time, and each `(is, becomes)` is
/// replaced.
fn platform(at_a_time: usize, changes: &[(&str, &str)]) -> String {
    let shipped = std::fs::read_to_string(project("config/manager/platform.yaml")).unwrap();
    let at_a_time = format!("maxConcurrent: {at_a_time}");
    let all = [("minReadySeconds: 10", "minReadySeconds: 0"), ("maxConcurrent: 5", at_a_time.as_str())];
    all.iter().chain(changes).fold(shipped, |text, (is, becomes)| {
        assert!(text.contains(is), "{is} is in the file");
        text.replace(is, becomes)
    })
}

/// An installed control plane whose manager's pod is there, to have events.
async fn installed() -> Cluster {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    eventually("the manager has a pod", async || {
        holds(own_pod(&cluster).await.is_some(), || "none".to_owned())
    })
    .await;
    cluster
}

/// A manager on that platform file. Without an election, so that the next one need not wait for a lease to expire.
async fn manager(cluster: &Cluster, name: &str, mount: &Mount) -> Operator {
    let operator = Operator::start_with(cluster, name, &identity(), |command| {
        command.arg("--leader-elect=false");
        command.arg(format!("--platform-config={}", mount.file().display()));
    })
    .await;
    operator.ready().await;
    operator
}

/// Makes `count` apps of the smallest spec in each environment, and waits until they are Ready.
async fn apps_in_each_environment(cluster: &Cluster, count: usize) -> App<'_> {
    let any = App::named(cluster, "any").await;
    let mut text = String::new();
    for environment in ENVIRONMENTS {
        for i in 0..count {
            write!(
                text,
                "---\napiVersion: egplatform.platform.evillgenius.com/v1alpha1\nkind: EGApp\n\
                 metadata: {{namespace: {}, name: {environment}-{i:02}}}\n\
                 spec: {{framework: go, environment: {environment}, service: {{enabled: false}}}}\n",
                any.namespace
            )
            .unwrap();
        }
    }
    cluster.apply(&text).await.unwrap();
    any.kubectl(&["wait", "egapps", "--all", "--for=condition=Ready", "--timeout=120s"]).await;
    any
}

/// Reasons of the events about the manager's own pod that speak of a change, the earliest first, with their notes.
async fn told(cluster: &Cluster) -> Vec<(String, String)> {
    let events = cluster.kubectl_json(["-n", "pe-app-system", "get", "events.events.k8s.io"]).await.unwrap();
    let mut events = events["items"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.retain(|event| text(&event["reason"]).starts_with("PlatformChange"));
    events.sort_by_key(|event| text(&event["eventTime"]));
    events.iter().map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
}

/// Waits for the event of that reason, and returns its note.
async fn until_told(cluster: &Cluster, reason: &str) -> String {
    eventually(reason, async || {
        let told = told(cluster).await;
        let found = told.iter().rev().find(|(found, _)| found == reason);
        found.map(|(_, note)| note.clone()).ok_or_else(|| format!("{told:#?}"))
    })
    .await
}

async fn until_metric(operator: &Operator, series: &str, wanted: f64) {
    eventually("the metric says so", async || {
        let found = operator.metric(series);
        holds(found == Some(wanted), || format!("{series} is {found:?}, not {wanted}"))
    })
    .await;
}

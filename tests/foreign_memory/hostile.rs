//! What a tenant can make the manager hold.

use std::time::Duration;

use egapp_api::labels;
use egapp_api::v1alpha1::EGApp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::operator::install;
use crate::support::{App, Operator, eventually, holds, project};
use crate::{client, create};
use cluster::{Cluster, Options};

/// As many as there are passes at a time in one namespace.
const APPS: usize = 32;

/// What all of these may cost, a pass over each included: a third of what config/manager lets the container take.
const APPS_LIMIT: f64 = 90e6;

const OBJECTS: usize = 60;

/// What all of these may cost: nearly nothing of their 80 MB.
const OBJECTS_LIMIT: f64 = 10e6;

async fn started() -> (Cluster, Operator) {
    let cluster = Options::api().manifest(project("config/crd/bases")).start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    (cluster, operator)
}

fn memory(operator: &Operator) -> f64 {
    operator.metric("process_resident_memory_bytes").unwrap()
}

/// The most that the manager takes until every one of so many apps has its Deployment, and for some seconds after.
async fn peak(operator: &Operator, app: &App<'_>, apps: usize) -> f64 {
    let (mut most, mut quiet) = (0_f64, 0);
    while quiet < 10 {
        most = most.max(memory(operator));
        let reconciles = operator.metric("workqueue_depth{").unwrap();
        quiet = if reconciles == 0.0 { quiet + 1 } else { 0 };
        sleep(Duration::from_millis(100)).await;
    }
    let names = ["get", "deployments", "-o", "jsonpath={.items[*].metadata.name}"];
    eventually("every app has its Deployment", async || {
        let made = app.kubectl(&names).await.split_whitespace().count();
        holds(made == apps, || format!("{made} of {apps}"))
    })
    .await;
    most.max(memory(operator))
}

#[tokio::test]
async fn passes_over_egapps_of_the_greatest_size_take_a_third_of_the_limit_of_the_pod() {
    let (cluster, operator) = started().await;
    let before = memory(&operator);
    let app = App::named(&cluster, "web").await;
    create::<EGApp>(&client(&cluster).await, &app.namespace, 0..APPS, greatest).await;
    let peak_of_creation = peak(&operator, &app, APPS).await;
    let settled = memory(&operator);
    operator.stop().await;
    let operator = Operator::start(&cluster, "again").await;
    operator.leading().await;
    let peak_of_start = peak(&operator, &app, APPS).await;
    println!(
        "{APPS} EGApps of the greatest size: {:.1} MB before, {:.1} at most, {:.1} then; {:.1} at most after a restart, {:.1} then",
        before / 1e6,
        peak_of_creation / 1e6,
        settled / 1e6,
        peak_of_start / 1e6,
        memory(&operator) / 1e6,
    );
    let grown = peak_of_creation.max(peak_of_start) - before;
    assert!(grown < APPS_LIMIT, "{grown} bytes more than {before}");
    operator.stop().await;
}

#[tokio::test]
async fn large_objects_with_our_labels_and_no_egapp_cost_next_to_nothing() {
    let (cluster, operator) = started().await;
    let app = App::named(&cluster, "web").await;
    let client = client(&cluster).await;
    create::<Deployment>(&client, &app.namespace, 0..10, deployment).await;
    create::<Service>(&client, &app.namespace, 0..10, service).await;
    sleep(Duration::from_secs(1)).await;
    let before = memory(&operator);
    create::<Deployment>(&client, &app.namespace, 10..OBJECTS, deployment).await;
    create::<Service>(&client, &app.namespace, 10..OBJECTS, service).await;
    sleep(Duration::from_secs(2)).await;
    let grown = memory(&operator) - before;
    println!("{OBJECTS} large Deployments and Services: {:.1} MB on top of {:.1}", grown / 1e6, before / 1e6);
    assert!(grown < OBJECTS_LIMIT, "{grown} bytes more than {before}");
    operator.stop().await;
}

/// A text that JSON writes in six times its bytes.
fn text(bytes: usize) -> String {
    "\u{1}".repeat(bytes)
}

/// As much as the CRD allows, in as many parts as it allows, and no pods.
fn greatest(number: usize) -> Value {
    let arguments = |bytes: usize| {
        let mut list = vec!["a".to_owned(); 255];
        list.push(text(bytes - 255));
        list
    };
    let mut variables: Vec<_> = (0..255)
        .map(|n| {
            let source = json!({ "configMapKeyRef": { "name": format!("c{n}"), "key": "k".repeat(40) } });
            json!({ "name": format!("V{n:03}"), "valueFrom": source })
        })
        .collect();
    variables.push(json!({ "name": "LAST", "value": text(20_000 - 1500) }));
    let from: Vec<_> = (0..32)
        .map(|n| json!({ "prefix": "p".repeat(253), "configMapRef": { "name": format!("{n:03}{}", "c".repeat(250)) } }))
        .collect();
    let probe = json!({ "exec": { "command": arguments(4096) } });
    let secrets: Vec<_> = (0..16).map(|n| json!({ "name": format!("{n:03}{}", "s".repeat(250)) })).collect();
    json!({ "metadata": { "name": format!("app-{number}") }, "spec": {
        "framework": "go", "environment": "dev", "replicaCount": 0,
        "command": arguments(16_384), "args": arguments(16_384), "env": variables, "envFrom": from,
        "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe, "imagePullSecrets": secrets,
    } })
}

fn deployment(number: usize) -> Value {
    let name = format!("other-{number}");
    let variables: Vec<_> =
        (0..10).map(|n| json!({ "name": format!("V{n}"), "value": "v".repeat(60_000) })).collect();
    json!({
        "metadata": {
            "name": name,
            "labels": { labels::EGAPP: name },
            "annotations": { format!("{}/text", egapp_api::GROUP): "a".repeat(250_000) },
        },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "other" } },
            "template": {
                "metadata": { "labels": { "app": "other" } },
                "spec": { "containers": [{ "name": "other", "image": "registry.example.com/other:1", "env": variables }] },
            },
        },
    })
}

fn service(number: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("other-{number}"),
            "ownerReferences": [{
                "apiVersion": "x.example.com/v1", "kind": "Other", "name": "n".repeat(500_000), "uid": "u".repeat(500_000),
                "controller": true,
            }],
        },
        "spec": { "ports": [{ "port": 80 }] },
    })
}

//! Objects that are nobody's here cost the manager next to nothing. `cargo test --test foreign_memory -- --nocapture`
//! prints the figures.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where its setting fails")]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]
#![allow(clippy::print_stdout, reason = "the figures are worth reading")]

#[path = "foreign_memory/hostile.rs"]
mod hostile;
mod support;

use std::fmt::Debug;

use cluster::{Cluster, Options};
use futures::{StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use support::app::{reason, with_image};
use support::operator::install;
use support::{App, Operator, project};

const PODS: usize = 10_000;
const DEPLOYMENTS: usize = 2_000;

/// What all of them together may cost.
const LIMIT: f64 = 5e6;

#[tokio::test]
async fn ten_thousand_foreign_pods_and_two_thousand_deployments_cost_less_than_five_megabytes() {
    // No controller acts on any of them, and none of them runs.
    let cluster = Options::api().manifest(project("config/crd/bases")).start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    let app = App::named(&cluster, "web").await;
    let client = client(&cluster).await;
    let memory = || operator.metric("process_resident_memory_bytes").unwrap();

    // The first of each kind fills what the manager has anyway.
    create::<Deployment>(&client, &app.namespace, 0..50, deployment).await;
    let before = memory();
    create::<Pod>(&client, &app.namespace, 0..PODS, pod).await;
    create::<Deployment>(&client, &app.namespace, 50..DEPLOYMENTS, deployment).await;
    let last = app.sibling(&format!("other-{}", DEPLOYMENTS - 1));
    last.apply(&with_image(1)).await;
    last.until("the last of them is known", |app| reason(app) == "NameConflict").await;
    let grown = memory() - before;
    println!("{PODS} foreign pods and {DEPLOYMENTS} foreign Deployments: {:.1} MB", grown / 1e6);
    assert!(grown < LIMIT, "{grown} bytes more than {before}");
    operator.stop().await;
}

async fn client(cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Creates the objects of these numbers, some at a time.
async fn create<K>(
    client: &Client,
    namespace: &str,
    numbers: std::ops::Range<usize>,
    object: fn(usize) -> Value,
) where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api = &Api::<K>::namespaced(client.clone(), namespace);
    let one = async |number| {
        let object = serde_json::from_value(object(number)).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    stream::iter(numbers).map(one).buffer_unordered(16).collect::<Vec<_>>().await;
}

fn template(number: usize) -> Value {
    json!({ "containers": [{ "name": "other", "image": format!("registry.example.com/other:{number}") }] })
}

fn pod(number: usize) -> Value {
    json!({ "metadata": { "name": format!("other-{number}"), "labels": { "app": "other" } }, "spec": template(number) })
}

fn deployment(number: usize) -> Value {
    json!({
        "metadata": { "name": format!("other-{number}"), "labels": { "app": "other" } },
        "spec": {
            "selector": { "matchLabels": { "app": "other" } },
            "template": { "metadata": { "labels": { "app": "other" } }, "spec": template(number) },
        },
    })
}

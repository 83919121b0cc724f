//! Two hundred generated EGApps on a real control plane: whatever the schema takes becomes objects that the server
//! takes, also in a namespace of the Pod Security level `restricted`, and that the operator has nothing to add to.
//!
//! `EGAPP_SEED=n cargo test --test generated_apps` replays the seed that a failed run printed.

#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]

mod dice;
mod specs;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{AuditEvents, Cluster};
use serde_json::{Value, json};
use specs::{ACCOUNTS, specs};
use support::operator::{install, requests_when_quiet};
use support::{App, Operator, eventually, full_with_crd, holds, project};

const COUNT: usize = 200;

/// What runs unless `EGAPP_SEED` says another.
const SEED: u64 = 20_260_203;

#[tokio::test]
async fn two_hundred_generated_apps_become_ready_stay_untouched_and_leave_nothing() {
    let apps = specs(seed(), COUNT);
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    let all = restricted_namespace(&cluster).await;

    let mark = cluster.audit_mark().unwrap();
    cluster.apply(&list(apps.iter().map(|(name, spec)| egapp(&all.namespace, name, spec)))).await.unwrap();
    wait_all_ready(&all).await;
    assert_one_apply_for_each_child(&requests_when_quiet(&cluster, mark).await, &apps);
    assert_one_event_tells_of_each_app(&operator, &all).await;
    assert_bare_pods_are_accepted(&all).await;
    assert_a_rest(&cluster).await;

    operator.stop().await;
    let mark = cluster.audit_mark().unwrap();
    let operator = Operator::start(&cluster, "manager-restarted").await;
    operator.leading().await;
    assert_none_but_watches(requests_when_quiet(&cluster, mark).await, "restart");

    all.kubectl(&["delete", "egapps", "--all", "--wait=false"]).await;
    all.until_gone(
        "egapps,deployments,replicasets,pods,services,poddisruptionbudgets,horizontalpodautoscalers",
    )
    .await;
    operator.stop().await;
}

/// An app of no matter which name stands for the namespace.
async fn restricted_namespace(cluster: &Cluster) -> App<'_> {
    let all = App::named(cluster, "all").await;
    let level = "pod-security.kubernetes.io/enforce=restricted";
    all.kubectl(&["label", "namespace", &all.namespace, level]).await;
    for account in ACCOUNTS {
        all.kubectl(&["create", "serviceaccount", account]).await;
    }
    all
}

async fn wait_all_ready(all: &App<'_>) {
    let wait = ["-n", &all.namespace, "wait", "--for=condition=Ready", "egapps", "--all", "--timeout=180s"];
    if let Err(error) = all.cluster.kubectl(wait).await {
        let listed = all.items("egapps").await;
        let waiting = listed.iter().filter(|app| support::app::condition(app, "Ready")["status"] != "True");
        let waiting: Vec<_> = waiting.map(|app| format!("{app:#}")).collect();
        panic!("seed {}: {error}\n{}", seed(), waiting.join("\n"));
    }
}

/// And no read, and nothing refused.
fn assert_one_apply_for_each_child(requests: &AuditEvents, apps: &[(String, Value)]) {
    let count = |wanted: fn(&Value) -> bool| apps.iter().filter(|(_, spec)| wanted(spec)).count();
    let requests = requests.clone().filter(|event| event.verb != "watch");
    let applies = |resource: &str| requests.clone().resource(resource).verb("patch").count();
    let scaled = count(|spec| spec["autoscaling"].is_object() && spec["replicaCount"] != 0);
    // The replicas change hands: one apply for that, and one without them.
    assert_eq!(applies("deployments"), COUNT + 2 * scaled);
    assert_eq!(applies("horizontalpodautoscalers"), scaled);
    assert_eq!(applies("services"), count(|spec| spec["service"]["enabled"] != false));
    assert_eq!(applies("poddisruptionbudgets"), count(|spec| spec["environment"] == "prod"));
    let others = requests.clone().filter(|event| event.verb != "patch").events();
    assert_eq!(others, [], "seed {}", seed());
    let refused = requests.filter(|event| event.code >= 300).events();
    assert_eq!(refused, [], "seed {}", seed());
}

/// That it was made. A warning may come besides; none is too many.
async fn assert_one_event_tells_of_each_app(operator: &Operator, all: &App<'_>) {
    eventually("every app is told of", async || {
        let mut events = all.items("events.events.k8s.io").await;
        events.retain(|event| event["regarding"]["kind"] == "EGApp" && event["type"] == "Normal");
        let apps: BTreeSet<_> = events.iter().map(|event| event["regarding"]["name"].to_string()).collect();
        holds((events.len(), apps.len()) == (COUNT, COUNT), || format!("{} of {}", events.len(), apps.len()))
    })
    .await;
    let dropped = operator.metric("egapp_events_total{controller=\"egapp\",result=\"dropped\"");
    assert_eq!(dropped, Some(0.0));
}

/// A Deployment whose pods are refused is accepted all the same: only a pod tells.
async fn assert_bare_pods_are_accepted(all: &App<'_>) {
    let pod = |deployment: &Value| {
        let template = &deployment["spec"]["template"];
        let mut metadata = template["metadata"].clone();
        metadata["name"] = deployment["metadata"]["name"].clone();
        metadata["namespace"] = json!(all.namespace);
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
    };
    let deployments = all.items("deployments").await;
    assert_eq!(deployments.len(), COUNT);
    let create = ["create", "--dry-run=server", "-o", "name", "-f", "-"];
    let pods = list(deployments.iter().map(pod));
    let accepted = all.cluster.admin().run_with_input(create, &pods).await;
    let accepted = accepted.unwrap_or_else(|error| panic!("seed {}: {error}", seed()));
    assert_eq!(accepted.lines().count(), COUNT, "{accepted}");
}

async fn assert_a_rest(cluster: &Cluster) {
    let mark = cluster.audit_mark().unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_none_but_watches(requests_when_quiet(cluster, mark).await, "rest");
}

fn assert_none_but_watches(requests: AuditEvents, phase: &str) {
    let others = requests.filter(|event| event.verb != "watch").events();
    assert_eq!(others, [], "seed {}: {phase}", seed());
}

#[test]
fn every_field_of_the_schema_is_given_by_one_spec_and_every_optional_one_left_out_by_another() {
    let path = project("config/crd/bases/egplatform.platform.evillgenius.com_egapps.yaml");
    let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let (mut known, mut given) = (BTreeSet::new(), BTreeSet::new());
    fields_of_schema(schema, "spec", &mut known);
    let specs = specs(SEED, COUNT);
    for (_, spec) in &specs {
        fields_of_value(spec, "spec", &mut given);
    }
    assert!(known.len() > 60, "{known:#?}");
    assert_eq!(known, given);
    let required: Vec<_> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for field in schema["properties"].as_object().unwrap().keys() {
        let is_always_given = specs.iter().all(|(_, spec)| spec.get(field).is_some());
        assert_eq!(is_always_given, required.contains(&field.as_str()), "{field}");
    }
}

fn fields_of_schema(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        fields_of_schema(property, &path, fields);
        fields_of_schema(&property["items"], &path, fields);
        fields.insert(path);
    }
}

fn fields_of_value(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    for item in value.as_array().into_iter().flatten() {
        fields_of_value(item, path, fields);
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        fields_of_value(member, &path, fields);
        fields.insert(path);
    }
}

#[test]
fn a_seed_gives_the_same_specs_again_and_another_seed_others() {
    assert_eq!(specs(SEED, COUNT), specs(SEED, COUNT));
    assert_ne!(specs(SEED, COUNT), specs(SEED + 1, COUNT));
}

#[allow(clippy::print_stderr, reason = "whoever reads a failure must know the seed")]
fn seed() -> u64 {
    let seed = std::env::var("EGAPP_SEED").map_or(SEED, |text| text.parse().expect("EGAPP_SEED is a number"));
    eprintln!("EGAPP_SEED={seed}");
    seed
}

fn egapp(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1",
        "kind": "EGApp",
        "metadata": { "namespace": namespace, "name": name },
        "spec": spec,
    })
}

fn list(items: impl Iterator<Item = Value>) -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>() }).to_string()
}

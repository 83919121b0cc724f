//! Golden cases: `tests/golden/<case>/egapp.yaml` and `observed.yaml` in, `children.yaml` and `status.yaml` out.
//!
//! `egapp.yaml` is the object as the API server stores it, defaults filled in. `observed.yaml` says what exists:
//! `deployment` is a merge patch over the wanted Deployment (absent = there is none), `pods` are names of its live
//! pods, or merge patches over a pod. `UPDATE_GOLDEN=1 cargo test --test golden` writes the outputs anew; look at the difference before committing.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where its setting fails")]

use std::fs;
use std::path::{Path, PathBuf};

use egapp_api::v1alpha1::EGApp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher::Event;
use pe_app::controller::egapp::cluster::{Caches, Live, PodView, View};
use pe_app::controller::egapp::desired::{Children, desired};
use pe_app::controller::egapp::error::Error;
use pe_app::controller::egapp::observe::{Observed, Ownership, observe};
use pe_app::controller::egapp::replicas::{Replicas, Scaling};
use pe_app::controller::egapp::status::{MadeOf, Outcome, Urgency, Verdict, status};
use pe_app::controller::egapp::validate::validate;
use pe_app::controller::key::ObjectKey;
use pe_app::platform::Platform;
use serde_json::{Value, json};

const INPUTS: [&str; 2] = ["egapp.yaml", "observed.yaml"];
const OUTPUTS: [&str; 2] = ["children.yaml", "status.yaml"];

#[test]
fn golden_cases_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<PathBuf> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 10, "only {} cases in {}", cases.len(), root.display());
    let failures: Vec<String> = cases.iter().flat_map(|case| check(case)).collect();
    assert!(failures.is_empty(), "{}\n\nUPDATE_GOLDEN=1 writes them anew", failures.join("\n"));
}

fn check(case: &Path) -> Vec<String> {
    let app: EGApp = serde_saphyr::from_str(&fs::read_to_string(case.join(INPUTS[0])).unwrap()).unwrap();
    let observed: Value = fs::read_to_string(case.join(INPUTS[1]))
        .map_or_else(|_| json!({}), |text| serde_saphyr::from_str(&text).unwrap());
    let (children, status) = run(&app, &observed);
    let mut failures = Vec::new();
    for (file, value) in OUTPUTS.iter().zip([children, status]) {
        let (path, actual) = (case.join(file), serde_saphyr::to_string(&value).unwrap());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, actual).unwrap();
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&actual) {
            failures.push(format!("--- {} is not what comes out:\n{actual}", path.display()));
        }
    }
    for entry in fs::read_dir(case).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !INPUTS.contains(&&*name) && !OUTPUTS.contains(&&*name) {
            failures.push(format!("{}/{name} is no file of a case", case.display()));
        }
    }
    failures
}

/// The pipeline without its two I/O steps.
fn run(app: &EGApp, observed: &Value) -> (Value, Value) {
    let platform = Platform::built_in();
    let workload = validate(app, &platform);
    let start = workload.as_ref().map(|workload| desired(workload, Replicas::Ours(app.spec.replica_count)));
    let at_start = json!(start.ok().map(|children| children.deployment));
    let scaling = Scaling::of(&app.spec, &observation(app, &at_start, observed));
    let children = workload.as_ref().map(|workload| desired(workload, scaling.replicas));
    let wanted = children.as_ref().map_or_else(
        |error| json!({ "error": error.to_string() }),
        |Children { deployment, service, disruption_budget, autoscaler }| {
            let mut children = json!({
                "deployment": deployment, "service": service, "podDisruptionBudget": disruption_budget,
            });
            if let Some(autoscaler) = autoscaler {
                children["horizontalPodAutoscaler"] = json!(autoscaler);
            }
            children
        },
    );
    let made_of = workload
        .as_ref()
        .ok()
        .map(|workload| MadeOf { image: workload.image.clone(), resources: workload.resources.clone() });
    let seen = observation(app, &wanted["deployment"], observed);
    let error = match (workload, &seen.deployment.ownership) {
        (Err(error), _) => Some(Error::Spec(error)),
        (Ok(_), Ownership::Foreign(owner)) => {
            Some(Error::NameConflict { kind: "Deployment", key: key(app), owner: owner.clone() })
        }
        (Ok(_), _) => None,
    };
    let outcome = match &error {
        Some(error) => Outcome::Failed(error),
        None if app.spec.suspend => Outcome::Suspended,
        None => Outcome::InSync,
    };
    let Verdict { status, urgency, .. } = status(app, made_of.as_ref(), &seen, outcome, now());
    (wanted, json!({ "isSettled": urgency != Urgency::Moving, "status": status }))
}

fn now() -> Timestamp {
    "2026-02-03T04:05:06.789Z".parse().unwrap()
}

/// What the controller's own local copies make of the objects that exist.
fn observation(app: &EGApp, wanted: &Value, observed: &Value) -> Observed {
    let caches = Caches::default();
    if let Some(patch) = observed.get("deployment") {
        let mut live = wanted.clone();
        merge(&mut live, &json!({ "metadata": { "uid": "d-1", "generation": 1, "resourceVersion": "7" } }));
        merge(&mut live, patch);
        let view: View<Deployment> = serde_json::from_value(live).unwrap();
        caches.deployments.handle(Event::Apply(Live::from(view)));
    }
    for patch in observed.get("pods").and_then(Value::as_array).into_iter().flatten() {
        caches.pods.handle(Event::Apply(pod(app, patch)), now());
    }
    let uid = app.metadata.uid.clone().unwrap_or_default();
    observe(&caches, &key(app), &uid)
}

fn pod(app: &EGApp, patch: &Value) -> PodView {
    let app_name = app.metadata.name.as_deref().unwrap();
    let mut pod = json!({
        "metadata": {
            "name": patch, "namespace": app.metadata.namespace,
            "labels": { egapp_api::labels::EGAPP: app_name, "pod-template-hash": "h" },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app_name}-h"), "uid": "r", "controller": true,
            }],
        },
    });
    if patch.is_object() {
        merge(&mut pod, patch);
        let hash = pod["metadata"]["labels"]["pod-template-hash"].as_str().unwrap();
        let owner = format!("{app_name}-{hash}");
        pod["metadata"]["ownerReferences"][0]["name"] = owner.into();
    }
    serde_json::from_value(pod).unwrap()
}

fn key(app: &EGApp) -> ObjectKey {
    ObjectKey::of(&app.metadata)
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (field, value) in patch {
        if value.is_null() {
            target.remove(field);
        } else {
            merge(target.entry(field.as_str()).or_insert(Value::Null), value);
        }
    }
}

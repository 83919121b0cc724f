//! Every way in which an app can fail, on a real control plane: what its status says then, and that it stops saying so
//! once the cause is gone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod nodes;
mod pods;
mod quiet;
mod races;
mod refusals;
mod resources;
mod rollouts;
mod sentences;
mod tenants;

use cluster::Cluster;
use serde_json::{Value, json};
use support::App;
use support::app::{condition, reason};
use support::setting::Setting;

static SETTING: Setting = Setting::new(PLATFORM);

/// The control plane, with the operator at work on it.
async fn cluster() -> &'static Cluster {
    SETTING.cluster().await
}

const PLATFORM: &str = "tests/failures/platform.yaml";

/// An image whose pods come up.
const GOOD: &str = "registry.example.com/team/web:1";

/// The least spec of an app that runs that image.
fn running(image: &str, replicas: i32) -> Value {
    json!({ "framework": "go", "environment": "dev", "replicaCount": replicas, "image": image })
}

/// Waits until the app is not Ready for that reason, and returns what it says. It tells so in every place.
async fn failing(app: &App<'_>, wanted: &str) -> String {
    let now = app.until(wanted, |app| reason(app) == wanted).await;
    let ready = condition(&now, "Ready");
    assert_eq!(ready["status"], "False", "{now:#}");
    assert_eq!(now["status"]["observedGeneration"], now["metadata"]["generation"]);
    for one in now["status"]["conditions"].as_array().unwrap() {
        assert_eq!(one["observedGeneration"], now["metadata"]["generation"], "{one}");
    }
    let failure = &now["status"]["lastFailure"];
    assert_eq!((&failure["reason"], &failure["message"]), (&ready["reason"], &ready["message"]));
    assert!(failure["since"].is_string(), "{failure}");
    ready["message"].as_str().unwrap().to_owned()
}

/// Waits until the app is Ready, and nothing is left of the failure.
async fn recovered(app: &App<'_>) {
    app.wait_ready().await;
    let now = app.until("nothing is left of it", |app| app["status"]["lastFailure"].is_null()).await;
    assert_eq!(condition(&now, "Stalled"), &Value::Null);
    assert_eq!(condition(&now, "Ready")["status"], "True", "{now:#}");
}

/// Gives the app an image whose pods come up.
async fn fix(app: &App<'_>) {
    app.patch(&json!({ "spec": { "image": GOOD } })).await;
    recovered(app).await;
}

/// An app in a new namespace with that spec.
async fn app_of(spec: &Value) -> App<'static> {
    let app = App::named(cluster().await, "web").await;
    app.apply(spec).await;
    app
}

//! Replicas that a HorizontalPodAutoscaler decides on, with Kubernetes' own controller of those at work: every number that
//! the Deployment ever asked for is looked at, so that no dip and no fight goes unseen. There are no metrics, so that
//! the autoscalers keep to their bounds and leave what is within them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod lingering;
mod others;
mod own;
mod restarts;

use cluster::Cluster;
use serde_json::{Value, json};
use support::operator::SHIPPED;
use support::setting::Setting;
use support::watch::Watch;
use support::{App, eventually, holds};

static SETTING: Setting = Setting::new(SHIPPED);

async fn cluster() -> &'static Cluster {
    SETTING.cluster().await
}

/// A small app with so many replicas.
fn small(replicas: i64) -> Value {
    json!({
        "framework": "go", "environment": "dev", "replicaCount": replicas, "image": "registry.example.com/team/web:1",
        "service": { "enabled": false },
    })
}

/// The same within bounds.
fn bounded(replicas: i64, min: i64, max: i64) -> Value {
    let mut spec = small(replicas);
    spec["autoscaling"] = json!({ "minReplicas": min, "maxReplicas": max });
    spec
}

/// Every number of replicas that the Deployment asked for.
struct Counts(Watch);

impl Counts {
    /// Begins to count what happens to the app's Deployment.
    async fn begin(app: &App<'_>) -> Self {
        // There is one from the start, by which the watch shows that it has begun.
        app.kubectl(&["create", "deployment", "decoy", "--image=decoy", "--replicas=0"]).await;
        Self(Watch::begin(app, "deployments", &format!("watch-{}", app.namespace)).await)
    }

    /// The numbers so far, each once in a row.
    fn all(&self) -> Vec<i64> {
        let mut states = self.0.states();
        states.retain(|state| state["metadata"]["name"] != "decoy");
        let mut counts: Vec<_> =
            states.iter().map(|state| state["spec"]["replicas"].as_i64().unwrap()).collect();
        counts.dedup();
        counts
    }

    /// Waits until the numbers were these, and no others.
    async fn were(&self, wanted: &[i64]) {
        eventually("the replicas", async || {
            let counts = self.all();
            assert!(wanted.starts_with(&counts), "{counts:?} are not on the way to {wanted:?}");
            holds(counts == wanted, || format!("{counts:?}, not {wanted:?}"))
        })
        .await;
    }
}

/// Waits until the app is Ready with so many replicas, and returns what it says of them.
async fn ready_with(app: &App<'_>, replicas: i64) -> String {
    let now = app
        .until("so many are ready", |app| {
            let (status, ready) = (&app["status"], support::app::condition(app, "Ready"));
            status["desiredReplicas"] == replicas
                && status["readyReplicas"] == replicas
                && ready["status"] == "True"
        })
        .await;
    support::app::condition(&now, "Ready")["message"].as_str().unwrap().to_owned()
}

/// Whether the app's namespace has exactly the autoscalers of these names.
async fn until_autoscalers(app: &App<'_>, names: &[&str]) {
    eventually("the autoscalers", async || {
        let all = app.items("horizontalpodautoscalers").await;
        let found: Vec<_> = all.iter().map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
        holds(found == names, || format!("{found:?}, not {names:?}"))
    })
    .await;
}

//! `kubectl wait` against changes of the spec: it passes for what was asked for last, and never before.

use cluster::Failure;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::app::condition;
use crate::{cluster, running};

const APPS: usize = 10;
const ROUNDS: usize = 5;

#[tokio::test]
async fn kubectl_wait_that_is_raced_fifty_times_against_changes_never_passes_early() {
    let cluster = cluster().await;
    let races = (0..APPS).map(async |number| {
        let app = App::ready(cluster, &format!("web-{number}"), &running(&image(0), 1)).await;
        for round in 1..=ROUNDS {
            race(&app, round).await;
        }
    });
    join_all(races).await;
}

fn image(round: usize) -> String {
    format!("registry.example.com/team/web:{round}")
}

/// A version that fails, then one that works, every other time with another size: with the same one, the counts of the
/// former version look like those of this one.
async fn race(app: &App<'_>, round: usize) {
    let replicas = 1 + round / 2 % 3;
    app.patch(&json!({ "spec": { "image": Failure::ConfigError.image(), "replicaCount": replicas } })).await;
    let target = format!("egapp/{}", app.name);
    let wait = ["-n", &app.namespace, "wait", "--for=condition=Ready", &target, "--timeout=500ms"];
    let passed = app.cluster.kubectl(wait).await;
    assert!(passed.is_err(), "round {round}: it passed on pods that cannot run: {:#}", app.get().await);

    app.patch(&json!({ "spec": { "image": image(round), "replicaCount": replicas } })).await;
    app.wait_ready().await;
    let (now, live) = (app.get().await, app.deployment().await);
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], image(round), "round {round}");
    assert_eq!(live["status"]["observedGeneration"], live["metadata"]["generation"]);
    for count in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert_eq!(live["status"][count], replicas, "round {round}: {count}: {live:#}");
    }
    let generation: &Value = &now["metadata"]["generation"];
    assert_eq!(&condition(&now, "Ready")["observedGeneration"], generation, "round {round}");
}

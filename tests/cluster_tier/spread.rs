//! Where the pods of an app stand after a rollout: the real scheduler, three nodes in three zones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cluster;
use crate::support::App;
use crate::support::app::{reason, with_image};

const APPS: usize = 4;
const ROLLOUTS: usize = 5;
const REPLICAS: i32 = 3;

/// The nodes of the pods of an app that are there to stay.
async fn nodes(app: &App<'_>) -> Vec<String> {
    let mut pods = app.items("pods").await;
    pods.retain(|pod| {
        pod["metadata"]["deletionTimestamp"].is_null()
            && pod["metadata"]["labels"]["app.kubernetes.io/name"] == app.name.as_str()
    });
    pods.iter().map(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn twenty_rollouts_leave_no_two_replicas_on_one_node() {
    let mut spec = with_image(REPLICAS);
    spec["environment"] = json!("stage");
    let first = App::ready(cluster().await, "web-0", &spec).await;
    let apps: Vec<_> = (0..APPS).map(|number| first.sibling(&format!("web-{number}"))).collect();
    for app in &apps {
        app.apply(&spec).await;
        app.wait_ready().await;
    }
    let mut together = Vec::new();
    for round in 0..ROLLOUTS {
        for app in &apps {
            app.patch(&json!({ "spec": { "image": format!("registry.example.com/team/web:{round}") } }))
                .await;
        }
        for app in &apps {
            let is_done = |app: &Value| {
                app["status"]["observedGeneration"] == app["metadata"]["generation"]
                    && reason(app) == "Available"
                    && app["status"]["replicas"] == REPLICAS
            };
            app.until("the rollout is done", is_done).await;
            let nodes = nodes(app).await;
            assert_eq!(nodes.len(), 3, "{nodes:?}");
            if nodes.iter().collect::<BTreeSet<_>>().len() < 3 {
                together.push((round, app.name.clone()));
            }
        }
    }
    assert!(together.is_empty(), "{} of {} rollouts: {together:?}", together.len(), APPS * ROLLOUTS);
}

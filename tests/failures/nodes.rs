//! What becomes of pods that did come up, or may not: ended by their node or for a probe, held back, beside a container
//! that is somebody else's.

use cluster::Failure;
use serde_json::{Value, json};

use crate::support::app::reason;
use crate::support::{App, eventually};
use crate::{GOOD, app_of, cluster, failing, fix, recovered, running};

#[tokio::test]
async fn a_container_that_its_liveness_probe_ends_again_and_again_is_told_with_that_probe() {
    let mut spec = running(&Failure::Hangs.image(), 1);
    spec["service"] = json!({ "enabled": false });
    spec["livenessProbe"] =
        json!({ "exec": { "command": ["true"] }, "periodSeconds": 1, "failureThreshold": 2 });
    let app = app_of(&spec).await;
    let message = failing(&app, "ProbeFailing").await;
    assert!(message.starts_with("container app is killed again and again: exit code 137"), "{message}");
    assert!(message.contains("check spec.livenessProbe"), "{message}");
    let restarts = || async {
        let pods = app.items("pods").await;
        pods[0]["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap()
    };
    let first = restarts().await;
    while restarts().await < first + 2 {
        assert_eq!(reason(&app.get().await), "ProbeFailing", "also while it runs between two ends");
    }
    fix(&app).await;
}

#[tokio::test]
async fn pods_that_are_evicted_one_after_the_other_are_told_with_the_nodes_words() {
    let app = app_of(&running(&Failure::Evicted.image(), 1)).await;
    let message = failing(&app, "Evicted").await;
    let cause = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi";
    let advice = "write less to the disk, or raise spec.resources.limits.ephemeral-storage";
    assert_eq!(message, format!("nodes evict the pods one after the other: {cause}; {advice}"));
    fix(&app).await;
}

#[tokio::test]
async fn a_node_that_does_not_answer_is_told_while_its_pods_count_as_unready() {
    let app = App::ready(cluster().await, "web", &running(GOOD, 1)).await;
    let pod = app.pod_names().await.remove(0);
    // As the node lifecycle controller does: the containers' own words stay as the node wrote them last.
    patch_status(&app, &pod, &json!({ "conditions": [{ "type": "Ready", "status": "False" }] })).await;
    let message = failing(&app, "NodeLost").await;
    assert!(message.starts_with("nodes of the pods do not answer"), "{message}");
    patch_status(&app, &pod, &json!({ "conditions": [{ "type": "Ready", "status": "True" }] })).await;
    recovered(&app).await;
}

#[tokio::test]
async fn pods_that_a_scheduling_gate_holds_back_are_told_with_its_name() {
    let app = app_of(&running(GOOD, 0)).await;
    app.until_deployment("it is made", |live| live["metadata"]["name"] == "web").await;
    let gate = json!([{ "name": "queue.example.com/admission" }]);
    app.kubectl(&["patch", "deployment", "web", "-p", &template(&json!({ "schedulingGates": gate }))]).await;
    app.patch(&json!({ "spec": { "replicaCount": 1 } })).await;
    let message = failing(&app, "SchedulingGated").await;
    assert!(
        message.starts_with("the pods are held back by scheduling gate queue.example.com/admission;"),
        "{message}"
    );
    let pod = app.pod_names().await.remove(0);
    app.kubectl(&["patch", "pod", &pod, "-p", r#"{"spec":{"schedulingGates":null}}"#]).await;
    recovered(&app).await;
}

#[tokio::test]
async fn a_readiness_gate_that_is_not_met_is_told_with_its_name() {
    let app = App::ready(cluster().await, "web", &running(GOOD, 1)).await;
    let gate = "balancer.example.com/registered";
    let gates = json!({ "readinessGates": [{ "conditionType": gate }] });
    app.kubectl(&["patch", "deployment", "web", "-p", &template(&gates)]).await;
    let pod = eventually("the pod that has the gate", async || {
        let pods = app.items("pods").await;
        let is_new = |pod: &&Value| {
            pod["spec"]["readinessGates"].is_array() && pod["status"]["containerStatuses"][0]["ready"] == true
        };
        let pod = pods.iter().find(is_new).and_then(|pod| pod["metadata"]["name"].as_str());
        pod.map(str::to_owned).ok_or_else(|| format!("{pods:#?}"))
    })
    .await;
    // kwok meets every gate at once.
    let unmet = |status: &str| {
        json!({ "conditions": [
            { "type": gate, "status": status },
            { "type": "Ready", "status": status, "reason": "ReadinessGatesNotReady" },
        ] })
    };
    patch_status(&app, &pod, &unmet("False")).await;
    let message = failing(&app, "ReadinessGatesNotReady").await;
    assert!(message.starts_with(&format!("the containers are ready, and readiness gate {gate} is not met")));
    patch_status(&app, &pod, &unmet("True")).await;
    recovered(&app).await;
}

#[tokio::test]
async fn a_container_of_somebody_elses_that_fails_is_told_without_the_apps_advice() {
    let app = App::ready(cluster().await, "web", &running(GOOD, 1)).await;
    let sidecar = json!({ "containers": [{ "name": "proxy", "image": "fail.example/crashloop:7" }] });
    app.kubectl(&["patch", "deployment", "web", "-p", &template(&sidecar)]).await;
    let message = failing(&app, "CrashLoop").await;
    assert!(message.starts_with("container proxy ends again and again: exit code 7;"), "{message}");
    assert!(message.ends_with("container proxy is not the app's own: whoever adds it can put it right"));
    let sidecar = json!({ "containers": [{ "name": "proxy", "image": Failure::ImagePull.image() }] });
    app.kubectl(&["patch", "deployment", "web", "-p", &template(&sidecar)]).await;
    let message = failing(&app, "ImagePull").await;
    assert!(message.contains(" of container proxy cannot be pulled: "), "{message}");
    assert!(!message.contains("spec.image"), "{message}");
    let sidecar = json!({ "containers": [{ "name": "proxy", "$patch": "delete" }] });
    app.kubectl(&["patch", "deployment", "web", "-p", &template(&sidecar)]).await;
    recovered(&app).await;
}

/// A patch of a Deployment's pods.
fn template(spec: &Value) -> String {
    json!({ "spec": { "template": { "spec": spec } } }).to_string()
}

async fn patch_status(app: &App<'_>, pod: &str, status: &Value) {
    let patch = json!({ "status": status }).to_string();
    app.kubectl(&["patch", "pod", pod, "--subresource=status", "-p", &patch]).await;
}

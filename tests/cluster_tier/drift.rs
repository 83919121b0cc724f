//! Whatever is changed by hand in a field that the operator owns is put back; everything else stays.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster;
use crate::support::app::{condition, reason, with_image};
use crate::support::operator::requests;
use crate::support::{App, eventually, holds};

/// Merges `patch` into the Deployment by hand and waits until `is_healed`.
async fn assert_healed(app: &App<'_>, what: &str, patch: &Value, is_healed: impl Fn(&Value) -> bool) {
    let before = app.deployment().await;
    app.kubectl(&["patch", "deployment", &app.name, "--type=strategic", "-p", &patch.to_string()]).await;
    let touched =
        |live: &Value| live["metadata"]["generation"].as_i64() > before["metadata"]["generation"].as_i64();
    let is_metadata_only = patch["spec"].is_null();
    app.until_deployment(what, |live| (is_metadata_only || touched(live)) && is_healed(live)).await;
}

fn container(live: &Value) -> &Value {
    live["spec"]["template"]["spec"]["containers"]
        .as_array()
        .and_then(|containers| containers.iter().find(|container| container["name"] == "app"))
        .unwrap_or(&Value::Null)
}

fn in_container(change: &Value) -> Value {
    let mut container = json!({ "name": "app" });
    container.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    json!({ "spec": { "template": { "spec": { "containers": [container] } } } })
}

#[tokio::test]
async fn drift_in_any_owned_field_is_healed() {
    let app = App::ready(cluster().await, "web", &with_image(2)).await;
    assert_healed(&app, "replicas", &json!({ "spec": { "replicas": 7 } }), |live| {
        live["spec"]["replicas"] == 2
    })
    .await;
    assert_healed(&app, "paused", &json!({ "spec": { "paused": true } }), |live| {
        live["spec"]["paused"].is_null()
    })
    .await;
    assert_healed(&app, "image", &in_container(&json!({ "image": "evil:1" })), |live| {
        container(live)["image"] == "registry.example.com/team/web:1"
    })
    .await;
    let limit = in_container(&json!({ "resources": { "limits": { "memory": "3Gi" } } }));
    assert_healed(&app, "memory", &limit, |live| container(live)["resources"]["limits"]["memory"] == "256Mi")
        .await;
    let root = in_container(&json!({ "securityContext": { "capabilities": { "drop": null } } }));
    assert_healed(&app, "capabilities", &root, |live| {
        container(live)["securityContext"]["capabilities"]["drop"] == json!(["ALL"])
    })
    .await;
    let token = json!({ "spec": { "template": { "spec": { "automountServiceAccountToken": true } } } });
    assert_healed(&app, "token", &token, |live| {
        live["spec"]["template"]["spec"]["automountServiceAccountToken"] == false
    })
    .await;
    let label = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": "somebody" } } });
    assert_healed(&app, "label", &label, |live| {
        live["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "pe-app"
    })
    .await;
    app.wait_ready().await;
}

#[tokio::test]
async fn a_removed_owner_reference_comes_back() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let patch = json!({ "metadata": { "ownerReferences": null } });
    app.kubectl(&["patch", "deployment", "web", "--type=merge", "-p", &patch.to_string()]).await;
    let uid = app.get().await["metadata"]["uid"].clone();
    app.until_deployment("it has an owner", |live| live["metadata"]["ownerReferences"][0]["uid"] == uid)
        .await;
}

#[tokio::test]
async fn a_deleted_deployment_is_made_anew() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let before = app.deployment().await["metadata"]["uid"].clone();
    app.kubectl(&["delete", "deployment", "web"]).await;
    app.until_deployment("there is another", |live| {
        live["metadata"]["uid"].is_string() && live["metadata"]["uid"] != before
    })
    .await;
    app.wait_ready().await;
}

#[tokio::test]
async fn fields_of_others_stay() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let patch = json!({
        "metadata": { "annotations": { "team.example.com/note": "keep" }, "labels": { "team.example.com/cost": "42" } },
        "spec": { "template": { "spec": { "containers": [
            { "name": "app", "env": [{ "name": "EXTRA", "value": "1" }] },
            { "name": "proxy", "image": "registry.example.com/proxy:1" },
        ] } } },
    });
    app.kubectl(&["patch", "deployment", "web", "--type=strategic", "-p", &patch.to_string()]).await;
    app.kubectl(&["rollout", "restart", "deployment/web"]).await;
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:2" } })).await;
    app.wait_ready().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let live = app.deployment().await;
    assert_eq!(container(&live)["image"], "registry.example.com/team/web:2");
    assert_eq!(container(&live)["env"][0]["name"], "EXTRA", "{live:#}");
    assert_eq!(live["metadata"]["annotations"]["team.example.com/note"], "keep");
    assert_eq!(live["metadata"]["labels"]["team.example.com/cost"], "42");
    let template = &live["spec"]["template"];
    assert_eq!(template["spec"]["containers"].as_array().unwrap().len(), 2, "the sidecar stays");
    assert!(
        template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"].is_string(),
        "the restart stays"
    );
}

#[tokio::test]
async fn drift_that_a_forced_apply_cannot_heal_is_repaired() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let field_of =
        |path: &'static str| move |live: &Value| container(live).pointer(path).cloned().unwrap_or_default();
    let path = "/spec/template/spec/containers/0";
    let cases = [
        (
            "a variable's source",
            json!([{ "op": "replace", "path": format!("{path}/env/3"), "value": {
                "name": "EGAPP_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } },
            } }]),
            "/env/3/value",
            json!("web"),
        ),
        (
            "another probe handler",
            json!([
                { "op": "remove", "path": format!("{path}/readinessProbe/tcpSocket") },
                { "op": "add", "path": format!("{path}/readinessProbe/httpGet"), "value": { "path": "/", "port": 1 } },
            ]),
            "/readinessProbe/tcpSocket/port",
            json!(8080),
        ),
        (
            "a renumbered port",
            json!([{ "op": "replace", "path": format!("{path}/ports/0/containerPort"), "value": 9090 }]),
            "/ports/0/containerPort",
            json!(8080),
        ),
        (
            "privileges",
            json!([{ "op": "replace", "path": format!("{path}/securityContext"), "value": { "privileged": true, "runAsUser": 0 } }]),
            "/securityContext/allowPrivilegeEscalation",
            json!(false),
        ),
        (
            "an added probe",
            json!([{ "op": "add", "path": format!("{path}/livenessProbe"), "value": { "exec": { "command": ["false"] } } }]),
            "/livenessProbe",
            Value::Null,
        ),
    ];
    for (what, drift, field, wanted) in cases {
        app.kubectl(&["patch", "deployment", "web", "--type=json", "-p", &drift.to_string()]).await;
        let is_healed = |live: &Value| {
            let ports = container(live)["ports"].as_array().is_some_and(|ports| ports.len() == 1);
            let context = &container(live)["securityContext"];
            field_of(field)(live) == wanted
                && ports
                && context["privileged"] != true
                && context["runAsUser"].is_null()
        };
        app.until_deployment(what, is_healed).await;
    }
    app.wait_ready().await;
}

#[tokio::test]
async fn values_that_read_back_in_another_form_are_never_written_again() {
    let app = App::named(cluster().await, "web").await;
    // dev has `minReadySeconds: 0`.
    let spec = json!({
        "framework": "go", "environment": "dev", "replicaCount": 1, "image": "registry.example.com/team/web:1",
        "env": [{ "name": "EMPTY", "value": "" }, { "name": "UNSET" }],
        "resources": { "requests": { "cpu": "0.5", "memory": "1024Mi" }, "limits": { "cpu": 1, "memory": "1073741824" } },
    });
    app.apply(&spec).await;
    app.wait_ready().await;
    let before = (app.get().await, app.deployment().await);
    assert_eq!(container(&before.1)["resources"]["requests"]["cpu"], "500m", "another form");

    let mark = app.cluster.audit_mark().unwrap();
    for pass in 0..20 {
        for kind in ["egapp", "deployment", "service"] {
            app.kubectl(&["annotate", "--overwrite", kind, "web", &format!("test.example.com/pass={pass}")])
                .await;
        }
    }
    let after = (app.get().await, app.deployment().await);
    assert_eq!(after.0["metadata"]["generation"], before.0["metadata"]["generation"]);
    let generation = |deployment: &Value| deployment["metadata"]["generation"].as_i64().unwrap();
    assert_eq!(
        generation(&after.1),
        generation(&before.1) + 20,
        "one for each annotation, as Deployments have it"
    );
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.until_deployment("the passes before are over", |live| live["spec"]["replicas"] == 2).await;
    let requests = requests(app.cluster, mark).namespace(&app.namespace);
    let writes = requests.writes().filter(|event| event.subresource.is_empty());
    assert_eq!(writes.count(), 1, "the scaling, and nothing else: {writes:#?}");
}

#[tokio::test]
async fn a_field_that_somebody_keeps_changing_back_is_told_and_put_right_ever_less_often() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let patch = json!({ "spec": { "replicas": 4 } }).to_string();
    let mut rounds = 0;
    let told = loop {
        app.kubectl(&["patch", "deployment", "web", "-p", &patch]).await;
        let now = eventually("it is put right or told", async || {
            let (now, live) = (app.get().await, app.deployment().await);
            let is_right = live["spec"]["replicas"] == 1;
            holds(is_right || reason(&now) == "Overridden", || format!("{now:#}")).map(|()| now)
        })
        .await;
        if reason(&now) == "Overridden" {
            break now;
        }
        rounds += 1;
        assert!(rounds < 10, "it is put right at once for ever");
    };
    assert!(rounds > 1, "a few changes by hand are nobody's contest");
    let message = condition(&told, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("Deployment") && message.contains("spec.replicas"), "{message}");
    app.until("nobody changes it any more", |app| reason(app) == "Available").await;
    assert_eq!(app.deployment().await["spec"]["replicas"], 1);
}

//! Foreign fields that our own contradict, so that a forced apply is refused or changes nothing: they are taken out.

use serde_json::{Value, json};

use crate::cluster;
use crate::leaves::{meant, rich};
use crate::support::app::with_image;
use crate::support::{App, eventually, holds};

async fn object(app: &App<'_>, kind: &str) -> Value {
    eventually(kind, async || app.object(kind).await.ok_or_else(|| format!("no {kind}"))).await
}

/// Patches the object by hand and waits until it is as before.
async fn assert_goes_back(app: &App<'_>, kind: &str, drift: &Value) {
    let settled = object(app, kind).await;
    app.kubectl(&["patch", kind, &app.name, "--type=json", "-p", &drift.to_string()]).await;
    eventually("the object is as before", async || {
        let live = object(app, kind).await;
        let is_touched = live["metadata"]["resourceVersion"] != settled["metadata"]["resourceVersion"];
        holds(is_touched && meant(&live) == meant(&settled), || format!("{drift}: {live:#}"))
    })
    .await;
}

#[tokio::test]
async fn fields_that_ours_contradict_are_taken_out_of_a_deployment() {
    let app = App::ready(cluster().await, "web", &with_image(0)).await;
    let pod = "/spec/template/spec";
    let container = format!("{pod}/containers/0");
    let sleep = json!({ "sleep": { "seconds": 60 } });
    let grace = format!("{pod}/terminationGracePeriodSeconds");
    let drifts = [
        json!([{ "op": "replace", "path": format!("{pod}/securityContext/seccompProfile"), "value": {
            "type": "Localhost", "localhostProfile": "profile.json",
        } }]),
        json!([
            { "op": "add", "path": format!("{container}/lifecycle"), "value": { "postStart": sleep, "preStop": sleep } },
            { "op": "replace", "path": grace, "value": 100 },
        ]),
        json!([
            { "op": "add", "path": "/spec/minReadySeconds", "value": 500 },
            { "op": "replace", "path": "/spec/progressDeadlineSeconds", "value": 501 },
        ]),
        json!([{ "op": "add", "path": format!("{pod}/serviceAccountName"), "value": "admin" }]),
        json!([{ "op": "add", "path": format!("{container}/ports/0/hostPort"), "value": 8080 }]),
        json!([
            { "op": "add", "path": format!("{pod}/hostNetwork"), "value": true },
            { "op": "add", "path": format!("{container}/ports/0/hostPort"), "value": 8080 },
        ]),
    ];
    for drift in drifts {
        assert_goes_back(&app, "deployment", &drift).await;
    }
    app.wait_ready().await;
}

#[tokio::test]
async fn fields_that_ours_contradict_are_taken_out_of_service_and_budget() {
    let app = App::ready(cluster().await, "web", &rich()).await;
    let budget = json!([
        { "op": "remove", "path": "/spec/maxUnavailable" },
        { "op": "add", "path": "/spec/minAvailable", "value": 1 },
        { "op": "add", "path": "/spec/selector/matchExpressions", "value": [{ "key": "a", "operator": "Exists" }] },
    ]);
    assert_goes_back(&app, "poddisruptionbudget", &budget).await;
    let drifts = [
        json!([{ "op": "add", "path": "/spec/selector/app", "value": "other" }]),
        json!([
            { "op": "replace", "path": "/spec/ports/0/name", "value": "other" },
            { "op": "add", "path": "/spec/ports/-", "value": { "name": "http", "port": 443, "targetPort": 1 } },
        ]),
    ];
    for drift in drifts {
        assert_goes_back(&app, "service", &drift).await;
    }
    let balanced = json!([
        { "op": "replace", "path": "/spec/type", "value": "LoadBalancer" },
        { "op": "add", "path": "/spec/loadBalancerSourceRanges", "value": ["10.0.0.0/8"] },
    ]);
    assert_goes_back(&app, "service", &balanced).await;
}

#[tokio::test]
async fn a_foreign_limit_stays_until_a_greater_request_contradicts_it() {
    let app = App::ready(cluster().await, "web", &with_image(0)).await;
    let resources = "/spec/template/spec/containers/0/resources";
    let limit = json!([
        { "op": "add", "path": format!("{resources}/limits/cpu"), "value": "300m" },
        { "op": "add", "path": format!("{resources}/limits/example.com~1gpu"), "value": "1" },
        { "op": "replace", "path": "/spec/replicas", "value": 1 },
    ]);
    app.kubectl(&["patch", "deployment", "web", "--type=json", "-p", &limit.to_string()]).await;
    let healed = app.until_deployment("it is healed", |live| live["spec"]["replicas"] == 0).await;
    let limits = format!("{resources}/limits");
    assert_eq!(healed.pointer(&limits).unwrap()["cpu"], "300m", "it contradicts nothing: {healed:#}");
    app.patch(&json!({ "spec": { "instanceType": "highCPU" } })).await;
    let raised = app
        .until_deployment("the request is raised", |live| {
            live.pointer(resources).unwrap()["requests"]["cpu"] == "2"
        })
        .await;
    let expected = json!({ "memory": "1Gi", "example.com/gpu": "1" });
    assert_eq!(raised.pointer(&limits).unwrap(), &expected, "{raised:#}");
    app.wait_ready().await;
}

#[tokio::test]
async fn an_app_that_once_said_more_is_as_one_that_never_did() {
    let mut rich = rich();
    // A restart that is taken back asks for nothing, and stays.
    rich.as_object_mut().unwrap().remove("restartedAt");
    let (once, never) = (App::ready(cluster().await, "web", &rich).await, with_image(0));
    let gone = rich.as_object().unwrap().keys().map(|field| (field.clone(), Value::Null)).collect();
    let mut patch = Value::Object(gone);
    patch.as_object_mut().unwrap().extend(never.as_object().unwrap().clone());
    once.patch(&json!({ "spec": patch })).await;
    let never = App::ready(cluster().await, "web", &never).await;
    for kind in ["deployment", "service"] {
        let expected = said(&never, kind).await;
        eventually(kind, async || {
            let live = said(&once, kind).await;
            holds(live == expected, || format!("{live:#}\nis not\n{expected:#}"))
        })
        .await;
    }
}

/// What an object says, without what differs from one to the next.
pub(crate) async fn said(app: &App<'_>, kind: &str) -> Value {
    let mut object = object(app, kind).await;
    object["metadata"]["ownerReferences"] = Value::Null;
    for digest in ["applied-digest", "applied-template"] {
        object["metadata"]["annotations"][format!("egplatform.platform.evillgenius.com/{digest}")] =
            Value::Null;
    }
    for field in ["clusterIP", "clusterIPs"] {
        object["spec"].as_object_mut().unwrap().remove(field);
    }
    serde_json::from_str(&meant(&object).to_string().replace(&app.namespace, "namespace")).unwrap()
}

//! Children whose `metadata.managedFields` are lost: the operator takes its fields back, so that what is taken out of an
//! EGApp afterwards goes.

use cluster::AuditMark;
use serde_json::{Value, json};

use crate::cluster;
use crate::repair::said;
use crate::support::app::with_image;
use crate::support::operator::{requests, requests_when_quiet};
use crate::support::{App, eventually, holds};

const KINDS: [&str; 4] = ["deployment", "service", "poddisruptionbudget", "horizontalpodautoscaler"];
const MANAGER: &str = "egapp-controller";

/// Nearly all that can be taken out of an app again, with every kind of child.
fn much() -> Value {
    json!({
        "appId": "cart", "framework": "go", "environment": "prod", "replicaCount": 1, "port": 9000,
        "image": "registry.example.com/team/web:1", "command": ["/web"], "args": ["--verbose"], "runAsUser": 1000,
        "env": [{ "name": "LEVEL", "value": "info" }, { "name": "COLOR", "value": "red" }],
        "envFrom": [{ "configMapRef": { "name": "settings", "optional": true } }],
        "resources": { "limits": { "cpu": "2" } }, "livenessProbe": { "exec": { "command": ["true"] } },
        "imagePullSecrets": [{ "name": "registry" }], "service": { "port": 81 },
        "autoscaling": { "minReplicas": 1, "maxReplicas": 3 },
    })
}

/// The same app without any of that.
fn little() -> Value {
    let mut spec = with_image(1);
    spec["environment"] = json!("prod");
    spec["autoscaling"] = json!({ "maxReplicas": 2 });
    spec
}

async fn change_to_little(app: &App<'_>) {
    let (much, little) = (much(), little());
    let gone = much.as_object().unwrap().keys().map(|field| (field.clone(), Value::Null));
    let mut spec: serde_json::Map<_, _> = gone.collect();
    spec.extend(little.as_object().unwrap().clone());
    app.patch(&json!({ "spec": spec })).await;
}

async fn child(app: &App<'_>, kind: &str) -> Value {
    let get = ["get", kind, &app.name, "--ignore-not-found", "--show-managed-fields", "-o", "json"];
    eventually(kind, async || {
        let text = app.kubectl(&get).await;
        serde_json::from_str(&text).map_err(|_| format!("no {kind}"))
    })
    .await
}

/// What the operator owns of a child, and whether nobody else owns the mark of its applies.
fn ours(child: &Value) -> Result<Value, String> {
    let entries = child["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mark = "/fieldsV1/f:metadata/f:annotations/f:egplatform.platform.evillgenius.com~1applied-digest";
    let owners: Vec<_> = entries.iter().filter(|entry| entry.pointer(mark).is_some()).collect();
    match owners[..] {
        [one] if one["manager"] == MANAGER && one["operation"] == "Apply" => Ok(one["fieldsV1"].clone()),
        _ => Err(format!("{entries:#?}")),
    }
}

async fn lose(app: &App<'_>, kind: &str) {
    let patch = json!({ "metadata": { "managedFields": [{}] } }).to_string();
    app.kubectl(&["patch", kind, &app.name, "--type=merge", "-p", &patch]).await;
}

/// An app with all kinds of children at rest.
async fn at_rest(spec: &Value) -> App<'static> {
    let app = App::ready(cluster().await, "web", spec).await;
    for kind in KINDS {
        child(&app, kind).await;
    }
    let mark = app.cluster.audit_mark().unwrap();
    requests_when_quiet(app.cluster, mark).await;
    app
}

/// How many requests changed each kind of child.
fn writes(app: &App<'_>, mark: AuditMark) -> [usize; 4] {
    let writes = requests(app.cluster, mark).namespace(&app.namespace).writes();
    KINDS.map(|kind| writes.clone().resource(&format!("{kind}s")).count())
}

async fn assert_as_a_new_app(app: &App<'_>) {
    let new = at_rest(&little()).await;
    for kind in KINDS {
        let expected = said(&new, kind).await;
        eventually(kind, async || {
            let live = said(app, kind).await;
            holds(live == expected, || format!("{kind}: {live:#}\nis not\n{expected:#}"))
        })
        .await;
        assert_eq!(
            ours(&child(app, kind).await).map(keys_of_labels),
            ours(&child(&new, kind).await).map(keys_of_labels),
            "{kind}"
        );
    }
}

/// The owner's uid is another.
fn keys_of_labels(mut fields: Value) -> Value {
    fields["f:metadata"]["f:ownerReferences"] = Value::Null;
    fields
}

#[tokio::test]
async fn ownership_that_is_lost_is_taken_back_at_once_and_no_pod_is_replaced() {
    let app = at_rest(&much()).await;
    let extra = json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "app", "env": [{ "name": "EXTRA", "value": "1" }] }, { "name": "proxy", "image": "registry.example.com/proxy:1" },
    ] } } } });
    app.kubectl(&["patch", "deployment", "web", "--type=strategic", "-p", &extra.to_string()]).await;
    app.wait_ready().await;
    let pods = eventually("the former pod is gone", async || {
        let pods = app.pod_names().await;
        holds(pods.len() == 1, || format!("{pods:?}")).map(|()| pods)
    })
    .await;
    requests_when_quiet(app.cluster, app.cluster.audit_mark().unwrap()).await;
    let mut before = Vec::new();
    for kind in KINDS {
        before.push(ours(&child(&app, kind).await).unwrap());
    }
    let mark = app.cluster.audit_mark().unwrap();
    for (kind, before) in KINDS.iter().zip(before) {
        lose(&app, kind).await;
        eventually("it is taken back", async || {
            let now = ours(&child(&app, kind).await)?;
            holds(now == before, || format!("{kind}: {now:#}\nwas before\n{before:#}"))
        })
        .await;
    }
    requests_when_quiet(app.cluster, mark).await;
    assert_eq!(writes(&app, mark), [1, 1, 1, 1]);
    assert_eq!(app.pod_names().await, pods);

    change_to_little(&app).await;
    app.until_deployment("the proxy and the extra variable stay", |live| {
        let containers = live["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.len() == 2
            && containers[0].to_string().contains("EXTRA")
            && !live.to_string().contains("LEVEL")
    })
    .await;
    let gone = json!({ "spec": { "template": { "spec": { "containers": [
        { "name": "app", "env": [{ "name": "EXTRA", "$patch": "delete" }] }, { "name": "proxy", "$patch": "delete" },
    ] } } } });
    app.kubectl(&["patch", "deployment", "web", "--type=strategic", "-p", &gone.to_string()]).await;
    assert_as_a_new_app(&app).await;
}

#[tokio::test]
async fn what_was_taken_out_while_the_ownership_was_lost_goes_too() {
    let app = at_rest(&much()).await;
    app.patch(&json!({ "spec": { "suspend": true } })).await;
    app.until("it is suspended", |app| crate::support::app::reason(app) == "Suspended").await;
    for kind in KINDS {
        lose(&app, kind).await;
    }
    change_to_little(&app).await;
    let mark = app.cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "suspend": false } })).await;
    app.wait_ready().await;
    assert_as_a_new_app(&app).await;
    requests_when_quiet(app.cluster, mark).await;
    let writes = writes(&app, mark);
    assert!(writes.iter().all(|count| *count <= 2), "{writes:?}");
}

#[tokio::test]
async fn an_entry_that_only_copies_ours_keeps_nothing() {
    let app = at_rest(&much()).await;
    app.patch(&json!({ "spec": { "suspend": true } })).await;
    app.until("it is suspended", |app| crate::support::app::reason(app) == "Suspended").await;
    for kind in KINDS {
        lose(&app, kind).await;
        // What was there before the first apply is then somebody's: `before-first-apply`.
        let object = child(&app, kind).await;
        let same = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"],
            "metadata": { "name": "web", "namespace": app.namespace, "labels": object["metadata"]["labels"] },
        });
        let apply =
            ["apply", "--server-side", "--force-conflicts", "--field-manager=egapp-controller", "-f", "-"];
        app.cluster.admin().run_with_input(apply, &same.to_string()).await.unwrap();
    }
    change_to_little(&app).await;
    app.patch(&json!({ "spec": { "suspend": false } })).await;
    app.wait_ready().await;
    assert_as_a_new_app(&app).await;
}

//! Clusters that are not as they should be: no CRD at the start, stored objects that this release cannot read, no operator.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test stops where its setting fails")]

mod support;

use cluster::{Cluster, Options, Part};
use serde_json::{Value, json};
use support::app::{condition, reason, with_image};
use support::operator::{identity, install, requests_when_quiet};
use support::{App, Operator, eventually, full_with_crd, holds};

const CRD: &str = "egapps.egplatform.platform.evillgenius.com";

#[tokio::test]
async fn a_missing_crd_makes_the_manager_unready_until_it_is_installed() {
    let cluster = Options::api().start().await.unwrap();
    install(&cluster).await;
    cluster.kubectl(["delete", "crd", CRD]).await.unwrap();
    let operator = Operator::start(&cluster, "manager").await;
    eventually("readiness names the CRD", async || {
        let (code, text) = operator.probe("/readyz?verbose");
        holds(code != 200 && text.contains("[-]crd-established") && text.contains(CRD), || text)
    })
    .await;
    assert_eq!(operator.probe("/healthz").0, 200, "it is no reason to be restarted");

    install(&cluster).await;
    operator.leading().await;
    let app = App::named(&cluster, "web").await;
    app.apply(&with_image(1)).await;
    app.until_deployment("it is made", |live| live["spec"]["replicas"] == 1).await;
    operator.stop().await;
}

#[tokio::test]
async fn an_unreadable_app_is_reported_and_harms_no_other() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let app = App::named(&cluster, "healthy").await;
    store_unreadable(&cluster, &app.sibling("poison")).await;

    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    app.apply(&with_image(1)).await;
    app.wait_ready().await;

    let poison = app.sibling("poison");
    let reported = poison.until("it is told", |app| reason(app) == "InvalidSpec").await;
    assert_eq!(condition(&reported, "Ready")["status"], "False");
    let message = condition(&reported, "Ready")["message"].as_str().unwrap();
    assert!(message.contains("maybe"), "the message quotes the value: {message}");
    assert!(message.chars().count() < 4096, "as much of it as people read: {message}");
    assert_eq!(operator.metric("egapp_undecodable_objects{kind=\"EGApp\"}"), Some(1.0));
    assert!(operator.log().contains("cannot read the EGApp"), "{}", operator.log());
    assert_eq!(poison.object("deployment").await, None);

    operator.stop().await;
    let mark = cluster.audit_mark().unwrap();
    let operator = Operator::start(&cluster, "manager-restarted").await;
    operator.leading().await;
    let writes = requests_when_quiet(&cluster, mark).await.writes();
    assert_eq!(writes.count(), 0, "what was told is not told again: {writes:#?}");

    poison.patch(&json!({ "spec": { "suspend": null } })).await;
    poison.wait_ready().await;
    assert_eq!(operator.metric("egapp_undecodable_objects{kind=\"EGApp\"}"), Some(0.0));
    operator.stop().await;
}

/// Stores an EGApp that no release of ours would let in: the schema is lifted for a moment, as an older or a broken
/// CRD would.
async fn store_unreadable(cluster: &Cluster, app: &App<'_>) {
    let mut crd = cluster.kubectl_json(["get", "crd", CRD]).await.unwrap();
    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    let strict = crd.pointer(schema).unwrap().clone();
    *crd.pointer_mut(schema).unwrap() =
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    replace_crd(cluster, &crd).await;
    let spec = json!({ "framework": "go", "environment": "dev", "suspend": format!("maybe\n{}", "x".repeat(33_000)) });
    let manifest = json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1",
        "kind": "EGApp",
        "metadata": { "namespace": app.namespace, "name": app.name },
        "spec": spec,
    });
    eventually("the lifted schema serves", async || {
        let stored = cluster.admin().run_with_input(["create", "-f", "-"], &manifest.to_string()).await;
        stored.map(drop).map_err(|error| error.to_string())
    })
    .await;
    let mut crd = cluster.kubectl_json(["get", "crd", CRD]).await.unwrap();
    *crd.pointer_mut(schema).unwrap() = strict;
    replace_crd(cluster, &crd).await;
}

/// Changes the schema of the status in the CRD.
async fn change_status_schema(cluster: &Cluster, change: impl FnOnce(&mut Value)) {
    let mut crd = cluster.kubectl_json(["get", "crd", CRD]).await.unwrap();
    change(crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/status").unwrap());
    replace_crd(cluster, &crd).await;
}

/// Waits until the API server drops, or keeps, a count that is written into the status of the app.
async fn until_kept(cluster: &Cluster, app: &App<'_>, field: &str, is_kept: bool) {
    let patch = json!({ "status": { field: 7 } }).to_string();
    eventually("the schema holds", async || {
        let written =
            ["-n", &app.namespace, "patch", "egapp", &app.name, "--type=merge", "--subresource=status"];
        let written = [&written[..], &["--dry-run=server", "-o", "json", "-p", &patch]].concat();
        let text = cluster.kubectl(written).await.map_err(|error| error.to_string())?;
        let shown: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        holds((shown["status"][field] == 7) == is_kept, || text)
    })
    .await;
}

#[tokio::test]
async fn a_status_that_does_not_fit_is_tried_at_once_when_it_says_something_else() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let app = App::named(&cluster, "web").await;
    change_status_schema(&cluster, |status| {
        status["properties"]["lastFailure"]["properties"]["message"]["maxLength"] = json!(20);
    })
    .await;
    app.kubectl(&["create", "service", "clusterip", "web", "--tcp=80"]).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    app.apply(&with_image(1)).await;
    eventually("the status is refused", async || {
        let log = operator.log();
        holds(log.contains("cannot apply the status of EGApp"), || log)
    })
    .await;
    assert_ne!(reason(&app.get().await), "NameConflict");
    app.kubectl(&["delete", "service", "web"]).await;
    app.wait_ready().await;
    operator.stop().await;
}

#[tokio::test]
async fn a_crd_that_is_older_than_the_manager_is_told_once_and_costs_no_write_more() {
    const FIELD: &str = "availableReplicas";
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let app = App::named(&cluster, "web").await;
    let mut whole = Value::Null;
    change_status_schema(&cluster, |status| {
        whole = status["properties"].as_object_mut().unwrap().remove(FIELD).unwrap();
    })
    .await;
    app.apply(&with_image(1)).await;
    until_kept(&cluster, &app, FIELD, false).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    app.wait_ready().await;
    assert_eq!(app.get().await["status"]["readyReplicas"], 1, "the rest is told");
    requests_when_quiet(&cluster, cluster.audit_mark().unwrap()).await;

    // A pod that comes, and one that goes.
    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["delete", "pod", "--all"]).await;
    app.wait_ready().await;
    let merges = |request: &cluster::AuditEvent| {
        request.uri.contains("fieldManager") && !request.uri.contains("force")
    };
    let writes = requests_when_quiet(&cluster, mark).await.writes();
    assert_eq!(
        writes.clone().filter(|request| request.code >= 300).count(),
        0,
        "nothing is refused: {writes:#?}"
    );
    assert_eq!(writes.clone().filter(merges).count(), 0, "nothing is taken back: {writes:#?}");
    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["annotate", "deployment", "web", "look=again"]).await;
    app.kubectl(&["annotate", "egapp", "web", "look=again"]).await;
    let writes = requests_when_quiet(&cluster, mark).await.writes();
    assert_eq!(writes.count(), 0, "an event that changes nothing costs nothing: {writes:#?}");

    let told = operator.log().matches("the CRD of EGApps is older than this manager").count();
    assert_eq!(told, 1, "{}", operator.log());
    assert!(!operator.log().contains("foreign entries"), "{}", operator.log());
    assert_eq!(operator.metric("egapp_crd_dropped_fields{kind=\"EGApp\"}"), Some(1.0));
    let (code, text) = operator.probe("/readyz?verbose");
    assert!(code == 200 && text.contains(&format!("drops status.{FIELD}")), "{code} {text}");

    change_status_schema(&cluster, |status| status["properties"][FIELD] = whole).await;
    until_kept(&cluster, &app, FIELD, true).await;
    operator.stop().await;
    let operator = Operator::start(&cluster, "manager-restarted").await;
    operator.leading().await;
    app.until("it is written", |app| app["status"][FIELD] == 1).await;
    assert_eq!(operator.metric("egapp_crd_dropped_fields{kind=\"EGApp\"}"), Some(0.0));
    assert!(operator.probe("/readyz?verbose").1.contains("[+]crd-current ok\n"));
    operator.stop().await;
}

async fn replace_crd(cluster: &Cluster, crd: &Value) {
    cluster.admin().run_with_input(["replace", "-f", "-"], &crd.to_string()).await.unwrap();
}

#[tokio::test]
async fn an_app_deletes_cleanly_while_the_operator_is_off() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    let mut spec = with_image(2);
    spec["environment"] = json!("prod");
    let app = App::ready(&cluster, "web", &spec).await;
    app.kubectl(&["get", "service,poddisruptionbudget", "web"]).await;

    operator.stop().await;
    app.kubectl(&["delete", "egapp", "web", "--timeout=30s"]).await;
    app.until_gone("egapps,deployments,replicasets,pods,services,poddisruptionbudgets").await;
}

#[tokio::test]
async fn an_api_server_that_dies_and_comes_back_is_waited_for_and_costs_no_write() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start_with(&cluster, "manager", &identity(), |command| {
        // A leader ends when it cannot renew its lease: that is another test's.
        command.arg("--leader-elect=false");
    })
    .await;
    operator.ready().await;
    let app = App::ready(&cluster, "web", &with_image(1)).await;

    cluster.kill(Part::ApiServer).unwrap();
    let note = "[+]api-server ok, degraded: the API server did not answer";
    eventually("readiness says so", async || {
        let (code, text) = operator.probe("/readyz?verbose");
        holds(code == 200 && text.contains(note), || format!("{code} {text}"))
    })
    .await;
    assert_eq!(operator.probe("/healthz").0, 200, "it is no reason to be restarted");

    let mark = cluster.audit_mark().unwrap();
    cluster.start(Part::ApiServer).await.unwrap();
    eventually("readiness is whole again", async || {
        let (code, text) = operator.probe("/readyz?verbose");
        holds(code == 200 && text.contains("[+]api-server ok\n"), || format!("{code} {text}"))
    })
    .await;
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    app.until("it works on", |app| app["status"]["readyReplicas"] == 2).await;
    app.wait_ready().await;
    let writes = requests_when_quiet(&cluster, mark).await.writes();
    let of_child = writes.clone().resource("deployments").count();
    assert!(of_child == 1 && writes.count() <= 3, "one scale, and what the status says of it: {writes:#?}");
    operator.stop().await;
}

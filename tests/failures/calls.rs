//! Failures of the operator's own requests, and specs that cannot be mapped.

use std::time::Duration;

use cluster::{Cluster, Options};
use serde_json::{Value, json};

use crate::support::app::{condition, reason};
use crate::support::operator::{install, user};
use crate::support::policy::{refusing, until_refused};
use crate::support::{App, Operator, eventually, holds, project};
use crate::{GOOD, PLATFORM, app_of, cluster, failing, recovered, running};

#[tokio::test]
async fn an_app_without_any_image_is_told_which_keys_were_tried() {
    let app = app_of(&json!({ "framework": "go", "environment": "prod", "appId": "cart" })).await;
    let message = failing(&app, "ImageUnresolved").await;
    assert!(message.contains("images.apps") && message.contains("images.starters.go"), "{message}");
    assert_eq!(condition(&app.get().await, "Stalled")["status"], "True");
    assert_eq!(app.object("deployment").await, None);
    app.patch(&json!({ "spec": { "image": GOOD } })).await;
    recovered(&app).await;
}

#[tokio::test]
async fn a_deployment_that_a_policy_refuses_is_tried_with_growing_gaps_until_it_is_allowed() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&refusing(&app.namespace, "CREATE", ("apps", "v1"), "deployments")).await.unwrap();
    until_refused(&app, true, &["create", "deployment", "probe", "--image=x:1", "--dry-run=server"]).await;
    let mark = cluster.audit_mark().unwrap();
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "AdmissionDenied").await;
    assert!(message.contains("nothing new on Fridays"), "{message}");

    let requests = || cluster.audit_since(mark).unwrap().user(&user()).namespace(&app.namespace).writes();
    eventually("five tries", async || {
        let tries = requests().resource("deployments").count();
        holds(tries >= 5, || format!("{tries} tries"))
    })
    .await;
    let statuses = requests().resource("egapps/status").count();
    assert_eq!(statuses, 1, "what stays is told once: {:#?}", requests());

    cluster.kubectl(["delete", "validatingadmissionpolicybinding", &app.namespace]).await.unwrap();
    recovered(&app).await;
}

#[tokio::test]
async fn a_request_that_keeps_failing_is_told_after_three_tries_and_no_more_once_it_works() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&broken_webhook(&app.namespace)).await.unwrap();
    eventually("the webhook is in force", async || {
        let probe =
            ["-n", &app.namespace, "create", "deployment", "probe", "--image=x:1", "--dry-run=server"];
        let answer = cluster.kubectl(probe).await;
        holds(answer.is_err(), || format!("{answer:?}"))
    })
    .await;
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "Retrying").await;
    assert!(message.contains("failed calling webhook"), "{message}");
    cluster.kubectl(["delete", "validatingwebhookconfiguration", &app.namespace]).await.unwrap();
    recovered(&app).await;
}

/// A webhook that nobody serves.
fn broken_webhook(namespace: &str) -> String {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": namespace },
        "webhooks": [{
            "name": "nobody.test.example.com",
            "clientConfig": { "url": "https://127.0.0.1:1/" },
            "rules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"],
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
    .to_string()
}

/// Without controllers a namespace never ends: what a stuck one looks like for ever.
pub(crate) async fn without_controllers() -> (Cluster, Operator) {
    let cluster = Options::api().manifest(project("config/crd/bases")).start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start_on(&cluster, "manager", PLATFORM).await;
    operator.leading().await;
    (cluster, operator)
}

#[tokio::test]
async fn a_missing_right_is_told_on_the_app_and_ends_when_it_is_granted() {
    let (cluster, operator) = without_controllers().await;
    let app = App::named(&cluster, "web").await;
    let role = ["get", "clusterrole", "pe-app-manager-role"];
    let whole = cluster.kubectl_json(role).await.unwrap();
    let mut without = whole.clone();
    for rule in without["rules"].as_array_mut().unwrap() {
        if rule["resources"].as_array().unwrap().contains(&json!("deployments")) {
            rule["verbs"].as_array_mut().unwrap().retain(|verb| verb != "patch");
        }
    }
    replace(&cluster, &without).await;
    eventually("the right is gone", async || {
        let asked = ["auth", "can-i", "patch", "deployments.apps", "-n", &app.namespace, "--as", &user()];
        let answer = cluster.kubectl(asked).await;
        holds(answer.is_err(), || format!("{answer:?}"))
    })
    .await;
    app.apply(&running(GOOD, 1)).await;
    let message = failing(&app, "Forbidden").await;
    assert!(
        message.contains("cannot patch resource \"deployments\"") && message.contains(&app.namespace),
        "{message}"
    );
    assert_eq!(operator.probe("/healthz").0, 200);

    replace(&cluster, &whole).await;
    app.until("it goes on", |app| reason(app) == "RollingOut").await;
    operator.stop().await;
}

async fn replace(cluster: &Cluster, object: &Value) {
    let mut object = object.clone();
    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    cluster.admin().run_with_input(["replace", "-f", "-"], &object.to_string()).await.unwrap();
}

#[tokio::test]
async fn a_namespace_that_is_being_deleted_is_told_as_the_cause_and_asked_for_nothing_more() {
    let (cluster, operator) = without_controllers().await;
    let app = App::named(&cluster, "web").await;
    let other = app.sibling("other");
    let mut spec = running(GOOD, 1);
    spec["suspend"] = true.into();
    for one in [&app, &other] {
        one.apply(&spec).await;
        one.until("it is seen", |app| reason(app) == "Suspended").await;
    }
    cluster.kubectl(["delete", "namespace", &app.namespace, "--wait=false"]).await.unwrap();
    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "suspend": false } })).await;
    let message = failing(&app, "NamespaceTerminating").await;
    assert!(message.contains("because it is being terminated"), "{message}");
    other.patch(&json!({ "spec": { "suspend": false } })).await;
    assert_eq!(failing(&other, "NamespaceTerminating").await, message);
    // Longer than the first pauses of whoever tries again.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let requests = cluster.audit_since(mark).unwrap().user(&user()).namespace(&app.namespace);
    let refused = requests.clone().filter(|request| request.code == 403);
    assert_eq!(refused.count(), 1, "the first Deployment, and nothing more: {refused:#?}");
    assert_eq!(requests.resource("egapps/status").count(), 2, "each app says so");
    operator.stop().await;
}

//! How many requests the operator sends for what, read from the API server's audit log (the call budget), and that
//! the generated role grants exactly the rights that were used. One control plane, one test after another.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test stops where its setting fails")]

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{AuditEvents, AuditMark, Cluster};
use serde_json::{Value, json};
use support::app::with_image;
use support::operator::{event_requests, install, requests_when_quiet, user};
use support::policy::{mirroring, until_image_is};
use support::{App, Operator, eventually, full_with_crd, holds};

#[tokio::test]
async fn every_phase_of_an_app_stays_within_its_budget_and_uses_the_granted_rights_alone() {
    let cluster = full_with_crd().start().await.unwrap();
    install(&cluster).await;
    let operator = Operator::start(&cluster, "manager").await;
    operator.leading().await;
    let app = App::named(&cluster, "web").await;

    let mark = cluster.audit_mark().unwrap();
    app.apply(&with_image(2)).await;
    app.wait_ready().await;
    assert_requests(
        &requests_when_quiet(&cluster, mark).await,
        &["deployments", "services"],
        QUICK,
        "create",
    );
    let mut told = Told::default();
    told.are(&app, mark, &["Created"], &[]).await;

    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["scale", "egapp/web", "--replicas=3"]).await;
    app.until("three pods", |app| app["status"]["pods"].as_array().is_some_and(|pods| pods.len() == 3)).await;
    assert_requests(&requests_when_quiet(&cluster, mark).await, &["deployments"], QUICK, "scale");
    told.are(&app, mark, &["Scaled"], &[]).await;

    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "image": "registry.example.com/team/web:2" } })).await;
    app.wait_ready().await;
    assert_requests(&requests_when_quiet(&cluster, mark).await, &["deployments"], QUICK, "image");
    told.are(&app, mark, &["RolledOut"], &[]).await;

    another_environment_and_back(&app, &mut told).await;
    drift_twice(&app, &mut told).await;
    an_autoscaler_and_none(&app, &mut told).await;

    an_app_whose_image_a_policy_rewrites(&cluster).await;
    let mark = cluster.audit_mark().unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_none(
        &requests_when_quiet(&cluster, mark).await.filter(|event| event.verb != "watch"),
        "a steady minute",
    );
    told.are(&app, mark, &[], &[]).await;

    operator.stop().await;
    let mark = cluster.audit_mark().unwrap();
    let operator = Operator::start(&cluster, "manager-restarted").await;
    operator.leading().await;
    let restart = requests_when_quiet(&cluster, mark).await;
    assert_none(&restart.clone().writes(), "restart");
    assert_none(&restart.verb("get"), "restart");
    told.are(&app, mark, &[], &[]).await;

    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["delete", "deployment/web"]).await;
    app.until_deployment("made anew", |live| live["spec"]["replicas"] == 3).await;
    app.wait_ready().await;
    let recreated = requests_when_quiet(&cluster, mark).await;
    assert_eq!(recreated.clone().resource("deployments").writes().count(), 1, "{recreated:#?}");
    assert_eq!(recreated.verb("get").count(), 1, "one look whether the EGApp still lives");
    told.are(&app, mark, &["Repaired"], &[]).await;

    let mark = cluster.audit_mark().unwrap();
    app.kubectl(&["delete", "egapp/web"]).await;
    app.until_gone("deployments,replicasets,pods").await;
    assert_none(&requests_when_quiet(&cluster, mark).await.filter(|event| event.verb != "watch"), "delete");

    assert_role_is_what_was_used(&cluster).await;
    the_history_is_written_once_and_read_by_each_leader(&cluster).await;
    operator.stop().await;
}

/// It is there for all that follows, and gets no request by that.
async fn an_app_whose_image_a_policy_rewrites(cluster: &Cluster) {
    let app = App::named(cluster, "mirrored").await;
    cluster.apply(&mirroring(&app.namespace)).await.unwrap();
    until_image_is(&app, "mirror.example.com/x:1").await;
    let mark = cluster.audit_mark().unwrap();
    app.apply(&with_image(1)).await;
    app.wait_ready().await;
    app.told(&["Created", "Overridden"]).await;
    let made = requests_when_quiet(cluster, mark).await;
    assert_requests(&made, &["deployments", "services"], QUICK, "create under a policy");
}

/// prod has a PodDisruptionBudget, which dev has not.
async fn another_environment_and_back(app: &App<'_>, told: &mut Told) {
    let cluster = app.cluster;
    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "environment": "prod" } })).await;
    app.wait_ready().await;
    let all = ["deployments", "services", "poddisruptionbudgets"];
    assert_requests(&requests_when_quiet(cluster, mark).await, &all, SLOW, "environment");
    told.are(app, mark, &[], &["RolledOut"]).await;

    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "environment": "dev" } })).await;
    app.wait_ready().await;
    let back = requests_when_quiet(cluster, mark).await;
    assert_eq!(back.clone().verb("delete").resource("poddisruptionbudgets").count(), 1, "{back:#?}");
    let rest = back.filter(|event| event.verb != "delete");
    assert_requests(&rest, &["deployments", "services"], SLOW, "environment back");
    told.are(app, mark, &["Deleted"], &["RolledOut"]).await;
}

/// The replicas change hands: an apply for that, and one of the Deployment without them.
async fn an_autoscaler_and_none(app: &App<'_>, told: &mut Told) {
    let cluster = app.cluster;
    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "autoscaling": { "maxReplicas": 5 } } })).await;
    app.until("it is told", |app| app["status"]["observedGeneration"] == app["metadata"]["generation"]).await;
    let on = requests_when_quiet(cluster, mark).await;
    let patches = |resource: &str| on.clone().resource(resource).verb("patch").count();
    assert_eq!((patches("deployments"), patches("horizontalpodautoscalers")), (2, 1), "{on:#?}");
    assert!(on.clone().writes().count() <= 3 + QUICK, "{on:#?}");
    assert_none(&on.verb("get"), "an autoscaler");
    told.are(app, mark, &[], &[]).await;

    let mark = cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "autoscaling": null } })).await;
    app.until("it is told", |app| app["status"]["observedGeneration"] == app["metadata"]["generation"]).await;
    let off = requests_when_quiet(cluster, mark).await;
    assert_eq!(off.clone().verb("delete").resource("horizontalpodautoscalers").count(), 1, "{off:#?}");
    let rest = off.filter(|event| event.verb != "delete");
    assert_requests(&rest, &["deployments"], QUICK, "no autoscaler");
    told.are(app, mark, &["Deleted"], &[]).await;
}

async fn drift_twice(app: &App<'_>, told: &mut Told) {
    let repaired: &[_] = &["Repaired"];
    for (new, again) in [(repaired, &[][..]), (&[], repaired)] {
        let mark = app.cluster.audit_mark().unwrap();
        app.kubectl(&["scale", "deployment/web", "--replicas=9"]).await;
        app.until_deployment("healed", |live| live["spec"]["replicas"] == 3).await;
        let drift = requests_when_quiet(app.cluster, mark).await.filter(|event| event.verb != "watch");
        assert_eq!(drift.clone().resource("deployments").count(), 1, "{drift:#?}");
        assert!(
            drift.count() <= 3,
            "one apply, and what status the pods' coming and going is worth: {drift:#?}"
        );
        told.are(app, mark, new, again).await;
    }
}

/// The reasons of all events so far.
#[derive(Default)]
struct Told(Vec<&'static str>);

impl Told {
    /// Since `mark` the `new` events were made, and those told `again` counted up, with a request each.
    async fn are(&mut self, app: &App<'_>, mark: AuditMark, new: &[&'static str], again: &[&'static str]) {
        self.0.extend(new);
        app.told(&self.0).await;
        eventually("every event has its request", async || {
            let requests = event_requests(app.cluster, mark);
            let counts = ["create", "patch"].map(|verb| requests.clone().verb(verb).count());
            holds(counts == [new.len(), again.len()], || format!("{new:?} {again:?}: {requests:#?}"))
        })
        .await;
    }
}

/// Status writes of a change that is over within seconds: one, or two where the pods take more than one.
const QUICK: usize = 2;

/// Status writes of a rollout that goes pod by pod with pauses of ten seconds, each of which is news.
const SLOW: usize = 12;

/// One apply of each of the children, status writes up to a number, and no read.
fn assert_requests(requests: &AuditEvents, children: &[&str], most_statuses: usize, phase: &str) {
    let requests = requests.clone().filter(|event| event.verb != "watch");
    for child in children {
        let applies = requests.clone().resource(child).verb("patch").count();
        assert_eq!(applies, 1, "{phase}: {child}: {requests:#?}");
    }
    let statuses = requests.clone().resource("egapps/status").verb("patch").count();
    assert!((1..=most_statuses).contains(&statuses), "{phase}: {statuses} status writes: {requests:#?}");
    assert_eq!(
        requests.count(),
        children.len() + statuses,
        "{phase}: something else was asked for: {requests:#?}"
    );
    assert!(requests.clone().events().iter().all(|event| event.code < 300), "{phase}: {requests:#?}");
}

fn assert_none(requests: &AuditEvents, phase: &str) {
    assert_eq!(requests.count(), 0, "{phase}: {requests:#?}");
}

/// The role grants what the audit log saw, and besides: `create`, which an apply of something new needs though the
/// log calls it a patch; `update` of `egapps/finalizers`, which `blockOwnerDeletion` may need though no request does;
/// and `list` of what is watched, for servers without streaming lists.
async fn assert_role_is_what_was_used(cluster: &Cluster) {
    let seen = cluster.audit().unwrap().user(&user());
    let mut used: BTreeSet<String> = seen
        .filter(|event| {
            !event.resource.is_empty() && !matches!(event.resource.as_str(), "leases" | "configmaps")
        })
        .events()
        .into_iter()
        .map(|event| right(&event.api_group, &resource(&event.resource, &event.subresource), &event.verb))
        .collect();
    let lists: Vec<_> =
        used.iter().filter_map(|right| right.strip_prefix("watch ").map(str::to_owned)).collect();
    used.extend(lists.into_iter().map(|kind| format!("list {kind}")));
    let children = [
        ("apps", "deployments"),
        ("", "services"),
        ("policy", "poddisruptionbudgets"),
        ("autoscaling", "horizontalpodautoscalers"),
    ];
    for (group, kind) in children {
        used.insert(right(group, kind, "create"));
    }
    // No phase switches the Service off: `children` in the cluster tier does.
    used.insert(right("", "services", "delete"));
    used.insert(right("egplatform.platform.evillgenius.com", "egapps/finalizers", "update"));
    let role = cluster.kubectl_json(["get", "clusterrole", "pe-app-manager-role"]).await.unwrap();
    assert_eq!(granted(&role), used);
}

/// Whatever apps do; and its Role, too, grants what was used.
async fn the_history_is_written_once_and_read_by_each_leader(cluster: &Cluster) {
    let requests = cluster.audit().unwrap().user(&user()).resource("configmaps").events();
    let verbs: Vec<_> = requests.iter().map(|event| event.verb.as_str()).collect();
    assert_eq!(verbs, ["get", "patch", "get"], "{requests:#?}");
    assert!(requests.iter().all(|event| event.name == "pe-app-platform-history"), "{requests:#?}");
    let role = ["-n", "pe-app-system", "get", "role", "pe-app-platform-history-role"];
    let role = cluster.kubectl_json(role).await.unwrap();
    let used = ["get", "patch", "create"].map(|verb| right("", "configmaps", verb));
    assert_eq!(granted(&role), BTreeSet::from(used));
    assert_eq!(role["rules"][0]["resourceNames"], json!(["pe-app-platform-history"]));
}

fn granted(role: &Value) -> BTreeSet<String> {
    let list = |rule: &Value, field: &str| -> Vec<String> {
        rule[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                rights.extend(list(rule, "verbs").iter().map(|verb| right(&group, &resource, verb)));
            }
        }
    }
    rights
}

fn resource(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") }
}

fn right(group: &str, resource: &str, verb: &str) -> String {
    format!("{verb} {resource}.{group}")
}

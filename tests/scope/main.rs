//! What the operator may and may not see: the namespaces it watches, the rights it has in them, and the users' own
//! rights. Installed from `config/namespaced`, so that it has Roles alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod namespaces;
mod refusals;
mod rights;
mod users;

use cluster::{Cluster, Shared};
use serde_json::{Value, json};
use support::operator::{identity, install_from, user};
use support::{Operator, eventually, full_with_crd, holds, project};
use tokio::sync::OnceCell;

static CLUSTER: Shared = Shared::new(full_with_crd);
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// The control plane of those tests that take nothing away from each other.
async fn cluster() -> &'static Cluster {
    let cluster = CLUSTER.get().await.unwrap();
    INSTALLED.get_or_init(async || install_from(cluster, "config/namespaced").await).await;
    cluster
}

/// A manager that watches these namespaces, with a lease of its own name.
async fn watching(cluster: &Cluster, name: &str, namespaces: &[&str]) -> Operator {
    let namespaces = namespaces.join(",");
    Operator::start_with(cluster, name, &identity(), |command| {
        command.env("WATCH_NAMESPACE", &namespaces).arg(format!("--leader-election-id={name}"));
    })
    .await
}

/// Gives the manager all its rights in a namespace.
async fn grant(cluster: &Cluster, namespace: &str) {
    let config = project("config/namespaced/watched");
    let apply =
        ["apply", "--server-side", "--force-conflicts", "-n", namespace, "-k", config.to_str().unwrap()];
    cluster.kubectl(apply).await.unwrap();
    until_operator(cluster, namespace, ("patch", "deployments.apps"), "yes").await;
}

/// Takes them all.
async fn revoke(cluster: &Cluster, namespace: &str) {
    cluster.kubectl(["-n", namespace, "delete", "rolebinding", "pe-app-manager-rolebinding"]).await.unwrap();
    until_operator(cluster, namespace, ("patch", "deployments.apps"), "no").await;
}

/// Takes some verbs on one resource.
async fn revoke_verbs(cluster: &Cluster, namespace: &str, resource: &str, verbs: &[&str]) {
    let mut granted =
        cluster.kubectl_json(["-n", namespace, "get", "role", "pe-app-manager-role"]).await.unwrap();
    let is_about_it = |rule: &&mut Value| rule["resources"] == json!([resource]);
    let rule = granted["rules"].as_array_mut().unwrap().iter_mut().find(is_about_it).unwrap();
    rule["verbs"].as_array_mut().unwrap().retain(|verb| !verbs.contains(&verb.as_str().unwrap()));
    let full = format!("{resource}.{}", rule["apiGroups"][0].as_str().unwrap());
    cluster.admin().run_with_input(["replace", "-f", "-"], &granted.to_string()).await.unwrap();
    for verb in verbs {
        until_operator(cluster, namespace, (verb, full.trim_end_matches('.')), "no").await;
    }
}

/// Waits until the API server answers so: a change of a role takes it a moment.
async fn until_operator(cluster: &Cluster, namespace: &str, right: (&str, &str), answer: &str) {
    eventually("the right is given or taken", async || {
        let now = can_i(cluster, &user(), namespace, &[right.0, right.1]).await;
        holds(now == answer, || format!("{right:?}: {now}"))
    })
    .await;
}

/// `kubectl auth can-i`, `yes` or `no`, for what a user may do in a namespace.
async fn can_i(cluster: &Cluster, user: &str, namespace: &str, right: &[&str]) -> &'static str {
    let who = format!("--as={user}");
    let question = [&["auth", "can-i", "--quiet", &who, "-n", namespace], right].concat();
    // `no` is exit code 1.
    if cluster.kubectl(question).await.is_ok() { "yes" } else { "no" }
}

//! Several namespaces, and the one that the operator runs in.

use cluster::AuditEvents;
use serde_json::json;

use crate::support::app::{five_fields, with_image};
use crate::support::operator::user;
use crate::support::{App, Operator, eventually, holds};
use crate::{cluster, grant, revoke, watching};

#[tokio::test]
async fn a_role_only_install_works_without_any_request_about_the_cluster_as_a_whole() {
    let cluster = cluster().await;
    let wide = cluster.kubectl(["get", "clusterroles,clusterrolebindings", "-o", "name"]).await.unwrap();
    assert!(!wide.contains("pe-app"), "{wide}");
    let operator = Operator::start(cluster, "manager").await;
    operator.leading().await;
    assert!(operator.log().contains(r#""scope":"namespace pe-app-system""#), "{}", operator.log());
    let app = App { cluster, namespace: "pe-app-system".to_owned(), name: "web".to_owned() };
    app.apply(&five_fields("go", "prod")).await;
    app.wait_ready().await;
    app.patch(&json!({ "spec": { "environment": "dev" } })).await;
    app.until_gone("poddisruptionbudgets").await;
    app.wait_ready().await;

    revoke(cluster, &app.namespace).await;
    app.patch(&json!({ "spec": { "replicaCount": 2 } })).await;
    let denied =
        "egapp_forbidden_requests_total{namespace=\"pe-app-system\",resource=\"deployments\",verb=\"patch\"}";
    eventually("the refusal is counted", async || {
        let count = operator.metric(denied);
        holds(count >= Some(1.0), || format!("{count:?}"))
    })
    .await;
    assert!(operator.log().contains("cannot patch resource"), "{}", operator.log());
    assert_eq!(operator.probe("/healthz").0, 200);
    grant(cluster, &app.namespace).await;
    app.until("scaled", |app| app["status"]["readyReplicas"] == 2).await;
    app.wait_ready().await;

    let requests = cluster.audit().unwrap().user(&user());
    let watched: Vec<_> = kinds(&requests.clone().verb("watch").namespace("pe-app-system"));
    assert_eq!(
        watched,
        ["deployments", "egapps", "horizontalpodautoscalers", "poddisruptionbudgets", "pods", "services"]
    );
    let wide = requests.filter(|event| event.namespace.is_empty());
    assert_eq!(wide.count(), 0, "{wide:#?}");
    operator.stop().await;
}

fn kinds(requests: &AuditEvents) -> Vec<String> {
    let mut kinds: Vec<_> = requests.clone().events().into_iter().map(|event| event.resource).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn one_forbidden_namespace_of_three_degrades_alone_and_heals_without_a_restart() {
    let cluster = cluster().await;
    let apps = [
        App::named(cluster, "web").await,
        App::named(cluster, "web").await,
        App::named(cluster, "web").await,
    ];
    let [a, b, forbidden] = &apps;
    for app in &apps {
        app.apply(&with_image(1)).await;
    }
    grant(cluster, &a.namespace).await;
    grant(cluster, &b.namespace).await;
    let operator = watching(cluster, "three", &[&a.namespace, &b.namespace, &forbidden.namespace]).await;
    operator.leading().await;
    a.wait_ready().await;
    b.wait_ready().await;

    let note = format!(
        "[+]caches-synced ok, degraded: namespace {}: not allowed to list or watch: EGApps, Deployments, Services, \
         PodDisruptionBudgets, HorizontalPodAutoscalers, pods\n",
        forbidden.namespace
    );
    let (code, text) = operator.probe("/readyz?verbose");
    assert!(code == 200 && text.contains(&note), "{text}");
    assert_eq!(forbids(&operator, &a.namespace), Some(0.0));
    assert_eq!(forbids(&operator, &forbidden.namespace), Some(1.0));
    eventually("each watch was tried again", async || {
        let errors = operator.metric("egapp_watch_errors_total{kind=\"Pod\"}");
        holds(errors >= Some(3.0), || format!("{errors:?}"))
    })
    .await;
    let told = |log: &str| log.lines().filter(|line| line.contains("may not list or watch")).count();
    assert_eq!(told(&operator.log()), 6, "one line for each kind, not for each try: {}", operator.log());
    let untouched = forbidden.get().await;
    assert_eq!(untouched["status"]["observedGeneration"], -1, "{untouched:#}");
    assert_eq!(forbidden.object("deployment").await, None);

    grant(cluster, &forbidden.namespace).await;
    forbidden.wait_ready().await;
    // A watch that says nothing after its list is taken to run some seconds later.
    eventually("nothing is degraded any more", async || {
        let (forbids, text) = (forbids(&operator, &forbidden.namespace), operator.probe("/readyz?verbose").1);
        holds(forbids == Some(0.0) && text.contains("[+]caches-synced ok\n"), || {
            format!("{forbids:?} {text}")
        })
    })
    .await;
    operator.stop().await;
}

/// The gauge of the right to watch Deployments.
fn forbids(operator: &Operator, namespace: &str) -> Option<f64> {
    operator.metric(&format!("egapp_watch_forbidden{{kind=\"Deployment\",namespace=\"{namespace}\"}}"))
}

#[tokio::test]
async fn an_app_outside_the_watched_namespaces_is_left_alone() {
    let cluster = cluster().await;
    let (inside, outside) = (App::named(cluster, "web").await, App::named(cluster, "web").await);
    grant(cluster, &inside.namespace).await;
    grant(cluster, &outside.namespace).await;
    let operator = watching(cluster, "one", &[&inside.namespace]).await;
    operator.leading().await;
    outside.apply(&with_image(1)).await;
    inside.apply(&with_image(1)).await;
    inside.wait_ready().await;
    let asked = cluster.audit().unwrap().user(&user()).namespace(&outside.namespace);
    assert_eq!(asked.count(), 0, "{asked:#?}");
    assert_eq!(outside.object("deployment").await, None);
    operator.stop().await;
}

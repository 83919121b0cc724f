//! A single right that the operator has not: told on the object and in a metric, and over with the right's return.

use crate::support::app::{condition, reason, with_image};
use crate::support::{App, Operator, eventually, holds};
use crate::{cluster, grant, revoke_verbs, watching};

#[tokio::test]
async fn a_missing_right_to_write_is_forbidden_with_verb_resource_and_namespace_until_it_is_back() {
    let cluster = cluster().await;
    let cases = [("deployments", "create"), ("deployments", "patch"), ("services", "patch")];
    let mut apps = Vec::new();
    for (resource, verb) in cases {
        let app = App::named(cluster, "web").await;
        grant(cluster, &app.namespace).await;
        revoke_verbs(cluster, &app.namespace, resource, &[verb]).await;
        apps.push(app);
    }
    let namespaces: Vec<_> = apps.iter().map(|app| app.namespace.as_str()).collect();
    let operator = watching(cluster, "verbs", &namespaces).await;
    operator.leading().await;
    for (app, right) in apps.iter().zip(cases) {
        app.apply(&with_image(1)).await;
        assert_is_told(app, &operator, right).await;
    }
    assert_eq!(operator.probe("/healthz").0, 200, "it is no reason to be restarted");
    for app in &apps {
        grant(cluster, &app.namespace).await;
        app.wait_ready().await;
    }
    operator.stop().await;
}

async fn assert_is_told(app: &App<'_>, operator: &Operator, (resource, verb): (&str, &str)) {
    let told = app.until("it is told", |app| reason(app) == "Forbidden").await;
    let ready = condition(&told, "Ready");
    assert_eq!(ready["status"], "False", "{ready}");
    let message = ready["message"].as_str().unwrap();
    let namespace = &app.namespace;
    for part in [
        format!("cannot {verb} resource \"{resource}\""),
        format!("in the namespace \"{namespace}\""),
        "config/rbac/role.yaml".to_owned(),
    ] {
        assert!(message.contains(&part), "{part} is missing in: {message}");
    }
    let series = format!(
        "egapp_forbidden_requests_total{{namespace=\"{namespace}\",resource=\"{resource}\",verb=\"{verb}\"}}"
    );
    eventually("it is counted", async || holds(operator.metric(&series) >= Some(1.0), || operator.metrics()))
        .await;
}

#[tokio::test]
async fn a_kind_that_may_not_be_seen_is_told_on_the_app_and_nothing_is_touched_until_it_may() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    grant(cluster, &app.namespace).await;
    let operator = watching(cluster, "sighted", &[&app.namespace]).await;
    app.apply(&with_image(2)).await;
    app.wait_ready().await;
    let before =
        app.until("both pods", |app| app["status"]["pods"].as_array().map(Vec::len) == Some(2)).await;
    operator.stop().await;

    revoke_verbs(cluster, &app.namespace, "deployments", &["list", "watch"]).await;
    let operator = watching(cluster, "blind", &[&app.namespace]).await;
    let told = app.until("it is told", |app| reason(app) == "Forbidden").await;
    let ready = condition(&told, "Ready");
    assert_eq!(ready["status"], "Unknown", "the pods may be well: {ready}");
    let message = ready["message"].as_str().unwrap();
    let start = format!("the operator may not list or watch Deployments in namespace {}: ", app.namespace);
    assert!(message.starts_with(&start) && message.contains("resource \"deployments\""), "{message}");
    for field in ["pods", "readyReplicas", "image"] {
        assert_eq!(told["status"][field], before["status"][field], "{field} stays as it was told");
    }
    assert_eq!(condition(&told, "Available"), condition(&before, "Available"));
    let (code, text) = operator.probe("/readyz");
    assert!(code == 500 && text.contains("not allowed to list or watch: Deployments"), "{text}");
    app.kubectl(&["scale", "egapp/web", "--replicas=1"]).await;
    app.until("the new generation is told of", |app| {
        condition(app, "Ready")["observedGeneration"] == app["metadata"]["generation"]
    })
    .await;
    assert_eq!(app.deployment().await["spec"]["replicas"], 2);

    grant(cluster, &app.namespace).await;
    app.until_deployment("scaled", |live| live["spec"]["replicas"] == 1).await;
    app.wait_ready().await;
    operator.ready().await;
    operator.stop().await;
}

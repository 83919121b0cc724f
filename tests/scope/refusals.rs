//! Rights that come late, and rights that go while the watches run. Clusters of their own: the API server is restarted in one,
//! which ends every watch.

use cluster::{Cluster, Identity, Options, Part};

use crate::support::app::with_image;
use crate::support::operator::{install_from, requests, requests_when_quiet, user};
use crate::support::{App, Operator, eventually, holds, project};
use crate::{grant, revoke, watching};

async fn api() -> Cluster {
    installed(Options::api()).await
}

async fn installed(options: Options) -> Cluster {
    let cluster = options.manifest(project("config/crd/bases")).start().await.unwrap();
    install_from(&cluster, "config/namespaced").await;
    cluster
}

#[tokio::test]
async fn a_namespace_that_is_forbidden_later_shows_serves_on_and_heals_though_nothing_happens_in_it() {
    let cluster = api().await;
    let (a, b) = (App::named(&cluster, "web").await, App::named(&cluster, "web").await);
    for app in [&a, &b] {
        grant(&cluster, &app.namespace).await;
        app.apply(&with_image(1)).await;
    }
    // A lease would be lost while there is no API server.
    let no_election = r#"[{"op": "remove", "path": "/spec/template/spec/containers/0/args/0"}]"#;
    let manager = ["-n", "pe-app-system", "patch", "deployment", "pe-app-controller-manager"];
    cluster.kubectl([&manager[..], &["--type=json", "-p", no_election]].concat()).await.unwrap();
    let mark = cluster.audit_mark().unwrap();
    let operator = watching(&cluster, "two", &[&a.namespace, &b.namespace]).await;
    for app in [&a, &b] {
        app.until_deployment("it is made", |live| live["spec"]["replicas"] == 1).await;
    }
    requests_when_quiet(&cluster, mark).await;

    revoke(&cluster, &b.namespace).await;
    let mark = cluster.audit_mark().unwrap();
    cluster.kill(Part::ApiServer).unwrap();
    cluster.start(Part::ApiServer).await.unwrap();
    let amiss =
        format!("[+]caches-synced ok, degraded: namespace {}: not allowed to list or watch: ", b.namespace);
    until_readiness(&operator, &amiss).await;
    a.patch(&serde_json::json!({ "spec": { "replicaCount": 3 } })).await;
    a.until_deployment("the other works", |live| live["spec"]["replicas"] == 3).await;

    grant(&cluster, &b.namespace).await;
    until_readiness(&operator, "[+]caches-synced ok\n").await;
    let writes = requests(&cluster, mark).namespace(&b.namespace).writes();
    assert_eq!(writes.count(), 0, "what was known stays known: {writes:#?}");
    operator.stop().await;
}

#[tokio::test]
async fn without_rights_in_the_whole_cluster_the_manager_is_unready_and_says_for_what() {
    let cluster = api().await;
    let operator = Operator::start_with(&cluster, "stranger", &Identity::user("stranger"), |command| {
        command.env("WATCH_NAMESPACE", "");
    })
    .await;
    let all = "[-]caches-synced failed: the whole cluster: not allowed to list or watch: EGApps, Deployments, Services, \
               PodDisruptionBudgets, HorizontalPodAutoscalers, pods\n";
    until_readiness(&operator, all).await;
    assert_eq!(operator.probe("/readyz").0, 500);
    assert_eq!(operator.metric("egapp_watch_forbidden{kind=\"Pod\",namespace=\"\"}"), Some(1.0));
    assert!(operator.log().contains(r#""scope":"the whole cluster""#), "{}", operator.log());

    let grant =
        ["create", "clusterrolebinding", "stranger", "--clusterrole=cluster-admin", "--user=stranger"];
    cluster.kubectl(grant).await.unwrap();
    operator.leading().await;
    let app = App::named(&cluster, "web").await;
    app.apply(&with_image(1)).await;
    app.until_deployment("it is made", |live| live["spec"]["replicas"] == 1).await;
    operator.stop().await;
}

#[tokio::test]
async fn nothing_is_made_while_a_kind_has_not_been_listed() {
    // A kind that the API server does not serve is neither listed nor forbidden.
    let cluster = installed(Options::api().api_server_flag("--runtime-config=policy/v1=false")).await;
    let app = App::named(&cluster, "web").await;
    grant(&cluster, &app.namespace).await;
    app.apply(&with_image(1)).await;
    let operator = watching(&cluster, "half", &[&app.namespace]).await;
    let line = format!(
        "[-]caches-synced failed: namespace {}: not listed yet: PodDisruptionBudgets\n",
        app.namespace
    );
    until_readiness(&operator, &line).await;
    eventually("it leads, and has tried again", async || {
        let leads = operator.metric("leader_election_master_status{") == Some(1.0);
        let errors = operator.metric("egapp_watch_errors_total{kind=\"PodDisruptionBudget\"}");
        holds(leads && errors >= Some(3.0), || operator.log())
    })
    .await;
    let writes = cluster.audit().unwrap().user(&user()).namespace(&app.namespace).writes();
    assert_eq!(writes.count(), 0, "{writes:#?}");
    assert_eq!(app.object("deployment").await, None);
    operator.stop().await;
}

async fn until_readiness(operator: &Operator, line: &str) {
    eventually("readiness says so", async || {
        let text = operator.probe("/readyz?verbose").1;
        holds(text.contains(line), || format!("{line} is not in {text}"))
    })
    .await;
}

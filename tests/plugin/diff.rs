//! What an apply would change.

use serde_json::json;

use crate::support::App;
use crate::support::app::with_image;
use crate::support::operator::requests_when_quiet;
use crate::support::policy::{mirroring, until_image_is};
use crate::{EGAPPS, alone, cluster, manifest, run, through_kubectl, with_rights};

#[tokio::test]
async fn an_unchanged_app_differs_in_nothing_and_nothing_is_written_by_asking() {
    let cluster = cluster().await;
    let mut spec = with_image(2);
    spec["environment"] = json!("prod");
    let app = App::ready(cluster, "web", &spec).await;
    requests_when_quiet(cluster, cluster.audit_mark().unwrap()).await;
    let before = app.get().await;
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert_eq!(app.get().await["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_changed_app_is_shown_with_all_that_becomes_of_it() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let mut spec = with_image(3);
    spec["environment"] = json!("prod");
    spec["service"] = json!({ "enabled": false });
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let of = |kind: &str, word: &str| format!("{word}: {kind} {}/web", app.namespace);
    for line in [
        format!("--- {}", of("EGApp", "live")),
        format!("+++ {}", of("EGApp", "after")),
        "-  replicaCount: 1".to_owned(),
        "+  replicaCount: 3".to_owned(),
        format!("+++ {}", of("Deployment", "after")),
        "-  replicas: 1".to_owned(),
        "+  replicas: 3".to_owned(),
        "+  minReadySeconds: 10".to_owned(),
        format!("--- {}", of("Service", "live")),
        "+++ /dev/null".to_owned(),
        format!("+++ {}", of("PodDisruptionBudget", "after")),
        "+  maxUnavailable: 1".to_owned(),
    ] {
        assert!(ran.stdout.lines().any(|found| found == line), "{line} is not in\n{}", ran.stdout);
    }
    for noise in ["managedFields", "resourceVersion", "applied-digest", "uid"] {
        assert!(!ran.stdout.contains(noise), "{noise}: {}", ran.stdout);
    }
    app.apply(&spec).await;
    app.until_gone("services").await;
    app.wait_ready().await;
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "what was shown has come to be");
}

#[tokio::test]
async fn a_field_that_the_file_says_no_more_is_dropped_as_kubectl_apply_drops_it() {
    let cluster = cluster().await;
    let without = json!({ "framework": "go", "environment": "dev" });
    for apply in [&["apply", "--server-side", "-f", "-"][..], &["apply", "-f", "-"]] {
        let app = App::named(cluster, "web").await;
        cluster.admin().run_with_input(apply, &manifest(&app, &with_image(1))).await.unwrap();
        app.wait_ready().await;
        app.kubectl(&["scale", "egapp", "web", "--replicas=2"]).await;
        app.until("it is scaled", |app| app["status"]["readyReplicas"] == 2).await;
        let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &without));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(
            ran.stdout.contains("-  image: registry.example.com/team/web:1"),
            "{apply:?}: {}",
            ran.stdout
        );
        cluster.admin().run_with_input(apply, &manifest(&app, &without)).await.unwrap();
        let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &without));
        assert!(!ran.stdout.contains("EGApp"), "{apply:?}: what was shown has come to be: {}", ran.stdout);
    }
}

#[tokio::test]
async fn a_new_app_is_shown_whole_and_replicas_in_other_hands_stay() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &with_image(1)));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(
        ran.stdout.matches("--- /dev/null").count(),
        3,
        "EGApp, Deployment and Service: {}",
        ran.stdout
    );

    app.apply(&with_image(4)).await;
    app.wait_ready().await;
    let mut spec = with_image(4);
    spec["autoscaling"] = json!({ "minReplicas": 2, "maxReplicas": 9 });
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(!ran.stdout.contains("  replicas:"), "nothing happens to them: {}", ran.stdout);
    assert!(ran.stdout.contains("+++ after: HorizontalPodAutoscaler"), "{}", ran.stdout);
}

#[tokio::test]
async fn what_the_api_server_refuses_is_an_error_and_no_difference() {
    let app = App::named(cluster().await, "web").await;
    let mut spec = with_image(1);
    spec["autoscaling"] = json!({ "minReplicas": 9, "maxReplicas": 2 });
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("must be no more than maxReplicas"), "{}", ran.stderr);
}

#[tokio::test]
async fn who_may_not_patch_the_children_sees_what_is_to_be_expected_of_them() {
    let cluster = cluster().await;
    let mut spec = with_image(1);
    spec["resources"] = json!({ "requests": { "cpu": "0.5" } });
    let app = App::ready(cluster, "web", &spec).await;
    let rights = [("get,list,watch,create,patch", EGAPPS), ("get,list", "deployments.apps,services")];
    let kubeconfig = with_rights(&app, &rights).await;
    let diff = |spec: &serde_json::Value| {
        let mut command = alone();
        command.env("KUBECONFIG", &kubeconfig).args(["diff", "-f", "-", "-n", &app.namespace]);
        run(&mut command, &manifest(&app, spec))
    };
    let same = diff(&spec);
    assert_eq!((same.code, same.stdout.as_str()), (0, ""), "{}", same.stderr);
    assert!(same.stderr.contains("note: you may not patch a Deployment"), "{}", same.stderr);
    spec["replicaCount"] = json!(3);
    let other = diff(&spec);
    assert_eq!(other.code, 1, "{}", other.stderr);
    assert!(other.stdout.contains("-  replicas: 1\n+  replicas: 3\n"), "{}", other.stdout);
    assert!(!other.stdout.contains("hostPID"), "{}", other.stdout);
}

#[tokio::test]
async fn who_may_not_read_the_children_is_not_told_that_nothing_differs() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let kubeconfig = with_rights(&app, &[("get,patch", EGAPPS)]).await;
    let mut command = alone();
    command.env("KUBECONFIG", &kubeconfig).args(["diff", "-f", "-", "-n", &app.namespace]);
    let ran = run(&mut command, &manifest(&app, &with_image(1)));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let line = "error: cannot tell whether anything differs: you may not read deployments, services\n";
    assert!(ran.stderr.ends_with(line), "{}", ran.stderr);
}

#[tokio::test]
async fn what_somebody_else_has_under_the_name_is_not_shown_to_change() {
    let app = App::named(cluster().await, "web").await;
    app.kubectl(&["create", "service", "clusterip", "web", "--tcp=99"]).await;
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &with_image(1)));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("note: there is a Service of its name that nobody controls"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("Deployment") && !ran.stdout.contains("Service "), "{}", ran.stdout);
}

#[tokio::test]
async fn what_kubectl_prints_of_apps_can_be_compared() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let other = app.sibling("other");
    other.apply(&with_image(2)).await;
    other.wait_ready().await;
    let list = app.kubectl(&["get", "egapps", "-o", "yaml", "--show-managed-fields"]).await;
    assert!(list.contains("kind: List"), "{list}");
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &list);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let ran =
        through_kubectl(&app, &["diff", "-f", "-"], &list.replace("replicaCount: 2", "replicaCount: 3"));
    assert_eq!((ran.code, ran.stdout.matches("+  replicaCount: 3").count()), (1, 1), "{}", ran.stdout);
}

#[tokio::test]
async fn what_a_policy_rewrites_is_no_difference_for_whoever_asks() {
    let cluster = cluster().await;
    let app = App::named(cluster, "web").await;
    cluster.apply(&mirroring(&app.namespace)).await.unwrap();
    until_image_is(&app, "mirror.example.com/x:1").await;
    let spec = with_image(1);
    app.apply(&spec).await;
    app.wait_ready().await;
    app.kubectl(&["wait", "egapp/web", "--for=condition=Overridden", "--timeout=60s"]).await;
    let ran = through_kubectl(&app, &["diff", "-f", "-"], &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);

    let rights = [("get,list,watch,create,patch", EGAPPS), ("get,list", "deployments.apps,services")];
    let kubeconfig = with_rights(&app, &rights).await;
    let mut command = alone();
    command.env("KUBECONFIG", &kubeconfig).args(["diff", "-f", "-", "-n", &app.namespace]);
    let ran = run(&mut command, &manifest(&app, &spec));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: the Deployment stays as admission makes it"), "{}", ran.stderr);
}

//! What an apply would change.

use cluster::Identity;
use serde_json::json;

use crate::support::App;
use crate::support::app::with_image;
use crate::support::operator::requests_when_quiet;
use crate::{alone, cluster, manifest, run, through_kubectl};

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
    app.kubectl(&["create", "serviceaccount", "dev"]).await;
    for (role, verbs, resources) in [
        ("apps", "get,list,watch,create,patch", "egapps.egplatform.platform.evillgenius.com"),
        ("children", "get,list", "deployments.apps,services"),
    ] {
        app.kubectl(&[
            "create",
            "role",
            role,
            &format!("--verb={verbs}"),
            &format!("--resource={resources}"),
        ])
        .await;
        let account = format!("--serviceaccount={}:dev", app.namespace);
        app.kubectl(&["create", "rolebinding", role, &format!("--role={role}"), &account]).await;
    }
    let identity = Identity::service_account(&app.namespace, "dev");
    let kubeconfig = cluster.kubeconfig_for(&identity).await.unwrap();
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

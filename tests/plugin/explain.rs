//! Where everything comes from.

use serde_json::{Value, json};

use crate::support::App;
use crate::support::app::{reason, with_image};
use crate::{EGAPPS, alone, cluster, manifest, run, through_kubectl, with_rights};

#[tokio::test]
async fn an_app_is_explained_in_words_and_for_machines() {
    let mut spec = json!({
        "framework": "python", "environment": "prod", "replicaCount": 2, "appId": "cart",
        "resources": { "limits": { "memory": "1Gi" } },
        "env": [{ "name": "PYTHONUNBUFFERED", "value": "0" }, { "name": "EGAPP_NAME", "value": "shop" }],
        "envFrom": [{ "configMapRef": { "name": "more", "optional": true } }],
    });
    let app = App::ready(cluster().await, "web", &spec).await;
    let ran = through_kubectl(&app, &["explain", "web"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for words in [
        "True, StarterImage: ",
        "the framework's starter (images.starters.python): spec.image is not set, and the platform's images.apps has none for appId cart",
        "requests cpu 250m, memory 1Gi; limits memory 1Gi",
        "spec.instanceType lowMem: cpu 250m, memory 256Mi (sizes.lowMem)",
        "spec.resources.limits.memory 1Gi stands in place of the size's",
        "8080",
        "the framework's (frameworks.python.port)",
        "Service web leads to it from port 80",
        "maxSurge 25%, maxUnavailable 0, minReadySeconds 10",
        "PodDisruptionBudget: yes; preStop sleep: 10 s",
        "spec.env replaces PYTHONUNBUFFERED of the platform (frameworks.python.env)",
        "spec.env replaces EGAPP_NAME, which the operator sets",
        "spec.envFrom loses to every one of these",
        "in the way  nothing",
    ] {
        assert!(ran.stdout.contains(words), "{words:?} is not in\n{}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.trim_end() == line), "{}", ran.stdout);

    spec["suspend"] = json!(true);
    app.apply(&spec).await;
    app.kubectl(&["autoscale", "deployment", "web", "--name=theirs", "--min=2", "--max=3"]).await;
    app.until("it is suspended", |app| reason(app) == "Suspended").await;
    let measures_nothing = ["wait", "hpa/theirs", "--for=condition=ScalingActive=false", "--timeout=60s"];
    app.kubectl(&measures_nothing).await;
    let ran = through_kubectl(&app, &["explain", "web", "-o", "json"], "");
    let explanation: Value = serde_json::from_str(&ran.stdout).unwrap();
    let obstacles = explanation["inTheWay"].to_string();
    assert!(obstacles.contains("spec.suspend is true"), "{obstacles}");
    let why = "HorizontalPodAutoscaler theirs does not scale: FailedGetResourceMetric: ";
    assert!(obstacles.contains(why), "{obstacles}");
    let facts = explanation["facts"].as_array().unwrap();
    let replicas = facts.iter().find(|fact| fact["topic"] == "replicas").unwrap().to_string();
    assert!(
        replicas.contains("HorizontalPodAutoscaler theirs, which the EGApp does not ask for"),
        "{replicas}"
    );
}

#[tokio::test]
async fn an_app_that_is_not_there_and_a_child_that_is_somebody_elses_are_named() {
    let app = App::named(cluster().await, "web").await;
    let ran = through_kubectl(&app, &["explain", "web"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let namespace = &app.namespace;
    assert!(
        ran.stderr.starts_with(&format!("error: there is no EGApp web in namespace {namespace}")),
        "{}",
        ran.stderr
    );
    app.kubectl(&["create", "deployment", "web", "--image=registry.example.com/other:1"]).await;
    app.apply(&with_image(1)).await;
    app.until("it is told", |app| reason(app) == "NameConflict").await;
    let ran = through_kubectl(&app, &["explain", "web"], "");
    let obstacles = ran.stdout.split("in the way").nth(1).unwrap();
    assert_eq!(obstacles.matches("Deployment").count(), 1, "it is told once: {obstacles}");
    assert!(obstacles.contains("NameConflict"), "{obstacles}");
}

#[tokio::test]
async fn an_administrator_sees_with_the_eyes_of_another_user_and_nobody_else_does() {
    let app = App::ready(cluster().await, "web", &with_image(1)).await;
    let kubeconfig = with_rights(&app, &[("get", EGAPPS)]).await;
    let user = format!("--as=system:serviceaccount:{}:dev", app.namespace);
    let ran = through_kubectl(&app, &["explain", "web", &user], "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("note: you may not read Deployment"), "{}", ran.stderr);
    let ran = through_kubectl(&app, &["explain", "web", &user, "--as-group=system:masters"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));

    let manifest = manifest(&app, &with_image(2));
    for arguments in [&["explain", "web"][..], &["restart", "web"], &["diff", "-f", "-"]] {
        let mut command = alone();
        command.env("KUBECONFIG", &kubeconfig).args(arguments).args(["--as=admin", "-n", &app.namespace]);
        let ran = run(&mut command, &manifest);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains("cannot impersonate"), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn what_others_write_into_the_cluster_commands_no_terminal() {
    let app = App::named(cluster().await, "web").await;
    let owner = json!({
        "apiVersion": "x.example.com/v1", "kind": "Foo\u{1b}]0;owned\u{7}\u{9b}2J", "name": "bar", "uid": "1", "controller": true,
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": app.namespace, "ownerReferences": [owner] },
        "spec": { "ports": [{ "port": 80 }] },
    });
    // YAML, as which an apply is read, has no such characters.
    app.cluster.admin().run_with_input(["create", "-f", "-"], &service.to_string()).await.unwrap();
    app.apply(&with_image(1)).await;
    for arguments in
        [&["explain", "web"][..], &["explain", "web", "-o", "yaml"], &["explain", "web", "-o", "json"]]
    {
        let ran = through_kubectl(&app, arguments, "");
        assert!(ran.stdout.contains("owned"), "{}", ran.stdout);
        let commands = |text: &str| text.chars().any(|one| one.is_control() && one != '\n');
        assert!(!commands(&ran.stdout) && !commands(&ran.stderr), "{arguments:?}: {:?}", ran.stdout);
    }
}

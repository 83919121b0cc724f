//! What a person at kubectl sees.

use serde_json::json;

use crate::egapps::{Egapps, least, with};

#[tokio::test]
async fn misspelt_field_is_refused_by_kubectl() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let manifest = json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "web", "namespace": apps.namespace }, "spec": with(least(), json!({ "replicas": 3 })),
    });
    let admin = apps.cluster.admin();
    let refusal = admin.run_with_input(["create", "-f", "-"], &manifest.to_string()).await.unwrap_err();
    assert!(refusal.to_string().contains(r#"unknown field "spec.replicas""#), "{refusal}");
}

#[tokio::test]
async fn scale_reads_and_writes_the_replicas() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let status = json!({ "replicas": 7, "selector": "app=web" });
    apps.patch_status("web", status).await.unwrap().unwrap();
    apps.kubectl(&["scale", "egapp/web", "--replicas=3"]).await.unwrap();
    let scale = serde_json::to_value(apps.api.get_scale("web").await.unwrap()).unwrap();
    assert_eq!(scale["spec"], json!({ "replicas": 3 }));
    assert_eq!(scale["status"], json!({ "replicas": 7, "selector": "app=web" }));
    let app = apps.api.get("web").await.unwrap();
    assert_eq!(app.data["spec"]["replicaCount"], 3);
}

#[tokio::test]
async fn table_shows_the_app_at_a_glance() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let ready = json!({
        "type": "Ready", "status": "False", "reason": "RollingOut", "message": "half-way",
        "lastTransitionTime": "2024-05-06T07:08:09Z",
    });
    let status =
        json!({ "desiredReplicas": 2, "readyReplicas": 1, "image": "nginx:1", "conditions": [ready] });
    apps.patch_status("web", status).await.unwrap().unwrap();

    for words in [["get", "ega"], ["get", "egplatform"]] {
        let table = apps.kubectl(&words).await.unwrap();
        let rows: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["NAME", "FRAMEWORK", "SIZE", "ENV", "DESIRED", "READY", "STATUS", "AGE"]);
        assert_eq!(rows[1][..7], ["web", "go", "lowMem", "dev", "2", "1", "RollingOut"]);
    }
    let wide = apps.kubectl(&["get", "ega", "--output=wide"]).await.unwrap();
    for word in ["IMAGE", "MESSAGE", "nginx:1", "half-way"] {
        assert!(wide.contains(word), "{word} in {wide}");
    }
    assert!(
        apps.kubectl(&["get", "all"])
            .await
            .unwrap()
            .contains("egapp.egplatform.platform.evillgenius.com/web")
    );
}

#[tokio::test]
async fn explain_says_what_a_field_is() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let text = apps.kubectl(&["explain", "egapp.spec.framework"]).await.unwrap();
    for words in ["framework <string>", "java\n    python\n    go\n", "What the application is written in"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let spec = apps.kubectl(&["explain", "egapp.spec"]).await.unwrap();
    assert!(spec.contains("Default: 1."), "{spec}");
    assert!(spec.lines().all(|line| line.len() <= 80), "a line of our own is broken again: {spec}");
}

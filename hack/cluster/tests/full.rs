//! The whole control plane: what tests of rollouts, deletes and access to pods rely on.

use std::time::Duration;

use cluster::Cluster;

#[tokio::test]
async fn a_deployment_gets_running_pods_with_addresses() {
    let cluster = Cluster::shared_full().await.unwrap();
    let namespace = cluster.namespace("rollout").await.unwrap();
    let create = ["create", "deployment", "web", "--image=nginx", "--replicas=10", "-n", &namespace];
    cluster.kubectl(create).await.unwrap();
    cluster
        .kubectl(["rollout", "status", "deployment/web", "--timeout=30s", "-n", &namespace])
        .await
        .unwrap();
    let pods = cluster.kubectl_json(["get", "pods", "-l", "app=web", "-n", &namespace]).await.unwrap();
    let pods = pods["items"].as_array().unwrap();
    assert_eq!(pods.len(), 10);
    for pod in pods {
        assert_eq!(pod["status"]["phase"], "Running");
        assert!(pod["status"]["podIP"].as_str().unwrap().starts_with("10.244."), "{}", pod["status"]);
    }
}

#[tokio::test]
async fn children_of_a_deleted_object_are_collected() {
    let cluster = Cluster::shared_full().await.unwrap();
    let namespace = cluster.namespace("collect").await.unwrap();
    cluster.kubectl(["create", "deployment", "web", "--image=nginx", "-n", &namespace]).await.unwrap();
    let pod_ready =
        ["wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=30s", "-n", &namespace];
    cluster
        .kubectl(["rollout", "status", "deployment/web", "--timeout=30s", "-n", &namespace])
        .await
        .unwrap();
    cluster.kubectl(pod_ready).await.unwrap();
    cluster.kubectl(["delete", "deployment", "web", "-n", &namespace]).await.unwrap();
    let gone = ["wait", "--for=delete", "pod", "-l", "app=web", "--timeout=30s", "-n", &namespace];
    cluster.kubectl(gone).await.unwrap();
    assert_eq!(
        cluster.kubectl(["get", "replicasets,pods", "-o", "name", "-n", &namespace]).await.unwrap(),
        ""
    );
}

#[tokio::test]
async fn namespaces_can_be_deleted() {
    let cluster = Cluster::shared_full().await.unwrap();
    let namespace = cluster.namespace("short").await.unwrap();
    cluster.kubectl(["delete", "namespace", &namespace, "--timeout=30s"]).await.unwrap();
}

#[tokio::test]
async fn nodes_stay_ready() {
    let cluster = Cluster::shared_full().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    cluster.kubectl(["wait", "--for=condition=Ready", "node", "--all", "--timeout=1s"]).await.unwrap();
}

//! etcd and kube-apiserver alone: what tests of schemas, ownership, access and faults rely on.

use std::{fs, thread};

use cluster::{Cluster, Identity, Part};

const CONFIG_MAP: &str = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting"}}"#;

#[tokio::test]
async fn objects_are_stored_and_the_version_is_the_pinned_one() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("store").await.unwrap();
    let admin = cluster.admin();
    admin.run_with_input(["-n", &namespace, "create", "-f", "-"], CONFIG_MAP).await.unwrap();
    let stored = cluster.kubectl_json(["-n", &namespace, "get", "configmap", "greeting"]).await.unwrap();
    assert_eq!(stored["metadata"]["name"], "greeting");

    let version = cluster.kubectl_json(["version"]).await.unwrap();
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version["serverVersion"]["gitVersion"], cluster::Assets::pinned_version());
    }
}

#[tokio::test]
async fn pods_can_be_created_in_a_test_namespace() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("pods").await.unwrap();
    cluster.kubectl(["-n", &namespace, "run", "web", "--image=nginx"]).await.unwrap();
    let pod = cluster.kubectl_json(["-n", &namespace, "get", "pod", "web"]).await.unwrap();
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
}

#[tokio::test]
async fn namespaces_of_the_same_prefix_differ() {
    let cluster = Cluster::shared_api().await.unwrap();
    let first = cluster.namespace("twin").await.unwrap();
    let second = cluster.namespace("twin").await.unwrap();
    assert!(first.starts_with("twin-"), "{first}");
    assert_ne!(first, second);
}

#[tokio::test]
async fn refusals_carry_the_servers_message() {
    let cluster = Cluster::shared_api().await.unwrap();
    let error = cluster.kubectl(["get", "configmap", "nobody"]).await.unwrap_err().to_string();
    assert!(error.contains("kubectl get configmap nobody: "), "{error}");
    assert!(error.contains(r#"configmaps "nobody" not found"#), "{error}");
}

#[tokio::test]
async fn audit_tells_who_asked_for_what() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("audit").await.unwrap();
    let alice = cluster.kubectl_for(&Identity::user("alice")).await.unwrap();
    let mark = cluster.audit_mark().unwrap();

    alice.run(["-n", &namespace, "get", "configmap", "greeting"]).await.unwrap_err();
    let requests = cluster.audit_since(mark).unwrap().user("alice").resource("configmaps").events();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].verb.as_str(), requests[0].code), ("get", 403));
    assert_eq!(requests[0].namespace, namespace);
    assert!(requests[0].user_agent.starts_with("kubectl/"), "{}", requests[0].user_agent);
    let now = cluster.audit_mark().unwrap();
    assert_eq!(cluster.audit_since(now).unwrap().user("alice").count(), 0);
}

#[tokio::test]
async fn every_answered_request_is_in_the_audit_log() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("complete").await.unwrap();
    for number in 1..=15 {
        let name = format!("map-{number}");
        let mark = cluster.audit_mark().unwrap();
        cluster.kubectl(["-n", &namespace, "create", "configmap", &name]).await.unwrap();
        let creates = cluster.audit_since(mark).unwrap().namespace(&namespace).verb("create").count();
        assert_eq!(creates, 1, "{name}");
    }
}

#[tokio::test]
async fn groups_give_users_their_rights() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("groups").await.unwrap();
    let role = ["create", "role", "viewer", "--verb=list", "--resource=pods"];
    let binding = ["create", "rolebinding", "viewers", "--role=viewer", "--group=viewers"];
    for arguments in [role, binding] {
        cluster.kubectl([&arguments[..], &["-n", &namespace]].concat()).await.unwrap();
    }
    let may_list = ["auth", "can-i", "list", "pods", "-n", &namespace];

    let viewer = cluster.kubectl_for(&Identity::user_in_group("bob", "viewers")).await.unwrap();
    assert_eq!(viewer.run(may_list).await.unwrap().trim(), "yes");
    let stranger = cluster.kubectl_for(&Identity::user("bob")).await.unwrap();
    assert!(stranger.run(may_list).await.is_err(), "without the group there is no right");
}

#[tokio::test]
async fn service_accounts_get_a_token_of_their_own() {
    let cluster = Cluster::shared_api().await.unwrap();
    let namespace = cluster.namespace("token").await.unwrap();
    cluster.kubectl(["-n", &namespace, "create", "serviceaccount", "robot"]).await.unwrap();
    let identity = Identity::service_account(&namespace, "robot");
    let robot = cluster.kubectl_for(&identity).await.unwrap();
    let review = robot.json(["auth", "whoami"]).await.unwrap();
    assert_eq!(review["status"]["userInfo"]["username"], identity.user_name());
}

#[tokio::test]
async fn two_clusters_run_side_by_side_and_each_ends_alone() {
    let (one, other) = tokio::join!(Cluster::api(), Cluster::api());
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_ne!(one.server(), other.server());
    one.kubectl(["create", "namespace", "only-here"]).await.unwrap();
    other.kubectl(["get", "namespace", "only-here"]).await.unwrap_err();

    let (directory, pid) = (one.directory().to_owned(), one.pid(Part::Etcd).unwrap());
    one.shutdown().await.unwrap();
    assert!(!directory.exists());
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    other.kubectl(["get", "namespaces"]).await.unwrap();
}

#[tokio::test]
async fn a_panic_keeps_the_logs_and_ends_the_processes() {
    let cluster = Cluster::api().await.unwrap();
    let (directory, logs) = (cluster.directory().to_owned(), cluster.logs_dir());
    let pid = cluster.pid(Part::ApiServer).unwrap();
    let test = thread::spawn(move || {
        let _cluster = cluster;
        panic!("as a failing test does");
    });
    test.join().unwrap_err();
    assert!(fs::read_to_string(logs.join("audit.log")).unwrap().contains("/readyz"));
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    assert!(!directory.join("etcd").exists(), "the bulk is removed");
    fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn a_cluster_survives_faults_of_its_parts() {
    let cluster = Cluster::api().await.unwrap();
    let get = ["--request-timeout=1s", "get", "namespace", "survivor"];
    cluster.kubectl(["create", "namespace", "survivor"]).await.unwrap();

    cluster.pause(Part::ApiServer).unwrap();
    cluster.kubectl(get).await.unwrap_err();
    cluster.resume(Part::ApiServer).unwrap();
    cluster.kubectl(get).await.unwrap();

    cluster.kill(Part::ApiServer).unwrap();
    assert!(!cluster.is_running(Part::ApiServer));
    cluster.kubectl(get).await.unwrap_err();
    cluster.start(Part::ApiServer).await.unwrap();
    cluster.kubectl(get).await.unwrap();

    cluster.restart(Part::Etcd).await.unwrap();
    cluster.kubectl(["get", "namespace", "survivor"]).await.unwrap();
}

#[tokio::test]
async fn parts_of_the_full_tier_are_refused_by_name() {
    let cluster = Cluster::shared_api().await.unwrap();
    let error = cluster.kill(Part::Kwok).unwrap_err().to_string();
    assert_eq!(error, "this cluster has no kwok: start it with Cluster::full()");
}

#[tokio::test]
async fn a_part_that_ends_at_once_is_reported_with_its_log() {
    let options = cluster::Options::api().api_server_flag("--no-such-flag");
    let error = options.start().await.unwrap_err().to_string();
    assert!(error.starts_with("kube-apiserver ended (exit status: 1); its log is "), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
    let log = error.split("its log is ").nth(1).unwrap().lines().next().unwrap();
    fs::remove_dir_all(std::path::Path::new(log).ancestors().nth(2).unwrap()).unwrap();
}

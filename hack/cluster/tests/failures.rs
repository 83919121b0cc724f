//! Pods that fail, as a kubelet would show them.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "the helpers of a test are part of it")]

use std::{
    fs,
    time::{Duration, Instant},
};

use cluster::{Cluster, Failure};
use serde_json::{Value, json};

struct Namespace {
    cluster: &'static Cluster,
    name: String,
}

impl Namespace {
    async fn new(prefix: &str) -> Self {
        let cluster = Cluster::shared_full().await.unwrap();
        Self { cluster, name: cluster.namespace(prefix).await.unwrap() }
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        let arguments = [&["-n", &self.name], arguments].concat();
        self.cluster.kubectl(arguments).await.unwrap()
    }

    async fn pod(&self, name: &str) -> Value {
        self.cluster.kubectl_json(["-n", &self.name, "get", "pod", name]).await.unwrap()
    }

    /// Runs a pod named `app` with a container of that name.
    async fn run(&self, image: &str) {
        self.kubectl(&["run", "app", "--image", image]).await;
    }

    /// Makes a pod named `app`.
    async fn create(&self, spec: Value) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}, "spec": spec});
        let create = ["-n", &self.name, "create", "-f", "-"];
        self.cluster.admin().run_with_input(create, &pod.to_string()).await.unwrap();
    }

    /// Waits until the path in the status of the pod `app` has the value, however briefly.
    async fn wait_for(&self, path: &str, value: &str) {
        let condition = format!("--for=jsonpath={{.status.{path}}}={value}");
        self.kubectl(&["wait", "pod/app", &condition, "--timeout=60s"]).await;
    }

    /// The pod `app` at a moment when it is so.
    async fn app_when(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let pod = self.pod("app").await;
            if is_so(&pod) {
                return pod;
            }
            assert!(started.elapsed() < Duration::from_mins(1), "never {what}: {}", pod["status"]);
        }
    }

    async fn app_waiting(&self, reason: &str) -> Value {
        self.app_when(reason, |pod| container(pod)["state"]["waiting"]["reason"] == reason).await
    }

    /// The pod `app` after kwok has looked at it again: a later change of another pod has been acted on.
    async fn app_looked_at_again(&self) -> Value {
        self.kubectl(&["annotate", "pod", "app", "look=again"]).await;
        self.kubectl(&["run", "good", "--image=nginx"]).await;
        self.kubectl(&["wait", "pod/good", "--for=condition=Ready", "--timeout=60s"]).await;
        let log = fs::read_to_string(self.cluster.logs_dir().join("kwok.log")).unwrap();
        let app = format!("\"pod\":\"{}/app\"", self.name);
        let mut lines = log.lines().filter(|line| line.contains(&app));
        assert_eq!(
            lines.find(|line| line.contains("\"stage\":\"pod-ready\"")),
            None,
            "kwok's own stage acted"
        );
        self.pod("app").await
    }
}

fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a Value {
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == kind).unwrap()
}

fn assert_scheduled_and_unready(pod: &Value) {
    assert_eq!(condition(pod, "PodScheduled")["status"], "True");
    assert_eq!(condition(pod, "Initialized")["status"], "True");
    for kind in ["Ready", "ContainersReady"] {
        let condition = condition(pod, kind);
        assert_eq!(condition["status"], "False", "{kind}");
        assert_eq!(condition["reason"], "ContainersNotReady", "{kind}");
        assert_eq!(condition["message"], "containers with unready status: [app]", "{kind}");
    }
    assert_eq!(container(pod)["ready"], false);
}

/// What kubelets call a pod in messages.
fn description(pod: &Value) -> String {
    let text = |key: &str| pod["metadata"][key].as_str().unwrap().to_owned();
    format!("{}_{}({})", text("name"), text("namespace"), text("uid"))
}

#[tokio::test]
async fn a_missing_image_is_an_error_and_a_back_off_in_turn() {
    let namespace = Namespace::new("imagepull").await;
    namespace.run(&Failure::ImagePull.image()).await;
    for reason in ["ErrImagePull", "ImagePullBackOff", "ErrImagePull"] {
        namespace.wait_for("containerStatuses[0].state.waiting.reason", reason).await;
    }
    let pod = namespace.app_waiting("ImagePullBackOff").await;
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_scheduled_and_unready(&pod);
    let image = "fail.example/imagepull:1";
    assert_eq!(
        container(&pod)["state"]["waiting"]["message"],
        format!(
            "Back-off pulling image \"{image}\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and \
             unpack image \"{image}\": failed to resolve reference \"{image}\": {image}: not found"
        )
    );
    assert_eq!(container(&pod)["imageID"], "");
    assert_eq!(container(&pod)["started"], false);
    assert!(container(&pod)["containerID"].is_null());
}

#[tokio::test]
async fn a_missing_config_map_keeps_a_pod_pending() {
    let namespace = Namespace::new("configerror").await;
    namespace.run(&Failure::ConfigError.image()).await;
    namespace.app_waiting("CreateContainerConfigError").await;
    let pod = namespace.app_looked_at_again().await;
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_scheduled_and_unready(&pod);
    let waiting =
        json!({"reason": "CreateContainerConfigError", "message": "configmap \"app-config\" not found"});
    assert_eq!(container(&pod)["state"]["waiting"], waiting);
}

#[tokio::test]
async fn an_image_that_would_run_as_root_is_a_config_error() {
    let namespace = Namespace::new("runasroot").await;
    namespace.run(&Failure::RunAsRoot.image()).await;
    namespace.app_waiting("CreateContainerConfigError").await;
    let pod = namespace.app_looked_at_again().await;
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_eq!(
        container(&pod)["state"]["waiting"]["message"],
        format!(
            "container has runAsNonRoot and image will run as root (pod: \"{}\", container: app)",
            description(&pod)
        )
    );
}

#[tokio::test]
async fn a_crash_loop_counts_restarts_and_keeps_the_exit_code() {
    let namespace = Namespace::new("crashloop").await;
    namespace.run("fail.example/crashloop:42").await;
    namespace.wait_for("containerStatuses[0].state.terminated.exitCode", "42").await;
    namespace.wait_for("containerStatuses[0].restartCount", "2").await;
    let is_second = |pod: &Value| {
        container(pod)["restartCount"] == 2
            && container(pod)["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    };
    let pod = namespace.app_when("in the second back-off", is_second).await;
    assert_eq!(pod["status"]["phase"], "Running");
    assert_scheduled_and_unready(&pod);
    let message = format!("back-off 20s restarting failed container=app pod={}", description(&pod));
    assert_eq!(container(&pod)["state"]["waiting"]["message"], message);
    let last = &container(&pod)["lastState"]["terminated"];
    assert_eq!((&last["reason"], &last["exitCode"]), (&json!("Error"), &json!(42)));
    assert_eq!(last["containerID"], container(&pod)["containerID"]);
}

#[tokio::test]
async fn a_container_out_of_memory_is_killed_again_and_again() {
    let namespace = Namespace::new("oom").await;
    namespace.run(&Failure::OutOfMemory.image()).await;
    namespace.wait_for("containerStatuses[0].restartCount", "2").await;
    let pod = namespace.app_waiting("CrashLoopBackOff").await;
    let last = &container(&pod)["lastState"]["terminated"];
    assert_eq!((&last["reason"], &last["exitCode"]), (&json!("OOMKilled"), &json!(137)));
}

#[tokio::test]
async fn a_crashing_container_without_probes_is_ready_while_it_runs() {
    let namespace = Namespace::new("unprobed").await;
    namespace.run(&Failure::CrashLoop.image()).await;
    namespace.wait_for("containerStatuses[0].restartCount", "1").await;
    namespace.wait_for("containerStatuses[0].ready", "true").await;
}

#[tokio::test]
async fn a_crashing_container_with_probes_is_never_ready() {
    let namespace = Namespace::new("probed").await;
    let probe = json!({"tcpSocket": {"port": 8080}});
    let image = Failure::CrashLoop.image();
    let app = json!({"name": "app", "image": image, "startupProbe": probe, "readinessProbe": probe});
    namespace.create(json!({"containers": [app]})).await;
    namespace.wait_for("containerStatuses[0].restartCount", "2").await;
    let pod = namespace.pod("app").await;
    assert_eq!(
        condition(&pod, "Ready")["lastTransitionTime"],
        pod["status"]["startTime"],
        "it was ready once"
    );
}

#[tokio::test]
async fn a_container_that_never_passes_its_startup_probe_is_restarted() {
    let namespace = Namespace::new("startup").await;
    let probe = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 2});
    let app = json!({"name": "app", "image": Failure::NeverStarted.image(), "startupProbe": probe});
    namespace.create(json!({"containers": [app]})).await;
    namespace.wait_for("containerStatuses[0].restartCount", "1").await;
    let pod = namespace.app_waiting("CrashLoopBackOff").await;
    assert_scheduled_and_unready(&pod);
    assert_eq!(
        condition(&pod, "Ready")["lastTransitionTime"],
        pod["status"]["startTime"],
        "it was ready once"
    );
    let last = &container(&pod)["lastState"]["terminated"];
    assert_eq!((&last["reason"], &last["exitCode"]), (&json!("Error"), &json!(143)));
}

#[tokio::test]
async fn a_slow_container_runs_before_it_is_ready() {
    let namespace = Namespace::new("slowready").await;
    namespace.run(&Failure::SlowReady.image()).await;
    let pod = namespace.app_when("running", |pod| container(pod)["state"]["running"].is_object()).await;
    assert_scheduled_and_unready(&pod);
    namespace.kubectl(&["wait", "pod/app", "--for=condition=Ready", "--timeout=60s"]).await;
    let ready = namespace.pod("app").await;
    assert_eq!(container(&ready)["state"], container(&pod)["state"], "it was not restarted");
    assert!(condition(&ready, "Ready")["reason"].is_null(), "{}", ready["status"]);
}

#[tokio::test]
async fn a_container_that_is_never_ready_runs() {
    for (failure, started) in [(Failure::NeverReady, true), (Failure::NeverStarted, false)] {
        let namespace = Namespace::new(failure.name()).await;
        namespace.run(&failure.image()).await;
        namespace.app_when("running", |pod| container(pod)["state"]["running"].is_object()).await;
        let pod = namespace.app_looked_at_again().await;
        assert_eq!(pod["status"]["phase"], "Running");
        assert_scheduled_and_unready(&pod);
        assert_eq!(container(&pod)["started"], started);
        assert_eq!(container(&pod)["restartCount"], 0);
    }
}

#[tokio::test]
async fn containers_beside_a_failing_one_run() {
    let namespace = Namespace::new("beside").await;
    let image = format!("registry.example.com/fail.example/imagepull@sha256:{:064}", 1);
    let containers = json!([{"name": "app", "image": image}, {"name": "proxy", "image": "nginx"}]);
    let init_containers = json!([{"name": "setup", "image": "nginx"}]);
    namespace.create(json!({"initContainers": init_containers, "containers": containers})).await;
    let pod = namespace.app_waiting("ImagePullBackOff").await;
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_scheduled_and_unready(&pod);
    let proxy = &pod["status"]["containerStatuses"][1];
    assert_eq!((&proxy["name"], &proxy["ready"]), (&json!("proxy"), &json!(true)));
    assert!(proxy["state"]["running"].is_object());
    assert_eq!(pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
}

#[tokio::test]
async fn an_annotation_asks_for_a_failure_too() {
    let namespace = Namespace::new("annotation").await;
    let (key, value) = Failure::ConfigError.annotation();
    let annotation = format!("--annotations={key}={value}");
    namespace.kubectl(&["run", "app", "--image=nginx", &annotation]).await;
    namespace.app_waiting("CreateContainerConfigError").await;
}

#[tokio::test]
async fn failing_pods_are_deleted_at_once() {
    let namespace = Namespace::new("delete").await;
    for failure in Failure::ALL {
        namespace.kubectl(&["run", failure.name(), "--image", &failure.image()]).await;
    }
    let has_status = "--for=jsonpath={.status.containerStatuses[0].state}";
    namespace.kubectl(&["wait", "pods", "--all", has_status, "--timeout=60s"]).await;
    // Less than the 30 s that a pod has to end.
    namespace.kubectl(&["delete", "pods", "--all", "--timeout=15s"]).await;
    assert_eq!(namespace.kubectl(&["get", "pods", "-o", "name"]).await, "");
}

#[tokio::test]
async fn a_deployment_recovers_with_a_good_image() {
    let namespace = Namespace::new("recover").await;
    let image = format!("--image={}", Failure::ImagePull.image());
    namespace.kubectl(&["create", "deployment", "web", &image, "--replicas=3"]).await;
    let pods = ["wait", "pods", "-l", "app=web", "--timeout=60s"];
    let fail = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff";
    namespace
        .kubectl(&[
            "wait",
            "deployment/web",
            "--for=jsonpath={.status.unavailableReplicas}=3",
            "--timeout=60s",
        ])
        .await;
    namespace.kubectl(&[&pods[..], &[fail]].concat()).await;
    namespace.kubectl(&["set", "image", "deployment/web", "*=nginx"]).await;
    namespace.kubectl(&["rollout", "status", "deployment/web", "--timeout=60s"]).await;
}

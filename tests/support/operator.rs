//! The built manager, run as its own ServiceAccount with the rights and the flags that `config/default` gives it.

use std::process::Command;
use std::time::Duration;

use cluster::{AuditEvents, AuditMark, Cluster, Companion, Identity};
use serde_json::Value;
use tokio::time::Instant;

use super::http::get;
use super::{PATIENCE, eventually, holds, project};

const NAMESPACE: &str = "pe-app-system";

/// The platform file that the mounted `ConfigMap` is made from.
pub const SHIPPED: &str = "config/manager/platform.yaml";

/// A running manager.
pub struct Operator {
    process: Companion,
    metrics: String,
    probes: String,
}

/// The user name of the manager in the audit log.
pub fn user() -> String {
    identity().user_name()
}

/// The manager's ServiceAccount.
pub fn identity() -> Identity {
    Identity::service_account(NAMESPACE, "pe-app-controller-manager")
}

/// Applies `config/default`, as `make deploy` does. kwok runs no container, so the manager's own pod does nothing.
pub async fn install(cluster: &Cluster) {
    install_from(cluster, "config/default").await;
}

/// The same from another kustomization.
pub async fn install_from(cluster: &Cluster, config: &str) {
    cluster.kubectl(["apply", "--server-side", "-k", project(config).to_str().unwrap()]).await.unwrap();
}

/// The manager's container as it is installed.
async fn container(cluster: &Cluster) -> Value {
    let name = "pe-app-controller-manager";
    let deployment = cluster.kubectl_json(["-n", NAMESPACE, "get", "deployment", name]).await.unwrap();
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

/// The pod that stands for the manager in the cluster, where a controller manager has made one.
pub async fn own_pod(cluster: &Cluster) -> Option<Value> {
    let arguments = ["-n", NAMESPACE, "get", "pods", "-l", "control-plane=controller-manager"];
    cluster.kubectl_json(arguments).await.unwrap()["items"].get(0).cloned()
}

/// The variables that the kubelet would set.
async fn variables(cluster: &Cluster, container: &Value) -> Vec<(String, String)> {
    let metadata = own_pod(cluster).await.unwrap_or_default()["metadata"].clone();
    let variables = container["env"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |variable: &Value| match variable["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
        Some("metadata.namespace") => NAMESPACE.to_owned(),
        Some(path) => {
            let field = path.strip_prefix("metadata.").expect("nobody knows other fields here");
            metadata[field].as_str().unwrap_or_default().to_owned()
        }
        None => variable["value"].as_str().unwrap().to_owned(),
    };
    variables
        .iter()
        .map(|variable| (variable["name"].as_str().unwrap().to_owned(), value(variable)))
        .collect()
}

/// The arguments of the container, with ports that are free on this machine, and a platform file of the project.
fn flags(container: &Value, platform: &str) -> Vec<String> {
    let flags = container["args"].as_array().unwrap();
    let localize = |flag: &Value| match flag.as_str().unwrap().split_once('=') {
        Some((name, _)) if name.ends_with("bind-address") => format!("{name}=127.0.0.1:0"),
        Some((name, "/etc/pe-app/platform.yaml")) => {
            format!("{name}={}", project(platform).display())
        }
        _ => flag.as_str().unwrap().to_owned(),
    };
    flags.iter().map(localize).chain([format!("--leader-election-namespace={NAMESPACE}")]).collect()
}

impl Operator {
    /// Starts the manager with the platform file that is shipped, and waits until it serves.
    pub async fn start(cluster: &Cluster, log: &str) -> Self {
        Self::start_with(cluster, log, &identity(), |_| ()).await
    }

    /// Starts the manager with another platform file of the project.
    pub async fn start_on(cluster: &Cluster, log: &str, platform: &str) -> Self {
        Self::spawn(cluster, log, &identity(), flags(&container(cluster).await, platform), |_| ()).await
    }

    /// Starts it as somebody else, with changes to the command line and the environment of the installed one.
    pub async fn start_with(
        cluster: &Cluster,
        log: &str,
        identity: &Identity,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        Self::spawn(cluster, log, identity, flags(&container(cluster).await, SHIPPED), change).await
    }

    async fn spawn(
        cluster: &Cluster,
        log: &str,
        identity: &Identity,
        flags: Vec<String>,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let kubeconfig = cluster.kubeconfig_for(identity).await.unwrap();
        let container = container(cluster).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_manager"));
        command.args(flags).envs(variables(cluster, &container).await).env("KUBECONFIG", kubeconfig);
        change(&mut command);
        let process = cluster.companion(log, &mut command).unwrap();
        let (metrics, probes) = eventually("the manager serves", async || {
            let text = std::fs::read_to_string(process.log()).unwrap_or_default();
            let address = |message| address_in(&text, message);
            match (address("Serving metrics server"), address("health probe")) {
                (Some(metrics), Some(probes)) => Ok((metrics, probes)),
                _ => Err(text),
            }
        })
        .await;
        Self { process, metrics, probes }
    }

    /// Waits until every readiness gate is open.
    pub async fn ready(&self) {
        eventually("the manager is ready", async || {
            let (code, text) = self.probe("/readyz?verbose");
            holds(code == 200, || text)
        })
        .await;
    }

    /// Waits until it is the leader, and has looked at everything that was there.
    pub async fn leading(&self) {
        self.ready().await;
        eventually("the manager leads", async || {
            let held = self.metric("leader_election_master_status{");
            holds(held == Some(1.0), || format!("leader_election_master_status is {held:?}"))
        })
        .await;
        eventually("the work has begun", async || {
            let log = self.log();
            holds(log.contains("Starting workers"), || log)
        })
        .await;
        eventually("the queue is empty", async || {
            let depth = self.metric("workqueue_depth{");
            holds(depth == Some(0.0), || format!("workqueue_depth is {depth:?}"))
        })
        .await;
    }

    /// Status and text of a probe.
    pub fn probe(&self, path: &str) -> (u16, String) {
        get(&self.probes, path)
    }

    /// Everything that Prometheus would scrape.
    pub fn metrics(&self) -> String {
        let (code, text) = get(&self.metrics, "/metrics");
        assert_eq!(code, 200, "{text}");
        text
    }

    /// The value of the first series whose line starts so.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let text = self.metrics();
        let line = text.lines().find(|line| line.starts_with(series))?;
        line.rsplit_once(' ')?.1.parse().ok()
    }

    /// Everything it logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap()
    }

    /// Asks it to end, and waits for that.
    pub async fn stop(mut self) {
        let status = self.process.terminate(Duration::from_secs(20)).await.unwrap();
        assert!(status.success(), "the manager ended with {status}: {}", self.log());
    }
}

/// The operator's requests since `mark`. Those for its lease, for events and for the history of platform files are counted
/// apart.
pub fn requests(cluster: &Cluster, mark: AuditMark) -> AuditEvents {
    let is_apart = |resource: &str| matches!(resource, "leases" | "events" | "configmaps");
    cluster.audit_since(mark).unwrap().user(&user()).filter(|request| !is_apart(&request.resource))
}

/// Its requests for events since `mark`.
pub fn event_requests(cluster: &Cluster, mark: AuditMark) -> AuditEvents {
    cluster.audit_since(mark).unwrap().user(&user()).resource("events")
}

/// The operator's requests since `mark`, once it has sent none for a while: settled states are written at once and
/// moving ones within two seconds. Fails if it never comes to rest.
pub async fn requests_when_quiet(cluster: &Cluster, mark: AuditMark) -> AuditEvents {
    let requests = || requests(cluster, mark);
    let deadline = Instant::now() + PATIENCE;
    let (mut before, mut quiet) = (requests().count(), 0);
    while quiet < 6 {
        if Instant::now() > deadline {
            let last: Vec<_> = requests().events().into_iter().rev().take(5).collect();
            panic!("the operator sends requests without end, at last {last:#?}");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = requests().count();
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
    }
    requests()
}

fn address_in(log: &str, message: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains(message))?;
    let start = line.find("127.0.0.1:")?;
    Some(line[start..].chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect())
}

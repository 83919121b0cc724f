//! Everything that happens to objects of a kind, in the order in which it happens.

use std::path::PathBuf;
use std::process::Command;

use cluster::{Cluster, Companion};
use serde_json::{Deserializer, Value};

use super::App;

/// A running `kubectl get --watch` in the namespace of an app.
pub struct Watch(Companion);

impl Watch {
    /// Begins to watch; `name` is that of its log.
    pub fn begin(cluster: &Cluster, app: &App<'_>, kind: &str, name: &str) -> Self {
        let kubectl: PathBuf = cluster.assets().folder().join("kubectl");
        let mut command = Command::new(kubectl);
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
        command.args(["-n", &app.namespace, "get", kind, "--watch", "-o", "json"]);
        Self(cluster.companion(name, &mut command).unwrap())
    }

    /// Every state of every object so far. The last may be half written.
    pub fn states(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.log()).unwrap();
        Deserializer::from_str(&text).into_iter::<Value>().map_while(Result::ok).collect()
    }
}

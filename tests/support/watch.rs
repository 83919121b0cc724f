//! Everything that happens to objects of a kind, in the order in which it happens.

use std::path::PathBuf;
use std::process::Command;

use cluster::Companion;
use serde_json::{Deserializer, Value};

use super::{App, eventually, holds};

/// A running `kubectl get --watch` in the namespace of an app.
pub struct Watch(Companion);

impl Watch {
    /// Begins to watch, and has begun once it has shown what is there; `name` is that of its log.
    pub async fn begin(app: &App<'_>, kind: &str, name: &str) -> Self {
        let there = app.items(kind).await;
        assert!(!there.is_empty(), "nothing would show that the watch has begun");
        let kubectl: PathBuf = app.cluster.assets().folder().join("kubectl");
        let mut command = Command::new(kubectl);
        command.arg("--kubeconfig").arg(app.cluster.kubeconfig());
        command.args(["-n", &app.namespace, "get", kind, "--watch", "-o", "json"]);
        let watch = Self(app.cluster.companion(name, &mut command).unwrap());
        eventually("the watch has begun", async || {
            let states = watch.states();
            let is_shown = |object: &&Value| {
                states.iter().any(|state| state["metadata"]["name"] == object["metadata"]["name"])
            };
            holds(there.iter().all(|object| is_shown(&object)), || format!("{} states", states.len()))
        })
        .await;
        watch
    }

    /// Every state of every object so far. The last may be half written.
    pub fn states(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.log()).unwrap();
        Deserializer::from_str(&text).into_iter::<Value>().map_while(Result::ok).collect()
    }
}

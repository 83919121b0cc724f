//! An EGApp in a namespace of its own, and what kubectl tells about it.

use cluster::Cluster;
use serde_json::{Value, json};

use super::{eventually, holds};

/// An EGApp of a test.
#[derive(Clone)]
pub struct App<'a> {
    pub cluster: &'a Cluster,
    pub namespace: String,
    pub name: String,
}

/// The five fields of the smallest useful manifest.
pub fn five_fields(framework: &str, environment: &str) -> Value {
    json!({
        "appId": "cart", "framework": framework, "instanceType": "lowMem", "environment": environment, "replicaCount": 1,
    })
}

/// With an image, so that a healthy app is Ready for the reason `Available`.
pub fn with_image(replicas: i32) -> Value {
    json!({
        "framework": "go", "environment": "dev", "replicaCount": replicas, "image": "registry.example.com/team/web:1",
    })
}

impl<'a> App<'a> {
    /// A name in a new namespace; nothing is created but the namespace.
    pub async fn named(cluster: &'a Cluster, name: &str) -> Self {
        let namespace = cluster.namespace("test").await.unwrap();
        Self { cluster, namespace, name: name.to_owned() }
    }

    /// Creates an app in a new namespace and waits until it is Ready.
    pub async fn ready(cluster: &'a Cluster, name: &str, spec: &Value) -> Self {
        let app = Self::named(cluster, name).await;
        app.apply(spec).await;
        app.wait_ready().await;
        app
    }

    /// Another app of the same namespace.
    pub fn sibling(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// Applies the spec.
    pub async fn apply(&self, spec: &Value) {
        let manifest = json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1",
            "kind": "EGApp",
            "metadata": { "namespace": self.namespace, "name": self.name },
            "spec": spec,
        });
        self.cluster.apply(&manifest.to_string()).await.unwrap();
    }

    /// Merges a patch into the app.
    pub async fn patch(&self, patch: &Value) {
        self.kubectl(&["patch", "egapp", &self.name, "--type=merge", "-p", &patch.to_string()]).await;
    }

    /// kubectl in the app's namespace; its output.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        self.cluster.kubectl([&["-n", self.namespace.as_str()], arguments].concat()).await.unwrap()
    }

    /// `kubectl wait` for Ready.
    pub async fn wait_ready(&self) {
        let target = format!("egapp/{}", self.name);
        let result = self
            .cluster
            .kubectl(["-n", &self.namespace, "wait", "--for=condition=Ready", &target, "--timeout=90s"])
            .await;
        if let Err(error) = result {
            panic!("{error}\n{:#}", self.get().await);
        }
    }

    /// Waits until the status tells of the last edit, and the app is Ready with it.
    pub async fn wait_for_its_generation(&self) -> Value {
        let is_told = |app: &Value| app["status"]["observedGeneration"] == app["metadata"]["generation"];
        let is_ready = |app: &Value| condition(app, "Ready")["status"] == "True";
        self.until("it is Ready with the last edit", |app| is_told(app) && is_ready(app)).await
    }

    /// The EGApp.
    pub async fn get(&self) -> Value {
        self.object("egapp").await.expect("the EGApp exists")
    }

    /// The Deployment.
    pub async fn deployment(&self) -> Value {
        self.object("deployment").await.expect("the Deployment exists")
    }

    /// The object of the app's name, if it exists.
    pub async fn object(&self, kind: &str) -> Option<Value> {
        let arguments = ["-n", &self.namespace, "get", kind, &self.name, "--ignore-not-found", "-o", "json"];
        let text = self.cluster.kubectl(arguments).await.unwrap();
        (!text.trim().is_empty()).then(|| serde_json::from_str(&text).unwrap())
    }

    /// Every object of the kind in the namespace.
    pub async fn items(&self, kind: &str) -> Vec<Value> {
        let list = self.cluster.kubectl_json(["-n", &self.namespace, "get", kind]).await.unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// Events about the app, in the order in which things happened.
    pub async fn events(&self) -> Vec<Value> {
        let mut events = self.items("events.events.k8s.io").await;
        events.retain(|event| {
            let regarding = &event["regarding"];
            regarding["kind"] == "EGApp" && regarding["name"] == self.name.as_str()
        });
        events.sort_by_key(|event| event["metadata"]["name"].as_str().unwrap().to_owned());
        events
    }

    /// Waits until events with exactly these reasons are there about the app, in this order, and returns them.
    pub async fn told(&self, wanted: &[&str]) -> Vec<Value> {
        eventually("the events are told", async || {
            let events = self.events().await;
            let reasons: Vec<_> = events.iter().map(|event| event["reason"].as_str().unwrap()).collect();
            holds(reasons == wanted, || format!("{wanted:?}: {events:#?}"))?;
            Ok(events)
        })
        .await
    }

    /// Names of all pods of the namespace, sorted.
    pub async fn pod_names(&self) -> Vec<String> {
        let names = self.kubectl(&["get", "pods", "-o", "jsonpath={.items[*].metadata.name}"]).await;
        let mut names: Vec<_> = names.split_whitespace().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// Waits until the EGApp, as JSON, is as `probe` wants it.
    pub async fn until(&self, what: &str, probe: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || {
            let app = self.get().await;
            if probe(&app) { Ok(app) } else { Err(format!("{app:#}")) }
        })
        .await
    }

    /// Waits until the Deployment, as JSON, is as `probe` wants it.
    pub async fn until_deployment(&self, what: &str, probe: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || {
            let deployment = self.object("deployment").await.unwrap_or_default();
            if probe(&deployment) { Ok(deployment) } else { Err(format!("{deployment:#}")) }
        })
        .await
    }

    /// Waits until nothing is left of the kind in the namespace.
    pub async fn until_gone(&self, kinds: &str) {
        eventually("nothing is left", async || {
            let left = self.kubectl(&["get", kinds, "-o", "name"]).await;
            holds(left.trim().is_empty(), || left)
        })
        .await;
    }
}

/// The condition of that type of an EGApp.
pub fn condition<'a>(app: &'a Value, type_: &str) -> &'a Value {
    let conditions = app["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().find(|condition| condition["type"] == type_).unwrap_or(&Value::Null)
}

/// Reason of the Ready condition.
pub fn reason(app: &Value) -> &str {
    condition(app, "Ready")["reason"].as_str().unwrap_or_default()
}

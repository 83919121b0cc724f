//! Every single field that the operator owns, of an app with nearly every field set, changed and removed by hand: each
//! goes back, but for the few that the API server lets nobody change.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::cluster;
use crate::support::{App, eventually, holds, operator};

/// Nearly every field of an EGApp. No pod runs, so that two hundred rollouts are over at once.
pub(crate) fn rich() -> Value {
    json!({
        "appId": "cart", "framework": "go", "instanceType": "balanced", "environment": "prod", "replicaCount": 0,
        "image": "registry.example.com/team/web:1", "command": ["/web"], "args": ["--verbose"], "port": 9000,
        "env": [
            { "name": "EMPTY", "value": "" },
            { "name": "LEVEL", "value": "info" },
            { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
            { "name": "COLOR", "valueFrom": { "configMapKeyRef": { "name": "colors", "key": "main", "optional": true } } },
        ],
        "envFrom": [{ "configMapRef": { "name": "settings", "optional": true }, "prefix": "S_" }],
        "resources": { "requests": { "cpu": "0.5" }, "limits": { "cpu": "2", "ephemeral-storage": "1Gi" } },
        "livenessProbe": { "exec": { "command": ["true"] }, "initialDelaySeconds": 5 },
        "readinessProbe": { "httpGet": { "path": "/ready", "httpHeaders": [{ "name": "Host", "value": "web" }] } },
        "startupProbe": { "grpc": { "service": "web" } },
        "imagePullSecrets": [{ "name": "registry" }], "serviceAccountName": "robot", "runAsUser": 1000,
        "service": { "port": 81 }, "restartedAt": "2026-02-03T04:05:06Z",
    })
}

/// What the API server refuses: a selector stays, an image or a handler must be there, one field forbids the other.
const REFUSED: [&str; 26] = [
    "Deployment change spec.selector",
    "Deployment remove spec.selector",
    "Deployment change spec.strategy.type",
    "Deployment change pod.metadata.labels.egplatform.platform.evillgenius.com/egapp",
    "Deployment remove pod.metadata.labels.egplatform.platform.evillgenius.com/egapp",
    "Deployment change pod.metadata.labels.egplatform.platform.evillgenius.com/track",
    "Deployment remove pod.metadata.labels.egplatform.platform.evillgenius.com/track",
    "Deployment remove container",
    "Deployment remove container.env[COLOR].valueFrom.configMapKeyRef",
    "Deployment remove container.env[GOMEMLIMIT].valueFrom.resourceFieldRef",
    "Deployment remove container.env[NODE].valueFrom.fieldRef",
    "Deployment remove container.env[POD_NAME].valueFrom.fieldRef",
    "Deployment remove container.env[POD_NAMESPACE].valueFrom.fieldRef",
    "Deployment remove container.image",
    "Deployment remove container.livenessProbe.exec.command",
    "Deployment change container.livenessProbe.successThreshold",
    "Deployment remove container.readinessProbe.httpGet.port",
    "Deployment change container.securityContext.privileged",
    "Deployment remove container.startupProbe.grpc.port",
    "Deployment change container.startupProbe.successThreshold",
    "Deployment remove pod.spec.securityContext.seccompProfile.type",
    "Deployment remove pod.spec.topologySpreadConstraints[kubernetes.io/hostname,ScheduleAnyway].labelSelector",
    "Deployment remove pod.spec.topologySpreadConstraints[kubernetes.io/hostname,ScheduleAnyway].maxSkew",
    "Deployment remove pod.spec.topologySpreadConstraints[topology.kubernetes.io/zone,ScheduleAnyway].labelSelector",
    "Deployment remove pod.spec.topologySpreadConstraints[topology.kubernetes.io/zone,ScheduleAnyway].maxSkew",
    "Service remove spec.ports[81,TCP]",
];

/// What the API server sets again by itself, to its own default or from a field's former name.
const SET_AGAIN: [&str; 19] = [
    "Deployment remove spec.progressDeadlineSeconds",
    "Deployment remove spec.strategy.rollingUpdate.maxSurge",
    "Deployment remove spec.strategy.type",
    "Deployment remove container.imagePullPolicy",
    "Deployment remove container.livenessProbe.failureThreshold",
    "Deployment remove container.livenessProbe.periodSeconds",
    "Deployment remove container.livenessProbe.successThreshold",
    "Deployment remove container.livenessProbe.timeoutSeconds",
    "Deployment remove container.readinessProbe.failureThreshold",
    "Deployment remove container.readinessProbe.httpGet.scheme",
    "Deployment remove container.readinessProbe.periodSeconds",
    "Deployment remove container.readinessProbe.successThreshold",
    "Deployment remove container.readinessProbe.timeoutSeconds",
    "Deployment remove container.startupProbe.failureThreshold",
    "Deployment remove container.startupProbe.periodSeconds",
    "Deployment remove container.startupProbe.successThreshold",
    "Deployment remove container.startupProbe.timeoutSeconds",
    "Deployment remove pod.spec.serviceAccountName",
    "Service remove spec.type",
];

#[tokio::test]
async fn every_owned_field_goes_back_when_it_is_changed_or_removed() {
    let app = App::ready(cluster().await, "web", &rich()).await;
    let (mut refused, mut set_again, mut drifts) = (Vec::new(), Vec::new(), 0);
    for kind in ["Deployment", "Service", "PodDisruptionBudget"] {
        let child = Child::of(&app, kind).await;
        for leaf in child.leaves() {
            for drift in leaf.drifts() {
                let title = || format!("{kind} {} {}", drift.0, leaf.path);
                match child.drift(&leaf.path, &drift).await {
                    Outcome::Healed => drifts += 1,
                    Outcome::Refused => refused.push(title()),
                    Outcome::SetAgain => set_again.push(title()),
                }
            }
        }
    }
    assert!(drifts > 200, "only {drifts}");
    assert_eq!(refused, REFUSED);
    assert_eq!(set_again, SET_AGAIN);

    let mark = app.cluster.audit_mark().unwrap();
    app.patch(&json!({ "spec": { "replicaCount": 1 } })).await;
    app.until_deployment("it is scaled", |live| live["spec"]["replicas"] == 1).await;
    let writes = app.cluster.audit_since(mark).unwrap().user(&operator::user()).namespace(&app.namespace);
    let writes = writes.writes().filter(|event| event.subresource.is_empty());
    assert_eq!(writes.count(), 1, "nothing was left to do but the scaling: {writes:#?}");
}

/// What came of a drift.
enum Outcome {
    Healed,
    Refused,
    SetAgain,
}

/// One field of an object, or one entry of a list.
struct Leaf {
    /// As people write it.
    path: String,
    /// As a JSON pointer into the settled object.
    pointer: String,
    /// `None` for an entry whose fields are leaves of their own, or that has nothing but a name.
    value: Option<Value>,
}

impl Leaf {
    /// What can be done to it, each in one way that the API server may take, or several to try.
    fn drifts(&self) -> Vec<(&'static str, Vec<Value>)> {
        let path = &self.pointer;
        let remove = ("remove", vec![json!([{ "op": "remove", "path": path }])]);
        let change = self.value.iter().map(|value| {
            // What is absent, as zero values are, cannot be replaced; where an entry of a list is, one would be added.
            let is_entry = self.path.ends_with(']');
            let op = if is_entry { "replace" } else { "add" };
            let set = |other| json!([{ "op": op, "path": path, "value": other }]);
            ("change", others(value).into_iter().map(set).collect())
        });
        let is_there = self.value.as_ref() != Some(&Value::Null);
        change.chain(is_there.then_some(remove)).collect()
    }
}

/// A child of an app at rest.
struct Child {
    api: Api<DynamicObject>,
    name: String,
    settled: Value,
}

impl Child {
    async fn of(app: &App<'_>, kind: &str) -> Self {
        let kubeconfig = Kubeconfig::read_from(app.cluster.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let (group, plural) = match kind {
            "Deployment" => ("apps", "deployments"),
            "Service" => ("", "services"),
            _ => ("policy", "poddisruptionbudgets"),
        };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
        let api = Api::namespaced_with(client, &app.namespace, &resource);
        let settled = eventually(kind, async || api.get(&app.name).await.map_err(|error| error.to_string()));
        let settled = serde_json::to_value(settled.await).unwrap();
        Self { api, name: app.name.clone(), settled }
    }

    /// What the operator's field manager owns.
    fn leaves(&self) -> Vec<Leaf> {
        let managers = self.settled["metadata"]["managedFields"].as_array().unwrap();
        let ours = managers.iter().find(|entry| entry["manager"] == "egapp-controller").unwrap();
        let mut leaves = Vec::new();
        collect(&ours["fieldsV1"], &self.settled, ["", ""], &mut leaves);
        leaves
    }

    /// Sends the first of the patches that the API server takes, and waits until the object is as before.
    async fn drift(&self, path: &str, (how, patches): &(&str, Vec<Value>)) -> Outcome {
        for patch in patches {
            let json_patch = Patch::Json::<()>(serde_json::from_value(patch.clone()).unwrap());
            let drifted = match self.api.patch(&self.name, &PatchParams::default(), &json_patch).await {
                Ok(drifted) => serde_json::to_value(drifted).unwrap(),
                Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => continue,
                Err(error) => panic!("{how} {path}: {error}"),
            };
            if meant(&drifted) == meant(&self.settled) {
                return Outcome::SetAgain;
            }
            eventually(&format!("{path} goes back after {patch}"), async || {
                let live = self.api.get(&self.name).await.map_err(|error| error.to_string())?;
                let live = serde_json::to_value(live).unwrap();
                let complaint = || format!("{:#}\nwas before\n{:#}", meant(&live), meant(&self.settled));
                holds(meant(&live) == meant(&self.settled), complaint)
            })
            .await;
            return Outcome::Healed;
        }
        Outcome::Refused
    }
}

/// All of an object that the operator has a say in. An empty object says nothing.
pub(crate) fn meant(object: &Value) -> Value {
    let mut annotations = object["metadata"]["annotations"].clone();
    annotations.as_object_mut().map(|all| all.remove("deployment.kubernetes.io/revision"));
    let metadata = &object["metadata"];
    without_empty(&json!([metadata["labels"], annotations, metadata["ownerReferences"], object["spec"]]))
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, member)| (name.clone(), without_empty(member)));
            fields.filter(|(_, member)| *member != json!({})).collect()
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar.clone(),
    }
}

/// Walks `managedFields` and the object together. The fields that name an entry of a list are no leaves: another name
/// is another entry.
fn collect(owned: &Value, object: &Value, [path, pointer]: [&str; 2], leaves: &mut Vec<Leaf>) {
    for (mark, below) in owned.as_object().unwrap() {
        let Some((kind, name)) = mark.split_once(':') else { continue };
        let (title, key, names) = match kind {
            "f" => (format!(".{name}"), name.to_owned(), Vec::new()),
            _ => entry(object, name),
        };
        let value = if names.is_empty() { &object[&key] } else { &object[key.parse::<usize>().unwrap()] };
        let path = format!("{path}{title}");
        let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        let is_atomic = below.as_object().unwrap().is_empty();
        if is_atomic || kind == "k" {
            let is_more = |field: &String| !names.contains(&format!("f:{field}"));
            let has_more = value.as_object().is_none_or(|fields| fields.keys().any(is_more));
            let value = (is_atomic && has_more).then(|| value.clone());
            leaves.push(Leaf { path: short(&path), pointer: pointer.clone(), value });
        }
        let mut below = below.clone();
        below.as_object_mut().unwrap().retain(|mark, _| !names.contains(mark));
        collect(&below, value, [&path, &pointer], leaves);
    }
}

/// As `docs/mapping.md` names the parts of a Deployment.
fn short(path: &str) -> String {
    let path = path.replace("spec.template.spec.containers[app]", "container");
    path.replace("spec.template", "pod").trim_start_matches('.').to_owned()
}

/// Title and position of an entry of a list, and the marks of the fields that name it.
fn entry(list: &Value, keys: &str) -> (String, String, Vec<String>) {
    let keys: Value = serde_json::from_str(keys).unwrap();
    let keys = keys.as_object().unwrap();
    let is_it = |entry: &Value| keys.iter().all(|(key, value)| entry[key] == *value);
    let position = list.as_array().unwrap().iter().position(is_it).unwrap();
    let title: Vec<_> = keys.values().map(|key| key.to_string().replace('"', "")).collect();
    let names = keys.keys().map(|key| format!("f:{key}")).collect();
    (format!("[{}]", title.join(",")), position.to_string(), names)
}

/// Other values of the same type, of which the API server may take one.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(true), json!("drift")],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => vec![json!(number.as_i64().unwrap() + 1)],
        Value::String(text) => {
            let words = [
                "Never",
                "NodePort",
                "HTTPS",
                "UDP",
                "DoNotSchedule",
                "IfHealthyBudget",
                "Unconfined",
                "600m",
                "2Gi",
                "50%",
                "metadata.uid",
                "limits.cpu",
            ];
            std::iter::once(json!(format!("{text}x"))).chain(words.map(Value::from)).collect()
        }
        Value::Array(items) => {
            let changed = items.first().map(others).unwrap_or_default();
            changed.into_iter().map(|item| json!([item])).chain([json!([])]).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, member)| others(member).into_iter().map(|other| (name.clone(), other)))
            .map(|(name, other)| {
                let mut fields = fields.clone();
                fields.insert(name, other);
                Value::Object(fields)
            })
            .collect(),
    }
}

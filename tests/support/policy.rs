//! Admission policies, each in force in one namespace and named after it.

use serde_json::{Value, json};

use super::{App, eventually, holds};

/// A policy that refuses an operation on a resource of the group.
pub fn refusing(namespace: &str, operation: &str, (group, version): (&str, &str), resource: &str) -> String {
    let spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [group], "apiVersions": [version], "operations": [operation], "resources": [resource],
        }] },
        "validations": [{ "expression": "false", "message": "nothing new on Fridays" }],
    });
    bound(namespace, "ValidatingAdmissionPolicy", &spec, &json!({ "validationActions": ["Deny"] }))
}

/// A policy that sets a field of every Deployment, one of ours: `revisionHistoryLimit` is 1.
pub fn rewriting(namespace: &str) -> String {
    mutating(namespace, "Object{spec: Object.spec{revisionHistoryLimit: 1}}")
}

/// A policy that has every image pulled from a mirror, as many clusters have one.
pub fn mirroring(namespace: &str) -> String {
    let image = "c.image.startsWith('mirror.example.com/') ? c.image : 'mirror.example.com/' + c.image";
    mutating(namespace, &in_containers(&format!("image: {image}"), ""))
}

/// A policy that takes away something essential, and sets `revisionHistoryLimit` besides.
pub fn weakening(namespace: &str) -> String {
    let context = "Object.spec.template.spec.containers.securityContext{allowPrivilegeEscalation: true}";
    mutating(namespace, &in_containers(&format!("securityContext: {context}"), "revisionHistoryLimit: 1, "))
}

fn in_containers(change: &str, besides: &str) -> String {
    let containers = format!(
        "object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{{name: c.name, {change}}})"
    );
    let pod = format!("Object.spec.template.spec{{containers: {containers}}}");
    format!("Object{{spec: Object.spec{{{besides}template: Object.spec.template{{spec: {pod}}}}}}}")
}

fn mutating(namespace: &str, expression: &str) -> String {
    let spec = json!({
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
        }] },
        "mutations": [{
            "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression },
        }],
    });
    bound(namespace, "MutatingAdmissionPolicy", &spec, &json!({}))
}

fn bound(namespace: &str, kind: &str, policy: &Value, binding: &Value) -> String {
    let api_version = "admissionregistration.k8s.io/v1";
    let mut binding = binding.clone();
    binding["policyName"] = json!(namespace);
    let labels = json!({ "kubernetes.io/metadata.name": namespace });
    binding["matchResources"] = json!({ "namespaceSelector": { "matchLabels": labels } });
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": api_version, "kind": kind, "metadata": { "name": namespace }, "spec": policy },
        {
            "apiVersion": api_version, "kind": format!("{kind}Binding"), "metadata": { "name": namespace },
            "spec": binding,
        },
    ] })
    .to_string()
}

/// Waits until a new Deployment would get that limit: policies come into force, and go, with a delay.
pub async fn until_history_limit_is(app: &App<'_>, wanted: &str) {
    until_new_ones_have(app, "jsonpath={.spec.revisionHistoryLimit}", wanted).await;
}

/// Waits until a new Deployment of image `x:1` would get that one.
pub async fn until_image_is(app: &App<'_>, wanted: &str) {
    until_new_ones_have(app, "jsonpath={.spec.template.spec.containers[0].image}", wanted).await;
}

async fn until_new_ones_have(app: &App<'_>, field: &str, wanted: &str) {
    eventually("the policy is in force, or gone", async || {
        let probe = ["create", "deployment", "probe", "--image=x:1", "--dry-run=server", "-o", field];
        let found = app.kubectl(&probe).await;
        holds(found == wanted, || found)
    })
    .await;
}

/// Waits until the API server refuses what kubectl is asked to do, or does not any more.
pub async fn until_refused(app: &App<'_>, is_refused: bool, arguments: &[&str]) {
    eventually("the policy is in force, or gone", async || {
        let answer = app.cluster.kubectl([&["-n", app.namespace.as_str()], arguments].concat()).await;
        holds(answer.is_err() == is_refused, || format!("{answer:?}"))
    })
    .await;
}

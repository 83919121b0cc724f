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
    let spec = json!({
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
        }] },
        "mutations": [{ "patchType": "ApplyConfiguration", "applyConfiguration": {
            "expression": "Object{spec: Object.spec{revisionHistoryLimit: 1}}",
        } }],
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
    eventually("the policy is in force, or gone", async || {
        let probe = ["create", "deployment", "probe", "--image=x:1", "--dry-run=server", "-o"];
        let limit = app.kubectl(&[&probe[..], &["jsonpath={.spec.revisionHistoryLimit}"]].concat()).await;
        holds(limit == wanted, || limit)
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

//! The rights the `EGApp` controller needs, as data. Pure; `hack/manifests` writes them to `config/rbac/role.yaml`
//! for the whole cluster and to `config/namespaced/rbac/role.yaml` for one namespace.
//!
//! No wildcard and no Secret. Rights of the manager itself (its Lease, token and access reviews) stand in roles of
//! their own, as in every kubebuilder project.

use egapp_api::GROUP;
use k8s_openapi::api::rbac::v1::PolicyRule;

/// Every right the controller uses, and no other.
#[must_use]
pub fn rules() -> Vec<PolicyRule> {
    vec![
        // `get` is for one question: whether an app still lives whose Deployment is to be made a second time.
        rule(GROUP, "egapps", &["get", "list", "watch"]),
        rule(GROUP, "egapps/status", &["patch"]),
        // Admission `OwnerReferencesPermissionEnforcement` asks for it when a child's owner reference blocks the
        // owner's deletion.
        rule(GROUP, "egapps/finalizers", &["update"]),
        // A server-side apply is a patch that also needs `create` where the object is not there yet. Children are
        // deleted by the garbage collector.
        rule("apps", "deployments", &["create", "list", "patch", "watch"]),
        // Children that an app no longer wants are deleted by the controller itself.
        rule("", "services", &["create", "delete", "list", "patch", "watch"]),
        rule("policy", "poddisruptionbudgets", &["create", "delete", "list", "patch", "watch"]),
        rule("autoscaling", "horizontalpodautoscalers", &["create", "delete", "list", "patch", "watch"]),
        rule("", "pods", &["list", "watch"]),
        // `patch` counts the repetitions of an event.
        rule("events.k8s.io", "events", &["create", "patch"]),
    ]
}

/// One rule about one resource of one API group.
fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        ..PolicyRule::default()
    }
}

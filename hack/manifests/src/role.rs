//! The manager's `ClusterRole`, in controller-gen's style. Pure.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A `ClusterRole` of that name. Rules and verbs are sorted, so that the order in the source changes no file.
pub(crate) fn cluster_role(name: &str, mut rules: Vec<PolicyRule>) -> ClusterRole {
    for rule in &mut rules {
        rule.verbs.sort();
    }
    rules.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    ClusterRole {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        rules: Some(rules),
        ..ClusterRole::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
        PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: verbs.iter().map(ToString::to_string).collect(),
            ..PolicyRule::default()
        }
    }

    #[test]
    fn order_in_the_source_does_not_show() {
        let one = cluster_role("r", vec![rule("b", "x", &["watch", "list"]), rule("a", "y", &["get"])]);
        let other = cluster_role("r", vec![rule("a", "y", &["get"]), rule("b", "x", &["list", "watch"])]);
        assert_eq!(one, other);
    }
}

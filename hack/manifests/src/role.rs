//! The manager's `ClusterRole`, and the `Role` for one namespace, in controller-gen's style. Pure.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A `ClusterRole` of that name.
pub(crate) fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole { metadata: named(name), rules: Some(sorted(rules)), ..ClusterRole::default() }
}

/// A `Role` of that name, in whatever namespace it is applied to.
pub(crate) fn role(name: &str, rules: Vec<PolicyRule>) -> Role {
    Role { metadata: named(name), rules: Some(sorted(rules)) }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

/// Rules and verbs in an order of their own, so that the order in the source changes no file.
fn sorted(mut rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    for rule in &mut rules {
        rule.verbs.sort();
    }
    rules.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    rules
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

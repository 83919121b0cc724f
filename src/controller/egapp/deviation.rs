//! What of a live child is not as it is wanted, and whether an app can live with that. Pure; ADR 18 draws the line.

use serde_json::Value;

use super::names;
use crate::controller::compare::Difference;
use egapp_api::labels;

/// Longer values are cut in what people read.
const LONGEST: usize = 200;

/// Parts of a path below which an override takes something essential from an app: whose child it is and which pods are
/// its own, how many there are, what they may do, how their health is known, how they are reached and ended, and what
/// their program is told.
const ESSENTIAL: [&str; 24] = [
    "annotations",
    "args",
    "automountServiceAccountToken",
    "command",
    "env",
    "envFrom",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "lifecycle",
    "livenessProbe",
    "loadBalancerSourceRanges",
    "ownerReferences",
    "paused",
    "ports",
    "readinessProbe",
    "replicas",
    "scaleTargetRef",
    "securityContext",
    "selector",
    "serviceAccount",
    "serviceAccountName",
    "startupProbe",
    "terminationGracePeriodSeconds",
];

/// A field that is not as it is wanted, or a foreign one in a place that is wholly ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    path: String,
    sentence: String,
}

impl Deviation {
    /// A field of a child of that kind is otherwise.
    #[must_use]
    pub fn of_field(kind: &str, Difference { path, wanted, found }: Difference) -> Self {
        let sentence = format!("{kind} {path} was applied as {} and is {}", shown(&wanted), shown(&found));
        Self { path, sentence }
    }

    /// A child of that kind has a foreign member at `pointer` (RFC 6901).
    #[must_use]
    pub fn of_foreign(kind: &str, pointer: &str) -> Self {
        Self {
            path: format!("foreign {pointer}"),
            sentence: format!("{kind} has {pointer}, which was not applied"),
        }
    }

    /// Whether it is the foreign member at that pointer.
    #[must_use]
    pub fn is_foreign_at(&self, pointer: &str) -> bool {
        self.path.strip_prefix("foreign ") == Some(pointer)
    }

    /// Where it is, for people.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The field with both values, the same for as long as it deviates in the same way.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Whether an app can do without what was wanted there, as long as its pods serve.
    #[must_use]
    pub fn is_bearable(&self) -> bool {
        let is_essential = |step: &str| ESSENTIAL.contains(&step);
        let ends = [labels::EGAPP, labels::TRACK, "containers", "spec"];
        let container = format!("containers[{}]", names::CONTAINER);
        !self.path.split(['.', '/', '[', ']', ' ']).any(is_essential)
            && !self.path.ends_with(&container)
            && !ends.iter().any(|end| self.path.ends_with(end))
    }
}

/// As JSON, in which a text has an end, and no control characters.
fn shown(value: &Value) -> String {
    if value.is_null() {
        return "absent".to_owned();
    }
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_bearable(path: &str) -> bool {
        let difference = Difference { path: path.to_owned(), wanted: json!(1), found: json!(2) };
        Deviation::of_field("Deployment", difference).is_bearable()
    }

    #[test]
    fn what_is_essential_is_told_from_what_an_app_can_do_without() {
        let container = "spec.template.spec.containers[app]";
        for path in ["image", "imagePullPolicy", "resources.limits.memory", "resources"] {
            assert!(is_bearable(&format!("{container}.{path}")), "{path}");
        }
        for path in [
            "env[LEVEL].value",
            "env[LEVEL]",
            "envFrom",
            "args",
            "command",
            "readinessProbe.tcpSocket.port",
            "ports[8080,TCP]",
            "livenessProbe",
            "securityContext.capabilities.drop",
            "lifecycle.preStop.sleep.seconds",
        ] {
            assert!(!is_bearable(&format!("{container}.{path}")), "{path}");
        }
        for path in [
            "metadata.labels.app.kubernetes.io/part-of",
            "spec.revisionHistoryLimit",
            "spec.strategy.rollingUpdate.maxSurge",
            "spec.template.spec.topologySpreadConstraints[kubernetes.io/hostname,ScheduleAnyway]",
            "spec.minReplicas",
            "spec.template.spec.imagePullSecrets[registry]",
            "spec.template.metadata.labels.app.kubernetes.io/name",
            "spec.maxUnavailable",
            "spec.type",
        ] {
            assert!(is_bearable(path), "{path}");
        }
        for path in [
            container,
            "spec.template.spec",
            "spec.template.spec.containers",
            "spec.replicas",
            "spec.selector.matchLabels",
            "metadata.ownerReferences[u]",
            "metadata.annotations.egplatform.platform.evillgenius.com/applied-digest",
            "spec.template.metadata.labels.egplatform.platform.evillgenius.com/egapp",
            "spec.scaleTargetRef.name",
            "spec.template.spec.securityContext.runAsNonRoot",
            "spec.template.spec.automountServiceAccountToken",
        ] {
            assert!(!is_bearable(path), "{path}");
        }
        let foreign = |pointer| Deviation::of_foreign("Deployment", pointer).is_bearable();
        assert!(foreign("/spec/template/spec/topologySpreadConstraints/2"));
        assert!(!foreign("/spec/template/spec/containers/0/securityContext/capabilities/add"));
        assert!(!foreign("/spec/template/spec/serviceAccountName"));
    }

    #[test]
    fn a_sentence_names_the_field_and_both_values_and_has_an_end() {
        let difference = |found| Difference { path: "spec.a".into(), wanted: json!("x"), found };
        let sentence = |found| Deviation::of_field("Service", difference(found)).sentence().to_owned();
        assert_eq!(sentence(json!(["y"])), r#"Service spec.a was applied as "x" and is ["y"]"#);
        assert_eq!(sentence(Value::Null), r#"Service spec.a was applied as "x" and is absent"#);
        assert!(sentence(json!("y".repeat(9999))).chars().count() < 300);
    }
}

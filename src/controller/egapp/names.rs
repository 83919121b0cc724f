//! Names that the cluster sees on what this controller writes. Constants and pure functions.

use std::collections::BTreeMap;

use egapp_api::labels;

/// Field manager of every server-side apply, of children and of the status; also who reports events.
pub const FIELD_MANAGER: &str = "egapp-controller";

/// Field manager of the JSON Patches that take foreign members out. Not [`FIELD_MANAGER`]: what that one had once
/// written by anything but an apply, no later apply could drop.
pub const REPAIRER: &str = "egapp-repair";

/// Field manager that has a Deployment's replicas between the operator and an autoscaler.
pub const HANDOVER: &str = "egapp-handover";

/// Value of the label `app.kubernetes.io/managed-by`.
pub const MANAGED_BY: &str = "pe-app";

/// Name of the application's container.
pub const CONTAINER: &str = "app";

/// Name of the port of the container and of the Service.
pub const PORT: &str = "http";

/// Variable with the name of the pod.
pub const POD_NAME: &str = "POD_NAME";

/// Label by which the Deployment controller tells the pods of one template from those of another.
pub const TEMPLATE_HASH: &str = "pod-template-hash";

/// Annotation on the pods: the latest `spec.restartedAt`. A new value rolls them.
pub const RESTARTED_AT: &str = "egplatform.platform.evillgenius.com/restarted-at";

/// Annotation on a child: digest of the fields that were applied. It differs from the digest of what is wanted when a
/// field is no longer wanted, which a comparison of the wanted fields alone cannot see.
pub const APPLIED_DIGEST: &str = "egplatform.platform.evillgenius.com/applied-digest";

/// Annotation on a Deployment: digest, in hexadecimal digits, of the pod template that was applied. Where it differs from
/// that of the wanted one, the pods would be replaced.
pub const APPLIED_TEMPLATE: &str = "egplatform.platform.evillgenius.com/applied-template";

/// Annotation on a Deployment: revision, in hexadecimal digits, of the platform whose change reached it in turn while its
/// app was Ready. An app that carries the present one and is not Ready says something about the change.
pub const PLATFORM_CHANGE: &str = "egplatform.platform.evillgenius.com/platform-change";

/// The labels that select an app's pods. A Deployment's selector cannot be changed, so neither can these.
#[must_use]
pub fn selector(app: &str) -> BTreeMap<String, String> {
    [(labels::EGAPP, app), (labels::TRACK, labels::TRACK_STABLE)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The same as one string, as `kubectl get pods -l` and the scale subresource take it.
#[must_use]
pub fn selector_string(app: &str) -> String {
    let terms: Vec<_> = selector(app).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    terms.join(",")
}

//! Labels of every child and of the pods. Pure.

use std::collections::BTreeMap;

use super::super::names;
use super::super::validate::Workload;
use egapp_api::labels;

/// The selector's labels, the recommended ones of Kubernetes, and our own, none of which selects anything.
pub(super) fn labels(workload: &Workload<'_>) -> BTreeMap<String, String> {
    let spec = workload.spec;
    let app_id = spec.app_id.as_deref();
    let descriptive = [
        ("app.kubernetes.io/name", Some(workload.name)),
        ("app.kubernetes.io/instance", Some(workload.name)),
        ("app.kubernetes.io/part-of", app_id),
        ("app.kubernetes.io/managed-by", Some(names::MANAGED_BY)),
        (labels::APP_ID, app_id),
        (labels::FRAMEWORK, Some(spec.framework.as_str())),
        (labels::ENVIRONMENT, Some(spec.environment.as_str())),
        (labels::INSTANCE_TYPE, Some(spec.instance_type.as_str())),
    ];
    let catalog = workload.catalog_label.map(|key| (key, app_id));
    let described = catalog
        .into_iter()
        .chain(descriptive)
        .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    // The selector comes last: no catalogue's key may change it.
    described.chain(names::selector(workload.name)).collect()
}

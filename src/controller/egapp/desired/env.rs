//! Environment variables: who the pod is, what its runtime needs, and what the user says, which wins. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, ConfigMapKeySelector, EnvFromSource, EnvVar, EnvVarSource, ObjectFieldSelector,
    ResourceFieldSelector, SecretEnvSource, SecretKeySelector,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::expansion::{joined, refers_to_itself};
use super::super::names;
use super::super::validate::Workload;
use super::order::{Variable, ordered};
use crate::platform::GO_MEM_LIMIT;
use egapp_api::v1alpha1 as api;

const POD_NAMESPACE: &str = "POD_NAMESPACE";

/// All variables: who the pod is, then the framework's and the app's identity, then the user's as they wrote them. A
/// variable of the user's takes the place of ours of the same name: others of ours may refer to it.
pub(super) fn env(workload: &Workload<'_>) -> Vec<EnvVar> {
    let mut users: BTreeMap<_, _> = (workload.spec.env.iter().enumerate())
        .map(|(position, variable)| (variable.name.as_str(), (position, variable)))
        .collect();
    let pod = [from_field(names::POD_NAME, "metadata.name"), from_field(POD_NAMESPACE, "metadata.namespace")];
    let ours = pod.into_iter().chain(profile(workload)).chain(identity(workload));
    let mut all: Vec<_> = ours
        .map(|ours| match users.remove(ours.name.as_str()) {
            Some((position, user)) => {
                Variable { entry: replaced(user, &ours, workload), position: Some(position) }
            }
            None => Variable { entry: ours, position: None },
        })
        .collect();
    let places_of_ours = all.len();
    let mut rest: Vec<_> = users.into_values().collect();
    rest.sort_by_key(|(position, _)| *position);
    all.extend(
        rest.into_iter()
            .map(|(position, user)| Variable { entry: user_variable(user), position: Some(position) }),
    );
    ordered(all, places_of_ours)
}

/// A variable of the user's in place of ours, joined with ours where it refers to itself. Of those whose values only the
/// kubelet knows, none does.
fn replaced(user: &api::EnvVar, ours: &EnvVar, workload: &Workload<'_>) -> EnvVar {
    let former = match ours.value.as_deref() {
        None if ours.name == POD_NAMESPACE => Some(workload.namespace),
        former => former,
    };
    match (&user.value, former) {
        (Some(value), Some(former)) if refers_to_itself(user) => {
            literal(&user.name, joined(&user.name, value, former))
        }
        _ => user_variable(user),
    }
}

/// Whole ConfigMaps and Secrets, in the user's order.
pub(super) fn env_from(workload: &Workload<'_>) -> Vec<EnvFromSource> {
    let convert = |source: &api::EnvFromSource| EnvFromSource {
        prefix: source.prefix.clone().filter(|prefix| !prefix.is_empty()),
        config_map_ref: source
            .config_map_ref
            .as_ref()
            .map(|map| ConfigMapEnvSource { name: map.name.clone(), optional: map.optional }),
        secret_ref: source
            .secret_ref
            .as_ref()
            .map(|secret| SecretEnvSource { name: secret.name.clone(), optional: secret.optional }),
    };
    workload.spec.env_from.iter().map(convert).collect()
}

fn profile(workload: &Workload<'_>) -> Vec<EnvVar> {
    let mut variables: Vec<_> =
        workload.profile.env.iter().map(|(name, value)| literal(name, value.to_owned())).collect();
    if workload.profile.go_mem_limit {
        let source = ResourceFieldSelector {
            resource: "limits.memory".to_owned(),
            divisor: Some(Quantity("1".to_owned())),
            container_name: None,
        };
        let value_from = EnvVarSource { resource_field_ref: Some(source), ..EnvVarSource::default() };
        variables.push(sourced(GO_MEM_LIMIT, value_from));
    }
    variables
}

/// Who the app is, also in OpenTelemetry's words (semantic conventions for resources).
fn identity(workload: &Workload<'_>) -> Vec<EnvVar> {
    let (spec, namespace) = (workload.spec, workload.namespace);
    let attributes = format!(
        "service.namespace={namespace},deployment.environment.name={},k8s.namespace.name={namespace},\
         k8s.deployment.name={},k8s.pod.name=$(POD_NAME)",
        spec.environment, workload.name,
    );
    let mut variables = vec![literal("EGAPP_NAME", workload.name.to_owned())];
    variables.extend(spec.app_id.clone().map(|app_id| literal("EGAPP_APP_ID", app_id)));
    variables.extend([
        literal("EGAPP_FRAMEWORK", spec.framework.to_string()),
        literal("EGAPP_ENVIRONMENT", spec.environment.to_string()),
        literal("OTEL_SERVICE_NAME", workload.name.to_owned()),
        literal("OTEL_RESOURCE_ATTRIBUTES", attributes),
    ]);
    variables
}

fn user_variable(variable: &api::EnvVar) -> EnvVar {
    match &variable.value_from {
        Some(source) => sourced(&variable.name, user_source(source)),
        None => literal(&variable.name, variable.value.clone().unwrap_or_default()),
    }
}

fn user_source(source: &api::EnvVarSource) -> EnvVarSource {
    let api::EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref } = source;
    EnvVarSource {
        field_ref: field_ref.as_ref().map(|field| field_selector(&field.field_path)),
        resource_field_ref: resource_field_ref.as_ref().map(|amount| ResourceFieldSelector {
            resource: amount.resource.clone(),
            divisor: Some(Quantity(amount.divisor.clone().unwrap_or_else(|| "1".to_owned()))),
            container_name: None,
        }),
        config_map_key_ref: config_map_key_ref.as_ref().map(|entry| ConfigMapKeySelector {
            name: entry.name.clone(),
            key: entry.key.clone(),
            optional: entry.optional,
        }),
        secret_key_ref: secret_key_ref.as_ref().map(|entry| SecretKeySelector {
            name: entry.name.clone(),
            key: entry.key.clone(),
            optional: entry.optional,
        }),
        ..EnvVarSource::default()
    }
}

fn literal(name: &str, value: String) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value), value_from: None }
}

fn sourced(name: &str, source: EnvVarSource) -> EnvVar {
    EnvVar { name: name.to_owned(), value: None, value_from: Some(source) }
}

fn from_field(name: &str, path: &str) -> EnvVar {
    sourced(name, EnvVarSource { field_ref: Some(field_selector(path)), ..EnvVarSource::default() })
}

fn field_selector(path: &str) -> ObjectFieldSelector {
    ObjectFieldSelector { api_version: Some("v1".to_owned()), field_path: path.to_owned() }
}

#[cfg(test)]
#[path = "env_tests.rs"]
mod tests;

//! Environment variables: who the pod is, what its runtime needs, and what the user says, which wins. Pure.

use k8s_openapi::api::core::v1::{
    ConfigMapEnvSource, ConfigMapKeySelector, EnvFromSource, EnvVar, EnvVarSource, ObjectFieldSelector,
    ResourceFieldSelector, SecretEnvSource, SecretKeySelector,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::validate::Workload;
use egapp_api::v1alpha1 as api;

/// All variables in the order that counts: a value can use `$(NAME)` of an earlier one, so who the pod is comes first,
/// then the framework's and the app's identity, then the user's as they wrote them. A variable of the user's takes
/// the place of ours of the same name.
pub(super) fn env(workload: &Workload<'_>) -> Vec<EnvVar> {
    let users = &workload.spec.env;
    let is_ours = |variable: &EnvVar| users.iter().all(|user| user.name != variable.name);
    let pod = [from_field("POD_NAME", "metadata.name"), from_field("POD_NAMESPACE", "metadata.namespace")];
    pod.into_iter()
        .chain(profile(workload))
        .chain(identity(workload))
        .filter(is_ours)
        .chain(users.iter().map(user_variable))
        .collect()
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
        variables.push(sourced("GOMEMLIMIT", value_from));
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

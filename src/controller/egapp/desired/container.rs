//! The application's container. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, Lifecycle, LifecycleHandler, ResourceRequirements,
    SecurityContext, SleepAction,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::super::names;
use super::super::validate::{Image, Workload};
use super::{env, probes};

/// The container `app`.
pub(super) fn container(workload: &Workload<'_>) -> Container {
    let Image { reference, command, args, .. } = &workload.image;
    let some = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    let env_from = env::env_from(workload);
    Container {
        name: names::CONTAINER.to_owned(),
        image: Some(reference.clone()),
        image_pull_policy: Some(workload.policy.image_pull_policy.as_str().to_owned()),
        command: some(command),
        args: some(args),
        ports: workload.port.map(|port| vec![container_port(port)]),
        env: Some(env::env(workload)),
        env_from: (!env_from.is_empty()).then_some(env_from),
        resources: Some(resources(workload)),
        liveness_probe: probes::liveness(workload),
        readiness_probe: probes::readiness(workload),
        startup_probe: probes::startup(workload),
        lifecycle: pre_stop(workload),
        security_context: Some(security_context()),
        ..Container::default()
    }
}

fn container_port(port: i32) -> ContainerPort {
    ContainerPort {
        name: Some(names::PORT.to_owned()),
        container_port: port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

fn resources(workload: &Workload<'_>) -> ResourceRequirements {
    let quantities = |amounts: &BTreeMap<String, String>| {
        amounts.iter().map(|(resource, amount)| (resource.clone(), Quantity(amount.clone()))).collect()
    };
    ResourceRequirements {
        requests: Some(quantities(&workload.resources.requests)),
        limits: Some(quantities(&workload.resources.limits)),
        ..ResourceRequirements::default()
    }
}

/// The pod serves on while load balancers learn of its end (KEP-3960): without it a rolling update drops requests.
fn pre_stop(workload: &Workload<'_>) -> Option<Lifecycle> {
    let seconds = i64::from(workload.policy.pre_stop_seconds);
    (seconds > 0).then(|| Lifecycle {
        pre_stop: Some(LifecycleHandler {
            sleep: Some(SleepAction { seconds }),
            ..LifecycleHandler::default()
        }),
        ..Lifecycle::default()
    })
}

/// With the pod's, what Pod Security `restricted` asks for.
fn security_context() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        privileged: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}

//! The Deployment: only fields that are meant, so that every other field stays whoever's it is. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements,
    SeccompProfile, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;

use super::super::names;
use super::super::validate::{Image, Workload};
use super::digest;
use egapp_api::labels;

/// Old ReplicaSets that are kept for `kubectl rollout undo`; Kubernetes' own 10 are more than anybody goes back.
const REVISION_HISTORY_LIMIT: i32 = 5;

/// The Deployment of a workload.
pub(super) fn desired_deployment(workload: &Workload) -> Deployment {
    let selector = names::selector(&workload.name);
    let labels: BTreeMap<_, _> = selector.clone().into_iter().chain(descriptive_labels(workload)).collect();
    let mut deployment = Deployment {
        metadata: ObjectMeta {
            name: Some(workload.name.clone()),
            namespace: Some(workload.namespace.clone()),
            labels: Some(labels.clone()),
            owner_references: Some(vec![workload.owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(workload.replicas),
            // Owned, so that a `kubectl rollout pause` by somebody else does not last for ever.
            paused: Some(false),
            revision_history_limit: Some(REVISION_HISTORY_LIMIT),
            selector: LabelSelector { match_labels: Some(selector), ..LabelSelector::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(pod_spec(workload)),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    };
    let digest = digest(&deployment);
    deployment.metadata.annotations = Some([(names::APPLIED_DIGEST.to_owned(), digest)].into());
    deployment
}

/// The recommended labels of Kubernetes and our own, none of which selects anything.
fn descriptive_labels(workload: &Workload) -> BTreeMap<String, String> {
    let app_id = workload.app_id.as_deref();
    [
        ("app.kubernetes.io/name", Some(workload.name.as_str())),
        ("app.kubernetes.io/instance", Some(workload.name.as_str())),
        ("app.kubernetes.io/part-of", app_id),
        ("app.kubernetes.io/managed-by", Some(names::MANAGED_BY)),
        (labels::APP_ID, app_id),
        (labels::FRAMEWORK, Some(workload.framework.as_str())),
        (labels::ENVIRONMENT, Some(workload.environment.as_str())),
        (labels::INSTANCE_TYPE, Some(workload.instance_type.as_str())),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
    .collect()
}

fn pod_spec(workload: &Workload) -> PodSpec {
    PodSpec {
        automount_service_account_token: Some(false),
        // The variables of every Service in the namespace are a surprise to an app, and slow down large ones.
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: workload.image.run_as_user,
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(workload)],
        ..PodSpec::default()
    }
}

fn container(workload: &Workload) -> Container {
    let Image { reference, command, args, .. } = &workload.image;
    let some = |words: &[String]| (!words.is_empty()).then(|| words.to_vec());
    Container {
        name: names::CONTAINER.to_owned(),
        image: Some(reference.clone()),
        command: some(command),
        args: some(args),
        resources: Some(resources(workload)),
        // With the pod's, what Pod Security `restricted` asks for.
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            privileged: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn resources(workload: &Workload) -> ResourceRequirements {
    let cpu = ("cpu".to_owned(), Quantity(workload.size.cpu.clone()));
    let memory = ("memory".to_owned(), Quantity(workload.size.memory.clone()));
    ResourceRequirements {
        requests: Some([cpu, memory.clone()].into()),
        limits: Some([memory].into()),
        ..ResourceRequirements::default()
    }
}

//! Where everything about an app comes from, in words. Pure.

use egapp_api::v1alpha1::{ConditionStatus, ConditionType, EGApp, Reason, Resources};
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition};
use pe_app::controller::egapp::cluster::ChildKind;
use pe_app::controller::egapp::desired::desired;
use pe_app::controller::egapp::expansion::refers_to_itself;
use pe_app::controller::egapp::observe::{Observed, Ownership, Seen};
use pe_app::controller::egapp::replicas::{OwnAutoscaler, Replicas, Scaling};
use pe_app::controller::egapp::validate::{Workload, validate};
use pe_app::platform::{OPERATOR_VARIABLES, Platform};
use serde::Serialize;
use serde_json::{Value, json};

/// An app, explained.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) ready: String,
    pub(crate) facts: Vec<Fact>,
    /// What keeps the app from being as its user wants it.
    pub(crate) in_the_way: Vec<String>,
}

/// One thing about an app.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Fact {
    pub(crate) topic: &'static str,
    pub(crate) value: String,
    pub(crate) because: Vec<String>,
}

fn fact(topic: &'static str, value: impl Into<String>, because: Vec<String>) -> Fact {
    Fact { topic, value: value.into(), because }
}

/// Explains the app by what its spec, the platform (`None`: it is not known, and built-in values are assumed) and the
/// cluster say.
pub(crate) fn explain(app: &EGApp, platform: Option<&Platform>, observed: &Observed) -> Explanation {
    let (built_in, is_known) = (Platform::built_in(), platform.is_some());
    let platform = platform.unwrap_or(&built_in);
    let workload = validate(app, platform);
    let mut in_the_way = obstacles(app, observed);
    let facts = match &workload {
        Ok(workload) => {
            in_the_way.extend(waits(app, workload, observed).filter(|_| is_known));
            vec![
                image(app, workload),
                size(app, workload, platform),
                replicas(app, observed),
                port(app, workload),
                policy(workload),
                variables(app, workload),
            ]
        }
        Err(error) => {
            in_the_way.push(error.to_string());
            Vec::new()
        }
    };
    let ready = condition(app, ConditionType::Ready).map_or_else(
        || "nothing is known yet: the operator has not looked at it".to_owned(),
        |(status, text)| format!("{status}, {text}"),
    );
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Explanation {
        namespace: text(&app.metadata.namespace),
        name: text(&app.metadata.name),
        ready,
        facts,
        in_the_way,
    }
}

/// Status of a condition; reason and message.
fn condition(app: &EGApp, type_: ConditionType) -> Option<(String, String)> {
    let condition = app.status.as_ref()?.condition(type_)?;
    Some((condition.status.clone(), format!("{}: {}", condition.reason, condition.message)))
}

fn image(app: &EGApp, workload: &Workload<'_>) -> Fact {
    let (spec, image) = (&app.spec, &workload.image);
    let catalogue = match &spec.app_id {
        Some(id) => format!("the platform's images.apps has none for appId {id}"),
        None => "there is no spec.appId to look for in the platform's images.apps".to_owned(),
    };
    let mut because = match (&spec.image, image.is_starter) {
        (Some(_), _) => vec!["spec.image".to_owned()],
        (None, true) => vec![format!(
            "the framework's starter (images.starters.{}): spec.image is not set, and {catalogue}",
            spec.framework
        )],
        (None, false) => vec![format!(
            "the platform's images.apps, appId {}: spec.image is not set",
            spec.app_id.as_deref().unwrap_or_default()
        )],
    };
    if !image.command.is_empty() || !image.args.is_empty() {
        let whose =
            if spec.command.is_empty() && spec.args.is_empty() { "the starter's" } else { "the spec's" };
        because.push(format!("command {} and args {} are {whose}", json!(image.command), json!(image.args)));
    }
    if let Some(user) = image.run_as_user {
        let whose = if spec.run_as_user.is_some() { "spec.runAsUser" } else { "the starter's" };
        because.push(format!("user {user}, {whose}"));
    }
    fact("image", image.reference.clone(), because)
}

fn size(app: &EGApp, workload: &Workload<'_>, platform: &Platform) -> Fact {
    let half = |amounts: &std::collections::BTreeMap<String, String>| {
        amounts.iter().map(|(name, amount)| format!("{name} {amount}")).collect::<Vec<_>>().join(", ")
    };
    let effective = &workload.resources;
    let value = format!("requests {}; limits {}", half(&effective.requests), half(&effective.limits));
    let size = app.spec.instance_type;
    let mut because = platform.size(size).map_or_else(Vec::new, |of| {
        vec![format!("spec.instanceType {size}: cpu {}, memory {} (sizes.{size})", of.cpu, of.memory)]
    });
    let own = app.spec.resources.as_ref().map(given).unwrap_or_default();
    because.extend(own.into_iter().map(|own| format!("{own} stands in place of the size's")));
    fact("size", value, because)
}

/// Every amount that the spec names, with its path.
fn given(resources: &Resources) -> Vec<String> {
    let mut paths = Vec::new();
    if let Value::Object(halves) = json!(resources) {
        for (half, amounts) in halves {
            for (name, amount) in amounts.as_object().into_iter().flatten() {
                let amount = amount.as_str().unwrap_or_default();
                paths.push(format!("spec.resources.{half}.{name} {amount}"));
            }
        }
    }
    paths
}

fn replicas(app: &EGApp, observed: &Observed) -> Fact {
    let (spec, scaling) = (&app.spec, Scaling::of(&app.spec, observed));
    let wanted = scaling.desired(observed);
    let name = app.metadata.name.as_deref().unwrap_or_default();
    let decider = scaling.decider(name, observed).unwrap_or_default();
    let beside = if spec.autoscaling.is_some() { "; spec.autoscaling has no effect beside it" } else { "" };
    let because = match (scaling.replicas, scaling.autoscaler) {
        (Replicas::Ours(0), _) => {
            "spec.replicaCount: 0 stops the app, whatever scales it otherwise".to_owned()
        }
        (Replicas::Autoscaled, OwnAutoscaler::Unwanted) => {
            format!(
                "HorizontalPodAutoscaler {decider}, which the EGApp does not ask for, scales the Deployment; \
                 spec.replicaCount counts only where it is 0{beside}"
            )
        }
        (Replicas::Autoscaled, _) => "its HorizontalPodAutoscaler decides: spec.autoscaling".to_owned(),
        (Replicas::Ours(_), OwnAutoscaler::Later | OwnAutoscaler::Wanted) => {
            "the start within spec.autoscaling; its HorizontalPodAutoscaler decides from then on".to_owned()
        }
        (Replicas::Ours(_), OwnAutoscaler::Unwanted) if decider.is_empty() => "spec.replicaCount".to_owned(),
        (Replicas::Ours(_), OwnAutoscaler::Unwanted) => {
            format!(
                "spec.replicaCount, which HorizontalPodAutoscaler {decider} sets: it scales the EGApp itself{beside}"
            )
        }
    };
    let bounds = spec.autoscaling.map(|own| {
        format!(
            "spec.autoscaling: from {} to {}, at {} % of the CPU request",
            own.min_replicas, own.max_replicas, own.target_cpu_utilization_percentage
        )
    });
    fact("replicas", wanted.to_string(), [because].into_iter().chain(bounds).collect())
}

fn port(app: &EGApp, workload: &Workload<'_>) -> Fact {
    let service = &app.spec.service;
    let leads = if service.enabled {
        format!("Service {} leads to it from port {}", workload.name, service.port)
    } else {
        "spec.service.enabled is false: there is no Service".to_owned()
    };
    match (workload.port, app.spec.port) {
        (Some(port), Some(_)) => fact("port", port.to_string(), vec!["spec.port".to_owned(), leads]),
        (Some(port), None) => {
            let from = format!("the framework's (frameworks.{}.port)", app.spec.framework);
            fact("port", port.to_string(), vec![from, leads])
        }
        (None, _) => {
            let why = "a worker: no Service, no spec.port and no probe over the network";
            fact("port", "none", vec![why.to_owned()])
        }
    }
}

fn policy(workload: &Workload<'_>) -> Fact {
    let (policy, environment) = (workload.policy, workload.spec.environment);
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let amount = |amount: &_| json!(amount).to_string().trim_matches('"').to_owned();
    let because = vec![
        format!("images are pulled: {}", policy.image_pull_policy.as_str()),
        format!(
            "rollouts: maxSurge {}, maxUnavailable {}, minReadySeconds {}, progressDeadlineSeconds {}",
            amount(&policy.max_surge),
            amount(&policy.max_unavailable),
            policy.min_ready_seconds,
            policy.progress_deadline_seconds
        ),
        format!(
            "spread over zones and nodes: {}; PodDisruptionBudget: {}; preStop sleep: {} s",
            yes(policy.spread),
            yes(policy.pod_disruption_budget),
            policy.pre_stop_seconds
        ),
    ];
    fact("policy", format!("{environment} (environments.{environment})"), because)
}

fn variables(app: &EGApp, workload: &Workload<'_>) -> Fact {
    let framework = app.spec.framework;
    let profile: Vec<_> = workload.profile.env.iter().map(|(name, _)| name).collect();
    let mut because = Vec::new();
    for variable in &app.spec.env {
        let name = variable.name.as_str();
        let does = if refers_to_itself(variable) { "adds to" } else { "replaces" };
        if OPERATOR_VARIABLES.contains(&name) {
            because.push(format!("spec.env {does} {name}, which the operator sets"));
        } else if profile.contains(&name) {
            because.push(format!("spec.env {does} {name} of the platform (frameworks.{framework}.env)"));
        }
    }
    if !app.spec.env_from.is_empty() {
        let note = "spec.envFrom loses to every one of these, also to those of the platform and the operator";
        because.push(note.to_owned());
    }
    let memory = if workload.profile.go_mem_limit { ", GOMEMLIMIT" } else { "" };
    let value = format!(
        "{} of spec.env; of the platform: {}{memory}; {} of the operator",
        app.spec.env.len(),
        if profile.is_empty() && memory.is_empty() { "none".to_owned() } else { profile.join(", ") },
        OPERATOR_VARIABLES.len()
    );
    fact("variables", value.replace(": , ", ": "), because)
}

fn obstacles(app: &EGApp, observed: &Observed) -> Vec<String> {
    let mut all = Vec::new();
    if app.metadata.deletion_timestamp.is_some() {
        let finalizers = app.metadata.finalizers.as_deref().unwrap_or_default().join(", ");
        all.push(format!("it is being deleted, and waits for its finalizers: {finalizers}"));
    }
    if app.spec.suspend {
        all.push("spec.suspend is true: the operator changes nothing until it is false".to_owned());
    }
    let told = app.status.as_ref().and_then(|status| status.observed_generation);
    if told.is_some() && told != app.metadata.generation {
        all.push(
            "the operator has not looked at the last edit yet: what is said of its state is older".to_owned(),
        );
    }
    let not_ready = condition(app, ConditionType::Ready)
        .filter(|(status, _)| status != ConditionStatus::True.as_str())
        .map(|(_, text)| text);
    let scales = Scaling::of(&app.spec, observed).autoscaler != OwnAutoscaler::Unwanted;
    let [deployment, service, budget, autoscaler] = taken(observed);
    let taken = [deployment, service, budget, autoscaler.filter(|_| scales)];
    // The status tells of the first one.
    let is_told = not_ready.as_ref().is_some_and(|text| text.starts_with(Reason::NameConflict.as_str()));
    all.extend(not_ready);
    if condition(app, ConditionType::Stalled).is_some() {
        all.push("nothing moves without a person".to_owned());
    }
    all.extend(taken.into_iter().flatten().skip(usize::from(is_told)));
    all
}

/// The children whose names are somebody else's, in the order of [`Observed::digests`].
pub(crate) fn taken(observed: &Observed) -> [Option<String>; 4] {
    [
        is_taken(&observed.deployment),
        is_taken(&observed.service),
        is_taken(&observed.disruption_budget),
        is_taken(&observed.autoscaler),
    ]
}

fn is_taken<K: ChildKind>(seen: &Seen<K>) -> Option<String> {
    match &seen.ownership {
        Ownership::Foreign(owner) => {
            let whose = owner
                .as_ref()
                .map_or_else(|| "nobody controls".to_owned(), |owner| format!("{owner} controls"));
            Some(format!("there is a {} of its name that {whose}", K::TITLE))
        }
        Ownership::Absent
        | Ownership::Ours
        | Ownership::Terminating
        | Ownership::Orphan
        | Ownership::Predecessor => None,
    }
}

/// Why an autoscaler does not scale, in its own words.
pub(crate) fn hindrances(autoscaler: &HorizontalPodAutoscaler) -> impl Iterator<Item = String> + use<> {
    let name = autoscaler.metadata.name.clone().unwrap_or_default();
    let conditions = autoscaler.status.clone().and_then(|status| status.conditions).unwrap_or_default();
    let is_one = |condition: &HorizontalPodAutoscalerCondition| {
        condition.status == "False" && ["AbleToScale", "ScalingActive"].contains(&condition.type_.as_str())
    };
    conditions.into_iter().filter(is_one).map(move |condition| {
        let [reason, message] = [condition.reason, condition.message].map(Option::unwrap_or_default);
        format!("HorizontalPodAutoscaler {name} does not scale: {reason}: {message}")
    })
}

/// A platform change that has not reached the app.
fn waits(app: &EGApp, workload: &Workload<'_>, observed: &Observed) -> Option<String> {
    let told = app.status.as_ref().and_then(|status| status.observed_generation);
    let applied = observed.deployment.live.as_ref()?.details.as_ref()?.template;
    let wanted = desired(workload, Scaling::of(&app.spec, observed).replicas).template()?;
    let is_pending = told == app.metadata.generation && applied != wanted && !app.spec.suspend;
    is_pending.then(|| {
        "a change of the platform file has not reached it: it waits for its turn, or the change is halted; an edit of \
         the app is not held up"
            .to_owned()
    })
}

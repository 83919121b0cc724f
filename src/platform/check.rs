//! Checks the values of a platform file, each on its own and against each other. Pure.
//!
//! Everything that is wrong is found at once. A value that passes is one that the API server accepts in the objects
//! that are made from it.

use egapp_api::v1alpha1::{Environment, Framework, InstanceType};

use super::config::{
    App, EnvironmentPolicy, Environments, FrameworkProfile, Images, PlatformConfig, Rollout, Sizes, Starter,
};
use super::finding::Finding;
use super::values::{
    Problem, check_app_id, check_cpu, check_image, check_int_or_percent, check_label_key, check_memory,
    check_variable_name, check_whole, is_zero,
};

/// The longest time that any key may name: a day. Longer is a typing error, and sums stay small.
pub(super) const MAX_SECONDS: i32 = 86_400;

/// More rollouts at a time are no rollout in turn.
pub(super) const MAX_CONCURRENT: i32 = 1000;

/// Variables that the operator sets itself. A profile that set them too would put two of one name into a container,
/// which the API server answers as if it were broken itself.
pub const OPERATOR_VARIABLES: [&str; 8] = [
    "POD_NAME",
    "POD_NAMESPACE",
    "EGAPP_NAME",
    "EGAPP_APP_ID",
    "EGAPP_FRAMEWORK",
    "EGAPP_ENVIRONMENT",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
];

/// The variable that `goMemLimit` sets.
pub const GO_MEM_LIMIT: &str = "GOMEMLIMIT";

/// Everything that is wrong with the values; positions are not known here.
pub(super) fn check(config: &PlatformConfig) -> Vec<Finding> {
    let mut findings = Findings::default();
    findings.images(&config.images);
    if !config.catalog_label.is_empty() {
        findings.note("catalogLabel", check_label_key(&config.catalog_label));
    }
    findings.sizes(&config.sizes);
    for framework in Framework::ALL {
        if let Some(profile) = config.frameworks.get(framework) {
            findings.framework(&format!("frameworks.{framework}"), profile);
        }
    }
    for environment in Environment::ALL {
        if let Some(policy) = config.environments.get(environment) {
            findings.environment(&format!("environments.{environment}"), policy);
        }
    }
    findings.startups(config);
    findings.rollout(&config.rollout);
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn note(&mut self, key: impl Into<String>, checked: Result<(), Problem>) {
        if let Err(problem) = checked {
            self.0.push(Finding { position: None, key: key.into(), problem });
        }
    }

    fn images(&mut self, images: &Images) {
        for (id, app) in &images.apps {
            self.app(&format!("images.apps.{id}"), id, app);
        }
        for framework in Framework::ALL {
            if let Some(starter) = images.starters.get(framework) {
                self.starter(&format!("images.starters.{framework}"), starter);
            }
        }
    }

    fn app(&mut self, key: &str, id: &str, app: &App) {
        self.note(key, check_app_id(id));
        if let Some(image) = &app.image {
            self.note(format!("{key}.image"), check_image(image));
        }
        let mut has_image = app.image.is_some();
        for environment in Environment::ALL {
            if let Some(image) = app.environments.get(environment) {
                has_image = true;
                self.note(format!("{key}.environments.{environment}"), check_image(image));
            }
        }
        if !has_image {
            self.note(key, Err("names no image; give it image, or environments with one".to_owned()));
        }
    }

    fn starter(&mut self, key: &str, starter: &Starter) {
        self.note(format!("{key}.image"), check_image(&starter.image));
        if let Some(user) = starter.run_as_user {
            self.note(format!("{key}.runAsUser"), check_whole(user, 1..=i32::MAX));
        }
        let Some(environments) = &starter.environments else { return };
        let words = Environment::ALL.map(Environment::as_str);
        if environments.is_empty() {
            let problem = format!("is empty; name one of {}, or leave it out to allow all", words.join(", "));
            self.note(format!("{key}.environments"), Err(problem));
        }
        for (i, name) in environments.iter().enumerate() {
            if !words.contains(&name.as_str()) {
                let problem = format!("is {name:?}; use one of {}", words.join(", "));
                self.note(format!("{key}.environments[{i}]"), Err(problem));
            }
        }
    }

    fn sizes(&mut self, sizes: &Sizes) {
        for instance_type in InstanceType::ALL {
            if let Some(size) = sizes.get(instance_type) {
                self.note(format!("sizes.{instance_type}.cpu"), check_cpu(&size.cpu));
                self.note(format!("sizes.{instance_type}.memory"), check_memory(&size.memory));
            }
        }
    }

    fn framework(&mut self, key: &str, profile: &FrameworkProfile) {
        self.note(format!("{key}.port"), check_whole(profile.port.into(), 1..=65535));
        for (name, _) in profile.env.iter() {
            let is_taken = OPERATOR_VARIABLES.contains(&name) || profile.go_mem_limit && name == GO_MEM_LIMIT;
            let taken = || Err("is set by the operator; leave it out".to_owned());
            self.note(
                format!("{key}.env.{name}"),
                if is_taken { taken() } else { check_variable_name(name) },
            );
        }
        let startup = check_whole(profile.startup_seconds.into(), 1..=MAX_SECONDS);
        self.note(format!("{key}.startupSeconds"), startup);
    }

    fn environment(&mut self, key: &str, policy: &EnvironmentPolicy) {
        let seconds = [
            ("minReadySeconds", policy.min_ready_seconds, 0),
            ("progressDeadlineSeconds", policy.progress_deadline_seconds, 1),
            ("preStopSeconds", policy.pre_stop_seconds, 0),
        ];
        for (field, value, least) in seconds {
            self.note(format!("{key}.{field}"), check_whole(value.into(), least..=MAX_SECONDS));
        }
        let (deadline, min_ready) = (policy.progress_deadline_seconds, policy.min_ready_seconds);
        if deadline <= min_ready {
            let problem =
                format!("is {deadline}; it must be more than minReadySeconds, which is {min_ready}");
            self.note(format!("{key}.progressDeadlineSeconds"), Err(problem));
        }
        self.note(format!("{key}.maxSurge"), check_int_or_percent(&policy.max_surge));
        self.note(format!("{key}.maxUnavailable"), check_int_or_percent(&policy.max_unavailable));
        if is_zero(&policy.max_surge) && is_zero(&policy.max_unavailable) {
            let problem = "is 0 and so is maxSurge, so that no rollout could ever move; raise one of them";
            self.note(format!("{key}.maxUnavailable"), Err(problem.to_owned()));
        }
    }

    fn rollout(&mut self, rollout: &Rollout) {
        let words = Environment::ALL.map(Environment::as_str);
        let is_once = |word: &&str| rollout.order.iter().filter(|one| one == word).count() == 1;
        if rollout.order.len() != words.len() || !words.iter().all(is_once) {
            let order = rollout.order.join(", ");
            let problem = format!("is [{order}]; name each of {} once", words.join(", "));
            self.note("rollout.order", Err(problem));
        }
        self.note("rollout.maxConcurrent", check_whole(rollout.max_concurrent.into(), 1..=MAX_CONCURRENT));
        self.note("rollout.maxFailing", check_whole(rollout.max_failing.into(), 0..=MAX_CONCURRENT));
    }

    /// A slow start is no failure: becoming ready is a sign of progress, and the deadline has to leave time for it.
    fn startups(&mut self, config: &PlatformConfig) {
        let pairs = Environment::ALL.into_iter().flat_map(|environment| {
            Framework::ALL.into_iter().map(move |framework| (environment, framework))
        });
        for (environment, framework) in pairs {
            let policy = config.environments.get(environment);
            let (Some(policy), Some(profile)) = (policy, config.frameworks.get(framework)) else { continue };
            let (deadline, startup) = (policy.progress_deadline_seconds, profile.startup_seconds);
            if deadline > startup {
                continue;
            }
            let deadline_key = format!("environments.{environment}.progressDeadlineSeconds");
            let startup_key = format!("frameworks.{framework}.startupSeconds");
            // What the file does not give cannot be what its author has to change.
            let (key, problem) = if config.environments == Environments::default() {
                (
                    startup_key,
                    format!("is {startup}; it must be less than {deadline_key}, which is {deadline}"),
                )
            } else {
                (
                    deadline_key,
                    format!("is {deadline}; it must be more than {startup_key}, which is {startup}"),
                )
            };
            self.note(key, Err(problem));
        }
    }
}

//! Step `validate`: an EGApp and the platform's answers become a [`Workload`], or a reason why not. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use thiserror::Error;

use super::expansion::{FROM_THE_POD, refers_to_itself};
use super::resources;
use crate::platform::{
    EnvironmentPolicy, FrameworkProfile, GO_MEM_LIMIT, Platform, ResolvedImage, Unresolved,
};
use egapp_api::v1alpha1::{EGApp, EGAppSpec, EffectiveResources, Environment, Framework, InstanceType};

/// Everything that the children are made from. Whoever holds one can build them without a further check.
#[derive(Clone, Debug)]
pub struct Workload<'a> {
    /// The EGApp's name, a valid label value; also the name of every child.
    pub name: &'a str,
    /// The EGApp's namespace.
    pub namespace: &'a str,
    /// The reference that makes the EGApp the controller of its children.
    pub owner: OwnerReference,
    /// The spec: no word in it is `Unknown`, and `replicaCount` is zero or more.
    pub spec: &'a EGAppSpec,
    /// What the framework needs.
    pub profile: &'a FrameworkProfile,
    /// How careful the environment is.
    pub policy: &'a EnvironmentPolicy,
    /// Label key by which a catalogue finds the app's objects.
    pub catalog_label: Option<&'a str>,
    /// Resources of one replica.
    pub resources: EffectiveResources,
    /// What runs.
    pub image: Image,
    /// Port that the app listens on; `None` for a worker that listens on nothing.
    pub port: Option<i32>,
    /// When the pods are to restart, if they ever were; see [`Workload::restarted_last`].
    pub restarted_at: Option<String>,
}

impl Workload<'_> {
    /// The same for pods whose template says that they were restarted at `last`. Only a later time restarts them: one that
    /// goes away, or an earlier one that comes back, as from a file that is applied again, asks for nothing.
    #[must_use]
    pub fn restarted_last(mut self, last: Option<String>) -> Self {
        let is_new = |last: &String| self.restarted_at.as_deref().is_some_and(|at| is_later(at, last));
        if let Some(last) = last.filter(|last| !is_new(last)) {
            self.restarted_at = Some(last);
        }
        self
    }
}

/// What is no time is none of ours.
fn is_later(at: &str, last: &str) -> bool {
    match (at.parse::<Timestamp>(), last.parse::<Timestamp>()) {
        (Ok(at), Ok(last)) => at > last,
        _ => at != last,
    }
}

/// What the application's container runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Image reference.
    pub reference: String,
    /// Entrypoint; empty = the image's.
    pub command: Vec<String>,
    /// Arguments; empty = the image's.
    pub args: Vec<String>,
    /// User id, where the image's own may be root.
    pub run_as_user: Option<i64>,
    /// Whether it is the framework's starter, and not the user's application.
    pub is_starter: bool,
}

/// Why an EGApp cannot be mapped. The schema refuses most of this; an object from before the schema, or from a newer
/// release, can still hold it.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// A word this release does not know.
    #[error(
        "spec.{field} holds a value that this release of the operator does not know; use one of {allowed}"
    )]
    UnknownWord {
        /// Field of the spec.
        field: &'static str,
        /// The words it may hold.
        allowed: String,
    },
    /// The name does not fit into a label.
    #[error(
        "metadata.name has {length} characters, and 63 is the most that fits a label; create it anew with a shorter name"
    )]
    NameTooLong {
        /// Characters of the name.
        length: usize,
    },
    /// Nothing to run.
    #[error("spec.image is not set, and {0}")]
    ImageUnresolved(Unresolved),
    /// Less than nothing.
    #[error("spec.replicaCount is {0}; it must be 0 or more")]
    NegativeReplicas(i32),
    /// A variable of the operator's that cannot be added to.
    #[error(
        "spec.env: {0} refers to itself, and the value of the operator's {0} is known only where the pod runs; give the \
         variable another name to have both"
    )]
    OwnReference(&'static str),
    /// The object came without a uid, which no API server sends.
    #[error("the EGApp has no uid, so nothing can be owned by it")]
    NoUid,
}

/// Checks the spec and looks up what its words mean.
///
/// # Errors
/// When a word is unknown, or a value cannot be mapped.
pub fn validate<'a>(app: &'a EGApp, platform: &'a Platform) -> Result<Workload<'a>, SpecError> {
    let spec = &app.spec;
    let name = app.metadata.name.as_deref().unwrap_or_default();
    if name.len() > 63 {
        return Err(SpecError::NameTooLong { length: name.len() });
    }
    if spec.replica_count < 0 {
        return Err(SpecError::NegativeReplicas(spec.replica_count));
    }
    let size =
        platform.size(spec.instance_type).ok_or_else(|| unknown("instanceType", &InstanceType::ALL))?;
    let profile = platform.framework(spec.framework).ok_or_else(|| unknown("framework", &Framework::ALL))?;
    let policy =
        platform.environment(spec.environment).ok_or_else(|| unknown("environment", &Environment::ALL))?;
    if let Some(name) = own_reference(spec, profile) {
        return Err(SpecError::OwnReference(name));
    }
    Ok(Workload {
        name,
        namespace: app.metadata.namespace.as_deref().unwrap_or_default(),
        owner: owner_reference(app)?,
        profile,
        policy,
        catalog_label: platform.catalog_label(),
        resources: resources::effective(size, spec.resources.as_ref()),
        image: resolve_image(app, platform)?,
        port: listens(spec).then(|| spec.port.unwrap_or(profile.port)),
        restarted_at: spec.restarted_at.clone(),
        spec,
    })
}

/// The variable that refers to itself in place of one of the operator's whose value only the kubelet knows.
fn own_reference(spec: &EGAppSpec, profile: &FrameworkProfile) -> Option<&'static str> {
    let of_pod = FROM_THE_POD.into_iter().filter(|name| *name != GO_MEM_LIMIT || profile.go_mem_limit);
    of_pod
        .into_iter()
        .find(|name| spec.env.iter().any(|variable| variable.name == *name && refers_to_itself(variable)))
}

/// Whether anything is said to talk to the app: a Service, a port, or a probe over the network. A worker with a probe
/// that runs a command listens on nothing all the same.
fn listens(spec: &EGAppSpec) -> bool {
    let probes = [&spec.liveness_probe, &spec.readiness_probe, &spec.startup_probe];
    let is_asked = probes.into_iter().flatten().any(|probe| probe.exec.is_none());
    spec.port.is_some() || spec.service.enabled || is_asked
}

/// `blockOwnerDeletion` makes `kubectl delete --cascade=foreground` wait for the child.
fn owner_reference(app: &EGApp) -> Result<OwnerReference, SpecError> {
    let reference =
        app.controller_owner_ref(&()).filter(|owner| !owner.uid.is_empty()).ok_or(SpecError::NoUid)?;
    Ok(OwnerReference { block_owner_deletion: Some(true), ..reference })
}

/// `spec.image`, else what the platform says. A command of the user's replaces a starter's own.
fn resolve_image(app: &EGApp, platform: &Platform) -> Result<Image, SpecError> {
    let spec = &app.spec;
    let own = |reference: &str| Image {
        reference: reference.to_owned(),
        command: spec.command.clone(),
        args: spec.args.clone(),
        run_as_user: spec.run_as_user,
        is_starter: false,
    };
    if let Some(reference) = &spec.image {
        return Ok(own(reference));
    }
    let resolved = platform.resolve_image(spec.app_id.as_deref(), spec.framework, spec.environment);
    Ok(match resolved.map_err(SpecError::ImageUnresolved)? {
        ResolvedImage::App(reference) => own(reference),
        ResolvedImage::Starter(starter) => {
            let is_untouched = spec.command.is_empty() && spec.args.is_empty();
            let run =
                if is_untouched { (&starter.command, &starter.args) } else { (&spec.command, &spec.args) };
            Image {
                reference: starter.image.clone(),
                command: run.0.clone(),
                args: run.1.clone(),
                run_as_user: spec.run_as_user.or(starter.run_as_user),
                is_starter: true,
            }
        }
    })
}

fn unknown(field: &'static str, allowed: &[impl ToString]) -> SpecError {
    let words: Vec<_> = allowed.iter().map(ToString::to_string).collect();
    SpecError::UnknownWord { field, allowed: words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_time_restarts_the_pods_of_an_app() {
        let app: EGApp = serde_json::from_value(serde_json::json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
            "metadata": { "name": "web", "namespace": "team", "uid": "u" },
            "spec": { "framework": "go", "environment": "dev" },
        }))
        .unwrap();
        let platform = Platform::built_in();
        let restarted = |at: Option<&str>, last: Option<&str>| {
            let mut workload = validate(&app, &platform).unwrap();
            workload.restarted_at = at.map(str::to_owned);
            workload.restarted_last(last.map(str::to_owned)).restarted_at
        };
        let [before, then, after] =
            ["2026-02-03T04:05:06Z", "2026-02-03T05:05:07+01:00", "2026-02-03T04:05:08Z"];
        for (at, last, wanted) in [
            (None, None, None),
            (Some(then), None, Some(then)),
            (None, Some(then), Some(then)),
            (Some(after), Some(then), Some(after)),
            (Some(before), Some(then), Some(then)),
            (Some("2026-02-03T04:05:07Z"), Some(then), Some(then)),
            (Some(before), Some("by hand"), Some(before)),
        ] {
            assert_eq!(restarted(at, last).as_deref(), wanted, "{at:?} {last:?}");
        }
    }
}

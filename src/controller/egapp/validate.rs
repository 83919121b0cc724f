//! Step `validate`: an EGApp and the platform's answers become a [`Workload`], or a reason why not. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use thiserror::Error;

use super::resources;
use crate::platform::{EnvironmentPolicy, FrameworkProfile, Platform, ResolvedImage, Unresolved};
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
        spec,
    })
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

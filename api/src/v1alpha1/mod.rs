//! Version `v1alpha1` of the API: the `EGApp` kind and the words of its conditions.

mod autoscaling;
mod conditions;
mod egapp_status;
mod egapp_types;
mod env;
mod probes;
mod references;
mod resources;
mod schema;
mod service;
mod words;

pub use autoscaling::Autoscaling;
pub use conditions::{ConditionStatus, ConditionType, Reason};
pub use egapp_status::{EGAppStatus, LastFailure};
pub use egapp_types::{EGApp, EGAppSpec};
pub use env::{EnvFromSource, EnvVar, EnvVarSource, FieldReference, ResourceFieldReference};
pub use probes::{ExecAction, GrpcAction, HttpGetAction, HttpHeader, Probe, TcpSocketAction};
pub use references::{EntriesReference, EntryReference, ObjectReference};
pub use resources::{EffectiveResources, ResourceAmounts, Resources};
pub use service::Service;
pub use words::{Environment, Framework, InstanceType};

/// Name of this version.
pub const VERSION: &str = "v1alpha1";

/// How many pods [`EGAppStatus::pods`] lists at most; the rest is counted in [`EGAppStatus::pods_omitted`].
pub const MAX_LISTED_PODS: usize = 100;

#[cfg(test)]
mod tests;

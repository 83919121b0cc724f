//! What can go wrong, for people. Pure.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use pe_app::controller::egapp::validate::SpecError;
use pe_app::platform::PlatformError;
use thiserror::Error as ThisError;

/// Why a command came to nothing.
#[derive(Debug, ThisError)]
pub(crate) enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{origin} is no YAML: {problem}")]
    NotYaml { origin: String, problem: String },
    #[error("{origin} holds no EGApp of egplatform.platform.evillgenius.com/v1alpha1")]
    Empty { origin: String },
    #[error("{origin}: entry {position} is no Kubernetes object: it has no apiVersion and kind")]
    NoObject { origin: String, position: usize },
    #[error("{origin}: EGApp {name} is not valid: {}", problems.join("; "))]
    Invalid { origin: String, name: String, problems: Vec<String> },
    #[error(
        "EGApp {name} of the file is of namespace {namespace}, and --namespace says {chosen}; give --namespace {namespace}, or none"
    )]
    Elsewhere { name: String, namespace: String, chosen: String },
    #[error("EGApp {name} cannot be mapped")]
    Spec { name: String, source: SpecError },
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error(
        "cannot use the kubeconfig: {problem}; give --kubeconfig FILE and --context NAME, or set KUBECONFIG"
    )]
    Kubeconfig { problem: String },
    #[error("there is no EGApp {name} in namespace {namespace}; `kubectl get egapps -A` lists all")]
    NoSuchApp { namespace: String, name: String },
    #[error("cannot {what}")]
    Call { what: String, source: Box<kube::Error> },
    #[error("cannot {what}: the cluster knows no such kind; is the CRD installed (`make install`)?")]
    NoKind { what: String },
    #[error("cannot tell whether anything differs: you may not read {unseen}")]
    Untold { unseen: String },
    #[error("a restart of {name} has no effect: {why}")]
    NoEffect { name: String, why: String },
    #[error("{name} is not Ready after the restart: {why}")]
    NotReady { name: String, why: String },
    #[error("{name} restarts, but you cannot be told how: {why}")]
    Unfollowed { name: String, why: String },
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    #[error("cannot set up the event loop")]
    Runtime(#[source] io::Error),
}

impl Error {
    /// A request failed; `what` follows "cannot".
    pub(crate) fn call(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        // A path that the API server does not know: its answer to an object that is not there is another one.
        let is_no_kind = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 404 && status.reason != "NotFound");
        move |source| {
            if is_no_kind(&source) {
                Self::NoKind { what }
            } else {
                Self::Call { what, source: Box::new(source) }
            }
        }
    }

    /// As `kubectl diff` has it, 1 is no error there: everything but a rollout that failed is 2.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Self::NotReady { .. }) { 1 } else { 2 })
    }
}

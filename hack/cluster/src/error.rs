//! What can go wrong between a checkout and a running control plane. No I/O.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use crate::Part;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Says what failed, on what, and what to do about it. The cause, where there is one, is the source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory could not be used.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried, as a verb: "create", "read".
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("no place for the Kubernetes binaries: set HOME or XDG_CACHE_HOME")]
    NoCacheDirectory,
    /// Something has to be built and there is no Go.
    #[error(
        "Go is needed to build {missing} and was not found: install Go {required} or newer (https://go.dev/dl), \
         or set KUBEBUILDER_ASSETS to a folder that holds the binaries"
    )]
    GoMissing {
        /// The binaries that would have been built.
        missing: String,
        /// The oldest Go that will do.
        required: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The Go that was found is too old and may not fetch a newer one.
    #[error("Go {required} or newer is needed to build {missing}, found: {found}")]
    GoTooOld {
        /// The binaries that would have been built.
        missing: String,
        /// The oldest Go that will do.
        required: &'static str,
        /// What `go env GOVERSION` said.
        found: String,
    },
    /// A build step ended badly.
    #[error("{step} failed ({status}); the whole output is in {}\n{tail}", log.display())]
    Build {
        /// The step, for a person.
        step: String,
        /// How the command ended.
        status: ExitStatus,
        /// Where its output is kept.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// Go did not tell where kwok's module stands.
    #[error("cannot find kwok's module: {reason}")]
    KwokModule {
        /// What Go answered instead.
        reason: String,
    },
    /// `KUBEBUILDER_ASSETS` names a folder without a binary that belongs there.
    #[error(
        "KUBEBUILDER_ASSETS is {} but there is no {name} in it: point it at a complete folder or unset it",
        folder.display()
    )]
    AssetMissing {
        /// The missing program.
        name: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// A key or certificate could not be made.
    #[error("cannot make the certificate of {subject}")]
    Certificate {
        /// Whose certificate.
        subject: String,
        /// The library's answer.
        source: rcgen::Error,
    },
    /// All ports of the range are taken.
    #[error("no free port between {first} and {last} on 127.0.0.1: stop clusters that are no longer needed")]
    NoFreePort {
        /// First port tried.
        first: u16,
        /// Last port tried.
        last: u16,
    },
    /// A program could not be started.
    #[error("cannot start {}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A signal could not be sent.
    #[error("cannot signal {part}")]
    Signal {
        /// To which part.
        part: Part,
        /// The system's answer.
        source: io::Error,
    },
    /// A part was asked to do something it can do only while it runs.
    #[error("{part} is not running")]
    NotRunning {
        /// Which part.
        part: Part,
    },
    /// A program beside the cluster did not do as it was told.
    #[error("the program beside the cluster did not end or take a signal; its output is in {}", log.display())]
    Companion {
        /// Its output.
        log: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A part was asked for that this cluster was started without.
    #[error("this cluster has no {part}: start it with Cluster::full()")]
    NoSuchPart {
        /// Which part.
        part: Part,
    },
    /// A part ended while it was being waited for.
    #[error("{part} ended ({status}); its log is {}\n{tail}", log.display())]
    PartExited {
        /// Which part.
        part: Part,
        /// How it ended.
        status: ExitStatus,
        /// Its whole log.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// Something did not become ready in time.
    #[error("{what} after {} s; logs are in {}", waited.as_secs(), logs.display())]
    NotReady {
        /// What was waited for, as an unfinished state: "the API server is not ready".
        what: String,
        /// For how long.
        waited: Duration,
        /// Where to look.
        logs: PathBuf,
    },
    /// kubectl refused or was refused.
    #[error("kubectl {arguments}: {stderr}")]
    Kubectl {
        /// Its arguments, joined.
        arguments: String,
        /// What it wrote to stderr.
        stderr: String,
    },
    /// A program answered something that is not the JSON it should be.
    #[error("{origin} is not the expected JSON")]
    Json {
        /// Where the text came from.
        origin: String,
        /// The parser's answer.
        source: serde_json::Error,
    },
    /// The audit log is shorter than it was at the mark.
    #[error("the audit log {} was rotated since the mark", path.display())]
    AuditRotated {
        /// The log.
        path: PathBuf,
    },
    /// A blocking step was cancelled by the runtime.
    #[error("the runtime shut down before {step} ended")]
    Cancelled {
        /// The step.
        step: &'static str,
        /// The runtime's answer.
        source: tokio::task::JoinError,
    },
}

impl Error {
    /// For `map_err`: an I/O error becomes one that says what was tried on which path.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

/// For clean-up whose failure changes nothing for the caller.
pub(crate) fn ignore<T>(result: io::Result<T>) {
    drop(result);
}

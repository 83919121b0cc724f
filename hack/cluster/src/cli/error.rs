//! What can go wrong beyond the library. Pure.

use std::{io, path::PathBuf};

/// Ends the program.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} is not empty and holds no cluster: nothing was touched, choose another --dir",
        dir.display()
    )]
    ForeignDirectory { dir: PathBuf },
    #[error("a cluster runs in {} already", dir.display())]
    AlreadyRunning { dir: PathBuf },
    #[error("the cluster in {} did not start:\n{log}", dir.display())]
    NotStarted { dir: PathBuf, log: String },
    #[error("the cluster in {} (process {pid}) does not stop", dir.display())]
    NotStopped { dir: PathBuf, pid: i32 },
    #[error("cannot run {program}")]
    Command { program: String, source: io::Error },
    #[error("cannot signal process {pid}")]
    Signal { pid: i32, source: io::Error },
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error("interrupted, everything was stopped")]
    Interrupted,
}

impl CliError {
    /// For `map_err`: an I/O error becomes one that says what was tried on which path.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }

    /// As shells have it: 127 for a command that is not there, 130 after an interruption.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Command { .. } => 127,
            Self::Interrupted => 130,
            Self::Cluster(_)
            | Self::Runtime(_)
            | Self::File { .. }
            | Self::ForeignDirectory { .. }
            | Self::AlreadyRunning { .. }
            | Self::NotStarted { .. }
            | Self::NotStopped { .. }
            | Self::Signal { .. }
            | Self::Signals(_) => 1,
        }
    }
}

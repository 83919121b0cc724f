//! Starts and stops the process's parts: flags, client, servers, election, controllers. I/O.
//!
//! Wires what the other modules offer and holds no logic of the domain. The election's decisions (`lease`) and the
//! command line (`flags`) are pure.

mod client;
mod fence;
mod flags;
#[cfg(test)]
mod flags_tests;
mod go_flags;
mod identity;
mod leader;
mod lease;
#[cfg(test)]
mod lease_tests;
mod platform_file;
mod reach;
mod run;
mod signals;
mod tasks;

use std::io;

use thiserror::Error;
use tokio::task::JoinError;

pub use client::ClientError;
pub use flags::{Flags, LogFlags, explain};
pub use leader::LeaderError;
pub use run::run;

use crate::controller::scope::ScopeError;
use crate::platform::PlatformError;
use crate::server::{BindAddress, BindError};
use crate::telemetry::MetricsError;

/// Why the manager could not start or had to stop.
#[derive(Debug, Error)]
pub enum ManagerError {
    /// The flags ask for metrics over HTTPS.
    #[error(
        "metrics over HTTPS are not available in this version: pass --metrics-secure=false to serve them on {address} \
         without encryption, or --metrics-bind-address=0 to switch them off"
    )]
    SecureMetrics {
        /// Where they were to be served.
        address: BindAddress,
    },
    /// No event loop.
    #[error("cannot set up the event loop")]
    Runtime(#[source] io::Error),
    /// No handler for SIGTERM and SIGINT.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// See [`ScopeError`].
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// See [`PlatformError`].
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// See [`MetricsError`].
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// See [`ClientError`].
    #[error(transparent)]
    Client(#[from] ClientError),
    /// See [`BindError`].
    #[error(transparent)]
    Bind(#[from] BindError),
    /// See [`LeaderError`].
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// A part ended although nobody had told it to.
    #[error("the {kind} {name} ended by itself")]
    Ended {
        /// What people call such a part.
        kind: &'static str,
        /// Which one.
        name: &'static str,
    },
    /// A part panicked.
    #[error("a {kind} broke down")]
    Broken {
        /// What people call such a part.
        kind: &'static str,
        /// The panic.
        source: JoinError,
    },
    /// A second signal arrived while the manager was stopping.
    #[error("stopped at once by a second signal ({signal})")]
    Impatient {
        /// Its name.
        signal: &'static str,
    },
}

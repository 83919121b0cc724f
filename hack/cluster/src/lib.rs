//! A real Kubernetes control plane on this machine, for tests and demos.
//!
//! The programs are built once from the Go modules pinned in `tools/go.mod` and cached outside the checkout
//! ([`Assets`]). A [`Cluster`] runs them on loopback ports in a directory of its own and ends them with itself,
//! even when its process is killed; several run side by side.
//!
//! ```no_run
//! # async fn example() -> Result<(), cluster::Error> {
//! let cluster = cluster::Cluster::full().await?;
//! let namespace = cluster.namespace("demo").await?;
//! let mark = cluster.audit_mark()?;
//! cluster.kubectl(["-n", &namespace, "create", "deployment", "web", "--image=nginx"]).await?;
//! let creates = cluster.audit_since(mark)?.verb("create").resource("deployments").events();
//! assert_eq!(creates.len(), 1);
//! # Ok(()) }
//! ```
//!
//! Pods run on fake nodes that kwok plays: they are scheduled, get addresses and become ready, but no container
//! runs. A node with a real kubelet would join as one more part beside kwok, which manages only the nodes that
//! carry its annotation.

mod assets;
mod audit;
mod certs;
mod cluster;
mod companion;
mod error;
mod failure;
mod faults;
mod identity;
mod kubectl;
mod layout;
mod nodes;
mod options;
mod parts;
mod ports;
mod process;
mod progress;
mod shared;
mod start;

pub use assets::{Assets, Controllers, Tier};
pub use audit::{AuditEvent, AuditEvents, AuditMark};
pub use cluster::Cluster;
pub use companion::Companion;
pub use error::{Error, Result};
pub use failure::Failure;
pub use identity::Identity;
pub use kubectl::Kubectl;
pub use options::Options;
pub use parts::Part;
pub use shared::Shared;

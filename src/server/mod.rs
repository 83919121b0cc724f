//! HTTP for people and machines: health probes and metrics.
//!
//! Knows nothing of controllers: it reads [`Gates`] and [`Metrics`](crate::telemetry::Metrics). Listens on the addresses
//! it is given and talks HTTP/1.1 alone.

mod address;
#[cfg(test)]
mod address_tests;
mod gates;
mod health;
#[cfg(test)]
mod health_tests;
mod listener;
mod metrics;
#[cfg(test)]
mod server_tests;

pub use address::{BindAddress, BindAddressError};
pub use gates::{Gate, Gates};
pub use health::health_routes;
#[cfg(test)]
pub(crate) use health::verbose_readiness;
pub use listener::{BindError, Listener};
pub use metrics::metrics_routes;

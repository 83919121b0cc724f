//! Serves probes and metrics.
mod gates;
pub use gates::{Gate, Gates};

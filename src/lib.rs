//! `pe-app`: a Kubernetes operator that makes production-grade workloads from short `EGApp` resources.

pub mod controller;
pub mod dns;
pub mod hash;
pub mod manager;
pub mod platform;
pub mod quantity;
pub mod server;
pub mod telemetry;

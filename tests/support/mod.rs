//! What tests on a real control plane share: the installed operator, apps in namespaces of their own, and patience.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "every test binary uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

pub mod app;
pub mod http;
pub mod mount;
pub mod operator;
pub mod policy;
pub mod setting;
pub mod watch;

use std::path::PathBuf;
use std::time::Duration;

use cluster::Options;
use tokio::time::Instant;

pub use app::App;
pub use operator::Operator;

/// Long enough for a busy machine; nothing that works needs a tenth of it.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A path in the project.
pub fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A control plane that has known the CRD from its start.
pub fn full_with_crd() -> Options {
    Options::full().manifest(project("config/crd/bases"))
}

/// Waits until `probe` gives a value, and fails with its last complaint.
pub async fn eventually<T>(what: &str, mut probe: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(complaint) if Instant::now() > deadline => panic!("waited in vain: {what}: {complaint}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// `Ok` if it holds, else the complaint: for the end of a probe.
pub fn holds(condition: bool, complaint: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(complaint()) }
}

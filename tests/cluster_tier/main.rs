//! EGApps on a real control plane with the built manager: one cluster and one operator for all tests here, and a
//! namespace for each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod children;
mod conflicts;
mod deletion;
mod drift;
mod leaves;
mod lifecycle;
mod repair;
mod samples;
mod spread;
mod status;
mod traffic;

use cluster::Cluster;
use support::operator::SHIPPED;
use support::setting::Setting;

static SETTING: Setting = Setting::new(SHIPPED);

/// The control plane, with the operator at work on it.
async fn cluster() -> &'static Cluster {
    SETTING.cluster().await
}

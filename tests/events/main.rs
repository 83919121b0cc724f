//! What people are told in events, on a real control plane: each change once, in words, and never at the cost of work.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its setting fails"
)]
#![allow(clippy::indexing_slicing, reason = "a missing field of JSON reads as null")]

#[path = "../support/mod.rs"]
mod support;

mod kinds;
mod limits;

use cluster::Cluster;
use support::operator::SHIPPED;
use support::setting::Setting;

static SETTING: Setting = Setting::new(SHIPPED);

/// The control plane, with the operator at work on it.
async fn cluster() -> &'static Cluster {
    SETTING.cluster().await
}

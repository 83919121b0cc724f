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
mod status;

use cluster::{Cluster, Shared};
use support::{Operator, full_with_crd, operator};
use tokio::sync::OnceCell;

static CLUSTER: Shared = Shared::new(full_with_crd);
static OPERATOR: OnceCell<Operator> = OnceCell::const_new();

/// The control plane, with the operator at work on it.
async fn cluster() -> &'static Cluster {
    let cluster = CLUSTER.get().await.unwrap();
    OPERATOR
        .get_or_init(async || {
            operator::install(cluster).await;
            let operator = Operator::start(cluster, "manager").await;
            operator.leading().await;
            operator
        })
        .await;
    cluster
}

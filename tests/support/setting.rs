//! One control plane with the operator at work on it, for all tests of a binary.

use cluster::{Cluster, Shared};
use tokio::sync::OnceCell;

use super::operator::install;
use super::{Operator, full_with_crd};

/// Started by whoever asks first.
pub struct Setting {
    cluster: Shared,
    operator: OnceCell<Operator>,
    platform: &'static str,
}

impl Setting {
    /// With a platform file of the project.
    pub const fn new(platform: &'static str) -> Self {
        Self { cluster: Shared::new(full_with_crd), operator: OnceCell::const_new(), platform }
    }

    /// The control plane, with the operator at work on it.
    pub async fn cluster(&'static self) -> &'static Cluster {
        let cluster = self.cluster.get().await.unwrap();
        self.operator
            .get_or_init(async || {
                install(cluster).await;
                let operator = Operator::start_on(cluster, "manager", self.platform).await;
                operator.leading().await;
                operator
            })
            .await;
        cluster
    }
}

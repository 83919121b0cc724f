//! What kind of cluster is wanted. Pure, but for [`Options::start`].

use std::path::PathBuf;

use crate::{Cluster, Result, Tier};

/// Requests per second the controllers and the scheduler may send. Their own defaults (20 and 50) would be what
/// a test of an operator measures.
const DEFAULT_CLIENT_QPS: u32 = 2_000;

/// Describes a cluster before it is started.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) tier: Tier,
    pub(crate) manifests: Vec<PathBuf>,
    pub(crate) client_qps: u32,
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) directory: Option<PathBuf>,
}

impl Options {
    /// etcd and kube-apiserver. Without the controllers no owner is followed, no namespace ends, and the cluster
    /// roles `view`, `edit` and `admin`, which are put together from others, are empty.
    #[must_use]
    pub fn api() -> Self {
        Self {
            tier: Tier::Api,
            manifests: Vec::new(),
            client_qps: DEFAULT_CLIENT_QPS,
            api_server_flags: Vec::new(),
            directory: None,
        }
    }

    /// The controllers, the scheduler and three fake nodes as well.
    #[must_use]
    pub fn full() -> Self {
        Self { tier: Tier::Full, ..Self::api() }
    }

    /// A file or folder to apply before the controllers start. For CRDs: the garbage collector looks for new
    /// kinds at its start and then every 30 s, so a cascading delete of a later kind takes that long.
    #[must_use]
    pub fn manifest(mut self, path: impl Into<PathBuf>) -> Self {
        self.manifests.push(path.into());
        self
    }

    /// Requests per second (and burst) of each client of the controller manager and the scheduler; 2000 unless
    /// set. Kubernetes' defaults are 20 and 50.
    #[must_use]
    pub fn client_qps(mut self, qps: u32) -> Self {
        self.client_qps = qps;
        self
    }

    /// One more flag of kube-apiserver, as in `--v=6`. A repeated flag overrides the one given by default.
    #[must_use]
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server_flags.push(flag.into());
        self
    }

    /// A directory for everything the cluster writes, which is then left to the caller. Unless set, a temporary
    /// one is used and removed at the end, or kept and named when a test panics.
    #[must_use]
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// Starts the cluster and waits until it can be used.
    ///
    /// # Errors
    /// The programs can be neither found nor built, one of them ends, or a minute is not enough.
    pub async fn start(self) -> Result<Cluster> {
        crate::start::start(self).await
    }
}

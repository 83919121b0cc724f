//! Names of the files in the directory of one cluster. Pure.

use std::path::{Path, PathBuf};

use crate::Part;

/// Its existence in the directory makes that the logs are kept.
pub(crate) const KEEP_MARKER: &str = "keep";
/// etcd's data, large and of no use to a reader.
pub(crate) const ETCD_DATA: &str = "etcd";

/// The directory of one cluster and the meaning of the names in it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Keys and certificates.
    pub(crate) fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.pki().join("ca.crt")
    }

    pub(crate) fn ca_key(&self) -> PathBuf {
        self.pki().join("ca.key")
    }

    pub(crate) fn service_account_key(&self) -> PathBuf {
        self.pki().join("service-account.key")
    }

    pub(crate) fn service_account_public_key(&self) -> PathBuf {
        self.pki().join("service-account.pub")
    }

    /// Certificate and key of a server or a user.
    pub(crate) fn key_pair(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.pki().join(format!("{name}.crt")), self.pki().join(format!("{name}.key")))
    }

    pub(crate) fn kubeconfig(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.kubeconfig"))
    }

    pub(crate) fn etcd_data(&self) -> PathBuf {
        self.root.join(ETCD_DATA)
    }

    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.root.join("audit-policy.json")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    pub(crate) fn scheduler_config(&self) -> PathBuf {
        self.root.join("kube-scheduler.json")
    }

    /// kwok's stages for pods that fail, beside those of its own.
    pub(crate) fn failure_stages(&self) -> PathBuf {
        self.root.join("kwok-failures.json")
    }

    /// kubectl's discovery cache: its default place is keyed by port, and ports are used again.
    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.root.join("kubectl-cache")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    pub(crate) fn log(&self, part: Part) -> PathBuf {
        self.logs().join(format!("{part}.log"))
    }

    pub(crate) fn keep_marker(&self) -> PathBuf {
        self.root.join(KEEP_MARKER)
    }
}

//! Where the programs of the control plane are. Reads the environment and the disk; builds what is missing
//! through [`build`].

mod build;
mod pins;

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// Name of the variable by which `setup-envtest` users name a folder of ready binaries.
const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";

/// How much of a control plane is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// etcd and kube-apiserver: objects are stored and validated, nothing acts on them.
    Api,
    /// The controllers, the scheduler and fake nodes as well: Deployments get running pods.
    Full,
}

/// The programs a cluster runs.
#[derive(Clone, Debug)]
pub struct Assets {
    /// The store.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The command line client.
    pub kubectl: PathBuf,
    /// What [`Tier::Full`] runs beyond that.
    pub controllers: Option<Controllers>,
}

/// The programs that act on stored objects, and what kwok needs to play nodes.
#[derive(Clone, Debug)]
pub struct Controllers {
    /// The built-in controllers: of Deployments, garbage collection, service accounts and the rest.
    pub kube_controller_manager: PathBuf,
    /// Puts pods on nodes.
    pub kube_scheduler: PathBuf,
    /// Plays nodes and their pods.
    pub kwok: PathBuf,
    /// kwok's own `Stage` documents for nodes and pods that work.
    pub kwok_stages: PathBuf,
}

/// A file in the cache, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asset {
    Etcd,
    KubeApiserver,
    Kubectl,
    KubeControllerManager,
    KubeScheduler,
    Kwok,
    KwokStages,
}

impl Asset {
    const API: [Self; 3] = [Self::Etcd, Self::KubeApiserver, Self::Kubectl];
    const CONTROLLERS: [Self; 4] =
        [Self::KubeControllerManager, Self::KubeScheduler, Self::Kwok, Self::KwokStages];

    const fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::Kubectl => "kubectl",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kwok => "kwok",
            Self::KwokStages => "kwok-stages.yaml",
        }
    }
}

impl Assets {
    /// Finds the programs of a tier: etcd, kube-apiserver and kubectl in `KUBEBUILDER_ASSETS` where that is set,
    /// all others in the cache, building what is not there yet.
    ///
    /// Blocks, for minutes when something has to be built, and says so on stderr.
    ///
    /// # Errors
    /// `KUBEBUILDER_ASSETS` is incomplete, there is no suitable Go, or a build step fails.
    pub fn find(tier: Tier) -> Result<Self> {
        let given = env::var_os(KUBEBUILDER_ASSETS).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self::find_in(tier, given.as_deref())
    }

    fn find_in(tier: Tier, given: Option<&Path>) -> Result<Self> {
        if let Some(folder) = given {
            require_all(folder, &Asset::API)?;
        }
        let wanted: Vec<Asset> = match (tier, given.is_some()) {
            (Tier::Api, true) => Vec::new(),
            (Tier::Api, false) => Asset::API.to_vec(),
            (Tier::Full, true) => Asset::CONTROLLERS.to_vec(),
            (Tier::Full, false) => [&Asset::API[..], &Asset::CONTROLLERS].concat(),
        };
        let cache = if wanted.is_empty() { PathBuf::new() } else { cache_directory()? };
        build::ensure(&cache, &wanted)?;

        let api = |asset: Asset| given.unwrap_or(&cache).join(asset.file_name());
        let controllers = (tier == Tier::Full).then(|| Controllers {
            kube_controller_manager: cache.join(Asset::KubeControllerManager.file_name()),
            kube_scheduler: cache.join(Asset::KubeScheduler.file_name()),
            kwok: cache.join(Asset::Kwok.file_name()),
            kwok_stages: cache.join(Asset::KwokStages.file_name()),
        });
        Ok(Self {
            etcd: api(Asset::Etcd),
            kube_apiserver: api(Asset::KubeApiserver),
            kubectl: api(Asset::Kubectl),
            controllers,
        })
    }

    /// The folder that holds etcd, kube-apiserver and kubectl.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.kubectl.parent().unwrap_or(Path::new("."))
    }

    /// The version of Kubernetes that is built here, as in `v1.37.2`.
    #[must_use]
    pub fn pinned_version() -> &'static str {
        pins::kubernetes()
    }
}

fn require_all(folder: &Path, assets: &[Asset]) -> Result<()> {
    match assets.iter().find(|asset| !folder.join(asset.file_name()).is_file()) {
        None => Ok(()),
        Some(missing) => Err(Error::AssetMissing { name: missing.file_name(), folder: folder.to_path_buf() }),
    }
}

/// `${XDG_CACHE_HOME:-~/.cache}/pe-app/kubernetes/<version>-<hash of go.sum>`: the same for every checkout that
/// pins the same modules.
fn cache_directory() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let root = absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .ok_or(Error::NoCacheDirectory)?;
    Ok(root.join("pe-app/kubernetes").join(pins::cache_key()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn kubebuilder_assets_are_taken_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        for asset in Asset::API {
            fs::write(folder.path().join(asset.file_name()), "").unwrap();
        }
        let assets = Assets::find_in(Tier::Api, Some(folder.path())).unwrap();
        assert_eq!(assets.kube_apiserver, folder.path().join("kube-apiserver"));
        assert_eq!(assets.folder(), folder.path());
        assert!(assets.controllers.is_none());
    }

    #[test]
    fn incomplete_kubebuilder_assets_name_the_missing_program() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("etcd"), "").unwrap();
        let error = Assets::find_in(Tier::Api, Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains("there is no kube-apiserver in it"), "{error}");
    }
}

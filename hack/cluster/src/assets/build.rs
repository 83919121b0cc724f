//! Builds what the cache lacks with `go build`: under a lock, since several test processes start at once, and
//! into a temporary folder, so that a name in the cache always stands for a whole file. Runs Go, writes the cache.

use std::{
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use super::{Asset, pins};
use crate::{Error, Result, error, process, progress};

/// kwok's `Stage` documents in its module: nodes that become and stay ready, pods that run, complete and go.
const STAGES: [&str; 5] = [
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
];

/// Makes every asset of `wanted` exist in `cache`.
pub(super) fn ensure(cache: &Path, wanted: &[Asset]) -> Result<()> {
    if missing(cache, wanted).is_empty() {
        return Ok(());
    }
    fs::create_dir_all(cache).map_err(Error::file("create", cache))?;
    let _lock = lock(&cache.join(".lock"))?;
    // Another process may have built them while this one waited.
    let missing = missing(cache, wanted);
    if missing.is_empty() { Ok(()) } else { build(cache, &missing) }
}

fn missing(cache: &Path, wanted: &[Asset]) -> Vec<Asset> {
    wanted.iter().copied().filter(|asset| !cache.join(asset.file_name()).is_file()).collect()
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(Error::file("create", path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            progress::say("another process is building the Kubernetes binaries, waiting for it");
        }
        Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
    }
    file.lock().map_err(Error::file("lock", path))?;
    Ok(file)
}

fn build(cache: &Path, missing: &[Asset]) -> Result<()> {
    let started = Instant::now();
    let workshop = Workshop::open(cache, missing)?;
    announce(cache, missing);
    let kubernetes: Vec<&str> = missing.iter().filter_map(|asset| go_package(*asset)).collect();
    if !kubernetes.is_empty() {
        let flags = pins::linker_flags();
        let arguments = [&["-ldflags", &flags, "-o", "out/"], &kubernetes[..]].concat();
        workshop.go_build("building the Kubernetes programs", &arguments)?;
    }
    if missing.contains(&Asset::Etcd) {
        // Its package is called `server`.
        let arguments = ["-ldflags", "-s -w", "-o", "out/etcd", "go.etcd.io/etcd/server/v3"];
        workshop.go_build("building etcd", &arguments)?;
    }
    if missing.contains(&Asset::KwokStages) {
        workshop.collect_stages()?;
    }
    workshop.install(missing)?;
    progress::say(&format!("made in {}; it will not be made again", progress::elapsed(started.elapsed())));
    Ok(())
}

fn announce(cache: &Path, missing: &[Asset]) {
    progress::say(&format!("Kubernetes {}: making {}", pins::kubernetes(), names(missing)));
    progress::say(&format!("  once, from pinned Go modules, into {}", cache.display()));
    if missing.iter().any(|asset| *asset != Asset::KwokStages) {
        progress::say("  this takes 5 to 10 minutes on 2 cores, half a minute with a warm Go build cache");
    }
}

fn names(assets: &[Asset]) -> String {
    assets.iter().map(|asset| asset.file_name()).collect::<Vec<_>>().join(", ")
}

/// The package to build with Kubernetes' version stamped in; etcd and the stages are made otherwise.
const fn go_package(asset: Asset) -> Option<&'static str> {
    match asset {
        Asset::KubeApiserver => Some("k8s.io/kubernetes/cmd/kube-apiserver"),
        Asset::Kubectl => Some("k8s.io/kubernetes/cmd/kubectl"),
        Asset::KubeControllerManager => Some("k8s.io/kubernetes/cmd/kube-controller-manager"),
        Asset::KubeScheduler => Some("k8s.io/kubernetes/cmd/kube-scheduler"),
        Asset::Kwok => Some("sigs.k8s.io/kwok/cmd/kwok"),
        Asset::Etcd | Asset::KwokStages => None,
    }
}

/// A folder in the cache with the Go module in it, removed when done.
struct Workshop<'a> {
    cache: &'a Path,
    folder: PathBuf,
    log: PathBuf,
}

impl<'a> Workshop<'a> {
    fn open(cache: &'a Path, missing: &[Asset]) -> Result<Self> {
        let folder = cache.join(".build");
        // Only the holder of the lock gets here: what is there was left by a build that was killed.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::file("remove", folder)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let workshop = Self { cache, log: cache.join("build.log"), folder };
        let out = workshop.out();
        fs::create_dir_all(&out).map_err(Error::file("create", &out))?;
        for (name, content) in [("go.mod", pins::GO_MOD), ("go.sum", pins::GO_SUM)] {
            let path = workshop.folder.join(name);
            fs::write(&path, content).map_err(Error::file("write", &path))?;
        }
        workshop.check_go(missing)?;
        Ok(workshop)
    }

    fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    fn go(&self) -> Command {
        let mut command = Command::new("go");
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env("CGO_ENABLED", "0")
            .env("GO111MODULE", "on")
            .env("GOFLAGS", "-mod=readonly")
            .env("GOWORK", "off")
            .env_remove("GOOS")
            .env_remove("GOARCH");
        command
    }

    fn check_go(&self, missing: &[Asset]) -> Result<()> {
        let (missing, required) = (names(missing), pins::GO_REQUIRED);
        let output = match self.go().args(["env", "GOVERSION"]).output() {
            Ok(output) => output,
            Err(source) => return Err(Error::GoMissing { missing, required, source }),
        };
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() && is_recent_enough(&found, required) {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::GoTooOld { missing, required, found: if stderr.is_empty() { found } else { stderr } })
    }

    fn go_build(&self, step: &str, arguments: &[&str]) -> Result<()> {
        let started = Instant::now();
        progress::say(&format!("{step} …"));
        let log = File::create(&self.log).map_err(Error::file("create", &self.log))?;
        let copy = log.try_clone().map_err(Error::file("open", &self.log))?;
        let mut command = self.go();
        command.args(["build", "-trimpath"]).args(arguments).stdout(log).stderr(copy);
        let status = progress::with_heartbeat(step, || command.status())
            .map_err(|source| Error::Spawn { program: "go".into(), source })?;
        if !status.success() {
            let tail = process::tail(&self.log);
            return Err(Error::Build { step: step.to_owned(), status, log: self.log.clone(), tail });
        }
        progress::say(&format!("{step}: {}", progress::elapsed(started.elapsed())));
        Ok(())
    }

    fn collect_stages(&self) -> Result<()> {
        let stages = self.kwok_module()?.join("kustomize/stage");
        let mut documents = Vec::with_capacity(STAGES.len());
        for name in STAGES {
            let path = stages.join(name);
            documents.push(fs::read_to_string(&path).map_err(Error::file("read", &path))?);
        }
        let target = self.out().join(Asset::KwokStages.file_name());
        fs::write(&target, documents.join("---\n")).map_err(Error::file("write", &target))
    }

    fn kwok_module(&self) -> Result<PathBuf> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Module {
            dir: Option<PathBuf>,
            error: Option<String>,
        }
        let module = format!("sigs.k8s.io/kwok@{}", pins::kwok());
        let output = self
            .go()
            .args(["mod", "download", "-json", &module])
            .output()
            .map_err(|source| Error::Spawn { program: "go".into(), source })?;
        let answer: Module = serde_json::from_slice(&output.stdout)
            .map_err(|source| Error::Json { origin: format!("go mod download {module}"), source })?;
        answer.dir.ok_or_else(|| Error::KwokModule { reason: answer.error.unwrap_or_default() })
    }

    fn install(&self, assets: &[Asset]) -> Result<()> {
        for asset in assets {
            let target = self.cache.join(asset.file_name());
            fs::rename(self.out().join(asset.file_name()), &target).map_err(Error::file("write", &target))?;
        }
        Ok(())
    }
}

impl Drop for Workshop<'_> {
    fn drop(&mut self) {
        // The next build removes what is left.
        error::ignore(fs::remove_dir_all(&self.folder));
    }
}

/// Compares `go1.26.8` with `1.26`. Unreadable versions (a development Go) are trusted.
fn is_recent_enough(found: &str, required: &str) -> bool {
    let parse = |text: &str| -> Option<(u32, u32)> {
        let (major, rest) = text.trim_start_matches("go").split_once('.')?;
        let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    match (parse(found), parse(required)) {
        (Some(found), Some(required)) => found >= required,
        (None, _) | (_, None) => !found.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions_are_compared_as_numbers() {
        assert!(is_recent_enough("go1.26.8", "1.26"));
        assert!(is_recent_enough("go1.27rc1", "1.26"));
        assert!(!is_recent_enough("go1.9.7", "1.26"));
        assert!(!is_recent_enough("", "1.26"));
    }

    #[test]
    fn nothing_is_built_when_nothing_is_missing() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("kubectl"), "").unwrap();
        ensure(cache.path(), &[Asset::Kubectl]).unwrap();
        assert!(!cache.path().join(".lock").exists(), "a complete cache may be read-only");
    }
}

//! A running control plane and what a test asks of it. Runs kubectl, reads the audit log.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt,
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::{
    Assets, AuditEvents, AuditMark, Error, Identity, Kubectl, Options, Part, Result, Tier,
    certs::Authority,
    error,
    identity::{self, Credentials},
    layout::Layout,
    parts::PortNumbers,
    ports::Port,
    process::{Group, Leftovers, Process},
    progress,
};

/// A control plane of its own: processes, ports, certificates and a directory, all gone when it is dropped.
///
/// It hangs on no async runtime: tests with a runtime each may share one.
pub struct Cluster {
    pub(crate) tier: Tier,
    pub(crate) assets: Assets,
    pub(crate) layout: Layout,
    pub(crate) ports: Ports,
    pub(crate) authority: Authority,
    pub(crate) leftovers: Leftovers,
    pub(crate) identities: AtomicUsize,
    pub(crate) state: Mutex<State>,
}

/// The reserved ports.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) etcd: Port,
    pub(crate) etcd_peer: Port,
    pub(crate) api_server: Port,
}

impl Ports {
    pub(crate) fn numbers(&self) -> PortNumbers {
        PortNumbers {
            etcd: self.etcd.number(),
            etcd_peer: self.etcd_peer.number(),
            api_server: self.api_server.number(),
        }
    }
}

/// The processes.
pub(crate) struct State {
    pub(crate) group: Group,
    pub(crate) processes: BTreeMap<Part, Process>,
    pub(crate) is_down: bool,
}

impl State {
    /// Starts a part unless it runs.
    pub(crate) fn start(&mut self, part: Part) -> Result<()> {
        let process = self.processes.get_mut(&part).ok_or(Error::NoSuchPart { part })?;
        process.start(&self.group)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cluster")
            .field("tier", &self.tier)
            .field("directory", &self.layout.root())
            .field("server", &self.server())
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Starts etcd and kube-apiserver: objects are stored and validated, nothing acts on them.
    ///
    /// # Errors
    /// As [`Options::start`].
    pub async fn api() -> Result<Self> {
        Options::api().start().await
    }

    /// Starts a control plane in which Deployments get running pods.
    ///
    /// # Errors
    /// As [`Options::start`].
    pub async fn full() -> Result<Self> {
        Options::full().start().await
    }

    /// URL of the API server.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api_server.number())
    }

    /// File with the certificate of the authority that signed the API server's.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.layout.ca()
    }

    /// Kubeconfig of a user who may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.layout.kubeconfig("admin")
    }

    /// Directory of everything the cluster writes.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.layout.root()
    }

    /// Directory with a log for each part and the audit log.
    #[must_use]
    pub fn logs_dir(&self) -> PathBuf {
        self.layout.logs()
    }

    /// The programs it runs.
    #[must_use]
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Makes a kubeconfig for someone else. A service account must exist; its token lasts a day.
    ///
    /// # Errors
    /// The API server gives no token, or a file cannot be written.
    pub async fn kubeconfig_for(&self, identity: &Identity) -> Result<PathBuf> {
        let stem = identity::file_stem(identity, self.identities.fetch_add(1, Ordering::Relaxed));
        let credentials = match identity {
            Identity::User { name, group } => self.certificate_for(name, group.as_deref(), &stem)?,
            Identity::ServiceAccount { namespace, name } => {
                let arguments = ["create", "token", name, "-n", namespace, "--duration=24h"];
                Credentials::Token(self.kubectl(arguments).await?.trim().to_owned())
            }
        };
        self.write_kubeconfig(&stem, &credentials)
    }

    pub(crate) fn certificate_for(&self, user: &str, group: Option<&str>, stem: &str) -> Result<Credentials> {
        let (certificate, key) = self.layout.key_pair(stem);
        self.authority.issue_client(user, group, (certificate.clone(), key.clone()))?;
        Ok(Credentials::Certificate { certificate, key })
    }

    pub(crate) fn write_kubeconfig(&self, stem: &str, credentials: &Credentials) -> Result<PathBuf> {
        let path = self.layout.kubeconfig(stem);
        identity::write_kubeconfig(&path, &self.server(), &self.layout.ca(), credentials)?;
        Ok(path)
    }

    /// kubectl as the administrator.
    #[must_use]
    pub fn admin(&self) -> Kubectl {
        self.kubectl_with(self.kubeconfig())
    }

    /// kubectl as someone else.
    ///
    /// # Errors
    /// As [`Cluster::kubeconfig_for`].
    pub async fn kubectl_for(&self, identity: &Identity) -> Result<Kubectl> {
        Ok(self.kubectl_with(self.kubeconfig_for(identity).await?))
    }

    fn kubectl_with(&self, kubeconfig: PathBuf) -> Kubectl {
        Kubectl { program: self.assets.kubectl.clone(), kubeconfig, cache: self.layout.kubectl_cache() }
    }

    /// Runs kubectl as the administrator and returns its stdout.
    ///
    /// # Errors
    /// As [`Kubectl::run`].
    pub async fn kubectl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String> {
        self.admin().run(arguments).await
    }

    /// Runs kubectl as the administrator with `-o json`.
    ///
    /// # Errors
    /// As [`Kubectl::json`].
    pub async fn kubectl_json<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Value> {
        self.admin().json(arguments).await
    }

    /// `kubectl apply --server-side` of a manifest, YAML or JSON.
    ///
    /// # Errors
    /// As [`Kubectl::run`].
    pub async fn apply(&self, manifest: &str) -> Result<String> {
        self.admin().run_with_input(["apply", "--server-side", "-f", "-"], manifest).await
    }

    /// Creates a namespace whose name starts with `prefix` and is used by nobody else, and in which pods can be
    /// created. Without the controllers it cannot be deleted again: nothing would finish the deletion.
    ///
    /// # Errors
    /// The API server refuses the name, or no service account appears.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let manifest = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": format!("{prefix}-")},
        });
        let arguments = ["create", "-f", "-", "-o", "jsonpath={.metadata.name}"];
        let name = self.admin().run_with_input(arguments, &manifest.to_string()).await?;
        self.ensure_default_service_account(&name).await?;
        Ok(name)
    }

    /// The present end of the audit log. Every request answered before is before it.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn audit_mark(&self) -> Result<AuditMark> {
        let path = self.layout.audit_log();
        let metadata = fs::metadata(&path).map_err(Error::file("read", path))?;
        Ok(AuditMark(metadata.len()))
    }

    /// The requests after the mark.
    ///
    /// # Errors
    /// The log cannot be read, or was rotated (at 16 GB).
    pub fn audit_since(&self, mark: AuditMark) -> Result<AuditEvents> {
        let path = self.layout.audit_log();
        let mut file = File::open(&path).map_err(Error::file("open", &path))?;
        let length = file.metadata().map_err(Error::file("read", &path))?.len();
        if length < mark.0 {
            return Err(Error::AuditRotated { path });
        }
        let mut text = String::new();
        file.seek(SeekFrom::Start(mark.0))
            .and_then(|_| file.read_to_string(&mut text))
            .map_err(Error::file("read", &path))?;
        AuditEvents::parse(&text)
    }

    /// All requests since the start.
    ///
    /// # Errors
    /// As [`Cluster::audit_since`].
    pub fn audit(&self) -> Result<AuditEvents> {
        self.audit_since(AuditMark(0))
    }

    /// Leaves the logs and kubeconfigs in place when the cluster ends.
    pub fn keep_directory(&self) {
        // Without the marker the logs are lost, which is no reason to fail a test.
        drop(File::create(self.layout.keep_marker()));
    }

    /// Ends all processes and removes the directory, unless it was given by the caller. Dropping the cluster does
    /// the same, without telling whether it worked.
    ///
    /// # Errors
    /// The directory cannot be removed.
    pub async fn shutdown(self) -> Result<()> {
        crate::start::blocking("the shutdown", move || self.end()).await
    }

    fn end(&self) -> Result<()> {
        let mut state = self.state();
        if state.is_down {
            return Ok(());
        }
        state.is_down = true;
        state.group.kill();
        for process in state.processes.values_mut() {
            process.kill()?;
        }
        drop(state);
        self.clean_up()
    }

    fn clean_up(&self) -> Result<()> {
        let root = self.layout.root();
        match self.leftovers {
            Leftovers::Keep => return Ok(()),
            Leftovers::Remove if !self.layout.keep_marker().exists() => {
                return fs::remove_dir_all(root).map_err(Error::file("remove", root));
            }
            Leftovers::Remove => {}
        }
        progress::say(&format!("the logs are kept in {}", self.logs_dir().display()));
        // Missing where etcd never started.
        error::ignore(fs::remove_dir_all(self.layout.etcd_data()));
        Ok(())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A panic in another test leaves the processes as they are.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            self.keep_directory();
        }
        if let Err(error) = self.end() {
            progress::say(&format!("while ending: {error}"));
        }
    }
}

//! From options to a cluster that can be used: programs, directory, certificates, processes, readiness.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, DirBuilder},
    io::ErrorKind,
    net::Ipv4Addr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{Mutex, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{net::TcpStream, task, time};

use crate::{
    Assets, Cluster, Error, Options, Part, Result, Tier,
    certs::Authority,
    cluster::{Ports, State},
    failure,
    layout::Layout,
    nodes,
    parts::{self, CONTROLLER_MANAGER_USER, KWOK_USER, SCHEDULER_USER},
    ports::Port,
    process::{Group, Leftovers, Process, Program},
};

const READY_WITHIN: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);

/// Starts a cluster. What it wrote is kept when that fails, since the error names the logs.
pub(crate) async fn start(options: Options) -> Result<Cluster> {
    let (cluster, options) = blocking("the preparation", move || {
        let assets = Assets::find(options.tier)?;
        Ok((Cluster::prepare(assets, &options)?, options))
    })
    .await?;
    match cluster.bring_up(&options.manifests).await {
        Ok(()) => Ok(cluster),
        Err(error) => {
            cluster.keep_directory();
            Err(error)
        }
    }
}

/// Runs blocking work beside the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    step: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    task::spawn_blocking(work).await.map_err(|source| Error::Cancelled { step, source })?
}

impl Cluster {
    /// Writes all that the processes read; starts none but the guard.
    fn prepare(assets: Assets, options: &Options) -> Result<Self> {
        let (layout, leftovers) = open_directory(options.directory.as_deref())?;
        let ports =
            Ports { etcd: Port::reserve()?, etcd_peer: Port::reserve()?, api_server: Port::reserve()? };
        let authority = Authority::create(&layout)?;
        write_json(&layout.audit_policy(), &parts::audit_policy())?;
        write_json(&layout.scheduler_config(), &parts::scheduler_config(&layout, options))?;
        let failures = layout.failure_stages();
        fs::write(&failures, failure::documents()).map_err(Error::file("write", failures))?;
        let processes = programs(&assets, &layout, &ports, options)
            .into_iter()
            .map(|program| (program.part, Process::new(program)))
            .collect::<BTreeMap<_, _>>();
        let group = Group::start(layout.root(), leftovers)?;
        let cluster = Self {
            tier: options.tier,
            assets,
            layout,
            ports,
            authority,
            leftovers,
            identities: AtomicUsize::new(0),
            state: Mutex::new(State { group, processes, is_down: false }),
        };
        cluster.write_own_kubeconfigs()?;
        Ok(cluster)
    }

    fn write_own_kubeconfigs(&self) -> Result<()> {
        let masters = Some("system:masters");
        let users = [
            ("admin".to_owned(), "admin", masters),
            (Part::ControllerManager.to_string(), CONTROLLER_MANAGER_USER, None),
            (Part::Scheduler.to_string(), SCHEDULER_USER, None),
            (Part::Kwok.to_string(), KWOK_USER, masters),
        ];
        for (stem, user, group) in users {
            let credentials = self.certificate_for(user, group, &stem)?;
            self.write_kubeconfig(&stem, &credentials)?;
        }
        Ok(())
    }

    async fn bring_up(&self, manifests: &[PathBuf]) -> Result<()> {
        self.start(Part::Etcd).await?;
        self.start(Part::ApiServer).await?;
        self.wait_for("the default namespace does not exist", async || {
            self.kubectl(["get", "namespace", "default"]).await.is_ok()
        })
        .await?;
        for manifest in manifests {
            self.apply_path(manifest).await?;
        }
        if self.tier == Tier::Full {
            self.bring_up_controllers().await?;
        }
        self.ensure_default_service_account("default").await
    }

    async fn bring_up_controllers(&self) -> Result<()> {
        self.apply(&nodes::manifest()).await?;
        for part in [Part::ControllerManager, Part::Scheduler, Part::Kwok] {
            self.start(part).await?;
        }
        self.wait_for("the nodes are not ready", async || {
            self.kubectl_json(["get", "nodes"]).await.is_ok_and(|list| nodes::are_ready(&list))
        })
        .await
    }

    async fn apply_path(&self, path: &Path) -> Result<()> {
        let kind = if path.join("kustomization.yaml").is_file() { "-k" } else { "-f" };
        let arguments = ["apply".as_ref(), "--server-side".as_ref(), kind.as_ref(), path.as_os_str()];
        self.kubectl(arguments).await?;
        let crds = self.kubectl(["get", "customresourcedefinitions", "-o", "name"]).await?;
        let mut arguments = vec!["wait", "--for=condition=Established", "--timeout=30s"];
        arguments.extend(crds.lines());
        if !crds.is_empty() {
            self.kubectl(arguments).await?;
        }
        Ok(())
    }

    /// Pods need the service account `default` of their namespace, which a controller makes where there is one.
    pub(crate) async fn ensure_default_service_account(&self, namespace: &str) -> Result<()> {
        if self.tier == Tier::Api {
            self.kubectl(["create", "serviceaccount", "default", "-n", namespace]).await?;
            return Ok(());
        }
        let what = format!("namespace {namespace} has no default service account");
        self.wait_for(&what, async || {
            self.kubectl(["get", "serviceaccount", "default", "-n", namespace]).await.is_ok()
        })
        .await
    }

    /// Waits until a part that was just started can be used, as far as one can ask it.
    pub(crate) async fn wait_until_ready(&self, part: Part) -> Result<()> {
        match part {
            Part::Etcd => {
                let number = self.ports.etcd.number();
                self.wait_for("etcd does not listen", async || listens(number).await).await
            }
            Part::ApiServer => {
                let number = self.ports.api_server.number();
                self.wait_for("the API server is not ready", async || {
                    listens(number).await && self.kubectl(["get", "--raw", "/readyz"]).await.is_ok()
                })
                .await
            }
            Part::ControllerManager | Part::Scheduler | Part::Kwok => Ok(()),
        }
    }

    /// Polls until `is_done`; fails at once when a process has ended by itself.
    async fn wait_for(&self, what: &str, is_done: impl AsyncFn() -> bool) -> Result<()> {
        let started = Instant::now();
        while !is_done().await {
            self.check_processes()?;
            if started.elapsed() > READY_WITHIN {
                let what = what.to_owned();
                return Err(Error::NotReady { what, waited: READY_WITHIN, logs: self.logs_dir() });
            }
            time::sleep(POLL).await;
        }
        Ok(())
    }

    fn check_processes(&self) -> Result<()> {
        self.state().processes.values_mut().try_for_each(Process::check)
    }
}

async fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_ok()
}

fn programs(assets: &Assets, layout: &Layout, ports: &Ports, options: &Options) -> Vec<Program> {
    let numbers = ports.numbers();
    let mut programs =
        vec![parts::etcd(assets, layout, numbers), parts::api_server(assets, layout, numbers, options)];
    if let Some(controllers) = &assets.controllers {
        programs.push(parts::controller_manager(controllers, layout, options));
        programs.push(parts::scheduler(controllers, layout));
        programs.push(parts::kwok(controllers, layout));
    }
    programs
}

fn open_directory(given: Option<&Path>) -> Result<(Layout, Leftovers)> {
    let (root, leftovers) = if let Some(path) = given {
        create_private(path)?;
        // Relative paths would depend on each program's working directory.
        (path.canonicalize().map_err(Error::file("find", path))?, Leftovers::Keep)
    } else {
        let builder = tempfile::Builder::new().prefix("pe-app-cluster-").tempdir();
        (builder.map_err(Error::file("create", env::temp_dir()))?.keep(), Leftovers::Remove)
    };
    let layout = Layout::new(root);
    if layout.etcd_data().exists() {
        let in_use = ErrorKind::AlreadyExists.into();
        return Err(Error::file("start a second cluster in", layout.root())(in_use));
    }
    create_private(&layout.logs())?;
    Ok((layout, leftovers))
}

fn create_private(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file("create", path))
}

fn write_json(path: &Path, content: &Value) -> Result<()> {
    fs::write(path, content.to_string()).map_err(Error::file("write", path))
}

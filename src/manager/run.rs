//! The order in which the manager starts and stops its parts. I/O through them.
//!
//! Start: servers (probes answer at once) → watches (caches fill, on a standby too) → election → work.
//! Stop: unready → work drains → lease given back → watches → servers. The lease is renewed until the work has drained,
//! and not given back where it has not: it expires instead.

use std::env;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::ManagerError;
use super::client::{controllers_client, find_cluster, plain_client};
use super::fence::Fence;
use super::flags::{Flags, HEALTH_PROBE_BIND_ADDRESS, METRICS_BIND_ADDRESS};
use super::identity::{identity, own_pod};
use super::leader::{Candidacy, Elector};
use super::platform_file::{self, Follower, Heralds};
use super::reach::ReachLayer;
use super::signals::Signals;
use super::tasks::{Group, Stopped};
use crate::controller::own_pod::OwnPod;
use crate::controller::scope::{Scope, WATCH_NAMESPACE};
use crate::controller::{Controller, Deps};
use crate::server::{Gates, Listener, health_routes, metrics_routes};
use crate::telemetry::Metrics;

/// Together they fit into the 10 s that a pod has between SIGTERM and SIGKILL.
const WORK_GRACE: Duration = Duration::from_secs(8);
const RELEASE_GRACE: Duration = Duration::from_millis(1200);
const WATCH_GRACE: Duration = Duration::from_millis(200);
const SERVER_GRACE: Duration = Duration::from_millis(600);

/// Runs the controllers that `make` makes until a signal asks to stop.
///
/// # Errors
/// [`ManagerError`] where the manager cannot start, loses its lease, or one of its parts ends by itself. The process
/// should then exit with an error, to be started anew.
pub async fn run(flags: &Flags, make: fn(&Deps) -> Vec<Box<dyn Controller>>) -> Result<(), ManagerError> {
    if flags.metrics_secure && flags.metrics_bind_address.is_on() {
        return Err(ManagerError::SecureMetrics { address: flags.metrics_bind_address.clone() });
    }
    let namespaces = env::var_os(WATCH_NAMESPACE).unwrap_or_default();
    let scope = Scope::parse(&namespaces.to_string_lossy())?;
    let mut signals = Signals::listen().map_err(ManagerError::Signals)?;
    let (metrics, gates) = (Metrics::new()?, Gates::default());
    let own_pod = Arc::new(OwnPod::new(own_pod(), metrics.events("manager")));
    let heralds = Heralds::new(&metrics, &gates, &own_pod);
    let (platform, follower) = platform_file::open(flags.platform_config.as_deref(), heralds)?;
    let config = find_cluster(flags.kubeconfig.as_deref()).await?;
    let reach = ReachLayer::new(gates.add_open("api-server"));
    let fence = if flags.leader_elect { Fence::shut() } else { Fence::open() };
    let deps = Deps {
        client: controllers_client(&config, &metrics, &reach, &fence)?,
        scope,
        platform,
        metrics: metrics.clone(),
        gates,
        own_pod,
        namespace: own_namespace(flags, &config),
    };
    let mut manager = Manager::new(make(&deps), deps.gates.clone());
    let platform_file = flags.platform_config.as_deref().map(Path::display).map(tracing::field::display);
    info!(version = env!("CARGO_PKG_VERSION"), cluster = %config.cluster_url, scope = %deps.scope, platformConfig = platform_file, "starting manager");
    manager.serve(flags, &deps).await?;
    manager.keep_house(follower, &deps, plain_client(&config, &metrics, &reach)?);
    manager.watch();
    if flags.leader_elect {
        let candidacy = Candidacy {
            namespace: flags.leader_election_namespace.clone().unwrap_or(config.default_namespace.clone()),
            name: flags.leader_election_id.clone(),
            identity: identity(),
        };
        let leader_metrics = metrics.leader(&candidacy.name);
        manager.run_for_leader(Elector::new(
            plain_client(&config, &metrics, &reach)?,
            candidacy,
            fence,
            leader_metrics,
        ));
    } else {
        manager.elected.cancel();
    }
    let ended = manager.work_until_asked_to_stop(&mut signals).await;
    tokio::select! {
        () = manager.stop(&ended) => ended,
        signal = signals.next() => Err(ManagerError::Impatient { signal }),
    }
}

/// Where the operator keeps what is its own: beside its lease, or in the namespace of its pod.
fn own_namespace(flags: &Flags, config: &Config) -> Option<String> {
    let of_context = flags.leader_elect.then(|| config.default_namespace.clone());
    flags.leader_election_namespace.clone().or(of_context).or_else(|| own_pod()?.namespace)
}

/// The parts of the process, in the order in which they stop.
struct Manager {
    controllers: Vec<Box<dyn Controller>>,
    gates: Gates,
    elected: CancellationToken,
    work: Group,
    election: Group,
    watches: Group,
    housekeeping: Group,
    servers: Group,
}

impl Manager {
    fn new(controllers: Vec<Box<dyn Controller>>, gates: Gates) -> Self {
        Self {
            controllers,
            gates,
            elected: CancellationToken::new(),
            work: Group::new("controller"),
            election: Group::new("election"),
            watches: Group::new("watch of controller"),
            housekeeping: Group::new("task"),
            servers: Group::new("server"),
        }
    }

    async fn serve(&mut self, flags: &Flags, deps: &Deps) -> Result<(), ManagerError> {
        let probes = Listener::bind(HEALTH_PROBE_BIND_ADDRESS, &flags.health_probe_bind_address).await?;
        let metrics = Listener::bind(METRICS_BIND_ADDRESS, &flags.metrics_bind_address).await?;
        if let Some(probes) = probes {
            info!(bindAddress = %probes.address(), "Serving health probes");
            let serving = probes.serve(health_routes(deps.gates.clone()), self.servers.stopping());
            self.servers.spawn("health probe", serving);
        }
        if let Some(metrics) = metrics {
            info!(bindAddress = %metrics.address(), secure = flags.metrics_secure, "Serving metrics server");
            let serving = metrics.serve(metrics_routes(deps.metrics.clone()), self.servers.stopping());
            self.servers.spawn("metrics", serving);
        }
        Ok(())
    }

    /// What a standby does too.
    fn keep_house(&mut self, follower: Option<Follower>, deps: &Deps, client: Client) {
        let (own_pod, stop) = (Arc::clone(&deps.own_pod), self.housekeeping.stopping());
        let publishing = async move { own_pod.publish(client, stop).await };
        self.housekeeping.spawn("events about the own pod", publishing);
        if let Some(follower) = follower {
            self.housekeeping.spawn("platform file", follower.run(self.housekeeping.stopping()));
        }
    }

    fn watch(&mut self) {
        for controller in &self.controllers {
            self.watches.spawn(controller.name(), controller.watch(self.watches.stopping()));
        }
    }

    fn run_for_leader(&mut self, elector: Elector) {
        let running = elector.run(self.elected.clone(), self.election.stopping());
        self.election.spawn_fallible("candidate", running);
    }

    async fn work_until_asked_to_stop(&mut self, signals: &mut Signals) -> Result<(), ManagerError> {
        let elected = self.elected.clone();
        let elected_first = self.unless_failed(async {
            tokio::select! {
                () = elected.cancelled() => None,
                signal = signals.next() => Some(signal),
            }
        });
        let signal = if let Some(signal) = elected_first.await? {
            signal
        } else {
            self.work();
            self.unless_failed(signals.next()).await?
        };
        info!(signal, "stopping");
        Ok(())
    }

    fn work(&mut self) {
        for controller in &self.controllers {
            info!(controller = controller.name(), "starting controller");
            self.work.spawn(controller.name(), controller.work(self.work.stopping()));
        }
    }

    /// Waits for `event`, or for the first part that ends by itself.
    async fn unless_failed<T>(&mut self, event: impl Future<Output = T>) -> Result<T, ManagerError> {
        tokio::select! {
            event = event => Ok(event),
            failure = self.election.failed() => Err(failure),
            failure = self.work.failed() => Err(failure),
            failure = self.watches.failed() => Err(failure),
            failure = self.housekeeping.failed() => Err(failure),
            failure = self.servers.failed() => Err(failure),
        }
    }

    async fn stop(&mut self, ended: &Result<(), ManagerError>) {
        self.gates.stop();
        let grace = if matches!(ended, Err(ManagerError::Leader(_))) { Duration::ZERO } else { WORK_GRACE };
        match self.work.stop(grace).await {
            Stopped::Drained => {
                self.election.stop(RELEASE_GRACE).await;
            }
            Stopped::Cut => {
                warn!(
                    grace_seconds = grace.as_secs(),
                    "work was cut short; a leader lease is left to expire"
                );
                self.election.cut();
            }
        }
        self.watches.stop(WATCH_GRACE).await;
        self.housekeeping.stop(WATCH_GRACE).await;
        self.servers.stop(SERVER_GRACE).await;
    }
}

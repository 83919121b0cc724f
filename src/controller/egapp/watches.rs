//! The watches of this controller: what each kind's events mean for which EGApp. I/O.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join5;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::Api;
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::cluster::{AppEntry, AppView, ChildKind, Live, PodView, View};
use super::context::Context;
use crate::controller::key::ObjectKey;
use crate::controller::queue::WorkQueue;
use crate::controller::watch::{self as watch_loop, Observer, status_of};
use crate::server::{Gate, Gates};
use crate::telemetry::{Chain, Metrics, WatchMetrics};
use egapp_api::labels;

/// Which kinds have been listed for the first time, and the readiness gates that say so.
pub struct Sync {
    missing: Mutex<BTreeSet<Kind>>,
    is_complete: watch::Sender<bool>,
    caches: Gate,
    crd: Gate,
}

/// A kind this controller watches, by its plural for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Egapps,
    Deployments,
    Services,
    DisruptionBudgets,
    Pods,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::Egapps, Self::Deployments, Self::Services, Self::DisruptionBudgets, Self::Pods];

    const fn title(self) -> &'static str {
        match self {
            Self::Egapps => "EGApps",
            Self::Deployments => "Deployments",
            Self::Services => "Services",
            Self::DisruptionBudgets => "PodDisruptionBudgets",
            Self::Pods => "pods",
        }
    }
}

impl Sync {
    /// Nothing has been listed yet.
    #[must_use]
    pub fn new(gates: &Gates) -> Self {
        let missing = BTreeSet::from(Kind::ALL);
        let (caches, crd) = (gates.add("caches-synced"), gates.add("crd-established"));
        crd.not_ready("EGApps have not been listed yet");
        let is_complete = watch::Sender::new(false);
        let sync = Self { missing: Mutex::new(missing.clone()), is_complete, caches, crd };
        sync.tell(&missing);
        sync
    }

    /// Ends when every kind has been listed.
    pub async fn complete(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        drop(self.is_complete.subscribe().wait_for(|is_complete| *is_complete).await);
    }

    fn listed(&self, kind: Kind) {
        let still_missing = {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.remove(&kind).then(|| missing.clone())
        };
        if let Some(missing) = still_missing {
            info!(kind = kind.title(), "listed for the first time");
            self.tell(&missing);
        }
        if kind == Kind::Egapps {
            self.crd.ready();
        }
    }

    fn tell(&self, missing: &BTreeSet<Kind>) {
        if missing.is_empty() {
            self.caches.ready();
            self.is_complete.send_replace(true);
        } else {
            let titles: Vec<_> = missing.iter().map(|kind| kind.title()).collect();
            self.caches.not_ready(format!("not listed yet: {}", titles.join(", ")));
        }
    }
}

/// The watches, ready to run.
pub struct Watches {
    ctx: Arc<Context>,
    queue: Arc<WorkQueue>,
    sync: Arc<Sync>,
    deployment_metrics: WatchMetrics,
    service_metrics: WatchMetrics,
    disruption_budget_metrics: WatchMetrics,
    pod_metrics: WatchMetrics,
    has_undecodable: AtomicBool,
}

impl Watches {
    /// Watches that fill the copies of `ctx` and queue what changed.
    pub fn new(ctx: Arc<Context>, queue: Arc<WorkQueue>, sync: Arc<Sync>, metrics: &Metrics) -> Self {
        Self {
            ctx,
            queue,
            sync,
            deployment_metrics: metrics.watch(Deployment::TITLE),
            service_metrics: metrics.watch(Service::TITLE),
            disruption_budget_metrics: metrics.watch(PodDisruptionBudget::TITLE),
            pod_metrics: metrics.watch("Pod"),
            has_undecodable: AtomicBool::new(false),
        }
    }

    /// Watches until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        let ours = watcher::Config::default().labels(labels::EGAPP);
        let everything = watcher::Config::default();
        let apps = watch_loop::run::<AppView>(
            Api::all(self.ctx.cluster.client()),
            everything,
            self.ctx.app_metrics.clone(),
            self.observer(Kind::Egapps, Self::app),
            stop.clone(),
        );
        let pods = watch_loop::run::<PodView>(
            Api::all(self.ctx.cluster.client()),
            ours,
            self.pod_metrics.clone(),
            self.observer(Kind::Pods, |watches, event| watches.ctx.cluster.caches.pods.handle(event)),
            stop.clone(),
        );
        let deployments = self.children::<Deployment>(Kind::Deployments, &self.deployment_metrics, &stop);
        let services = self.children::<Service>(Kind::Services, &self.service_metrics, &stop);
        let budgets = self.children::<PodDisruptionBudget>(
            Kind::DisruptionBudgets,
            &self.disruption_budget_metrics,
            &stop,
        );
        join5(apps, pods, deployments, services, budgets).await;
    }

    /// All objects of a kind of child, foreign ones too: a name that is taken must be seen before it is written to.
    fn children<K: ChildKind>(
        &self,
        kind: Kind,
        metrics: &WatchMetrics,
        stop: &CancellationToken,
    ) -> impl Future<Output = ()> {
        watch_loop::run::<View<K>>(
            Api::all(self.ctx.cluster.client()),
            watcher::Config::default(),
            metrics.clone(),
            self.observer(kind, |watches, event| {
                K::store(&watches.ctx.cluster.caches).handle(map_event(event, Live::from))
            }),
            stop.clone(),
        )
    }

    fn observer<K>(
        &self,
        kind: Kind,
        handle: impl Fn(&Self, Event<K>) -> Vec<ObjectKey> + Send,
    ) -> impl Observer<K> {
        KindObserver { watches: self, kind, handle }
    }

    /// Keeps the gauge of EGApps that do not decode. They are rare: a healthy event costs one look at its own object.
    fn count_undecodable(&self, touched: &[ObjectKey]) {
        let apps = &self.ctx.cluster.caches.apps;
        let is_bad = |key: &ObjectKey| apps.get(key).is_some_and(|entry| entry.app.is_err());
        if self.has_undecodable.load(Ordering::Relaxed) || touched.iter().any(is_bad) {
            let count = apps.count(|entry| entry.app.is_err());
            self.has_undecodable.store(count > 0, Ordering::Relaxed);
            self.ctx.app_metrics.undecodable(count);
        }
    }

    fn app(&self, event: Event<AppView>) -> Vec<ObjectKey> {
        let touched = self.ctx.cluster.caches.apps.handle(map_event(event, AppEntry::from));
        self.count_undecodable(&touched);
        touched
    }
}

/// One kind's events on their way to the copies and the queue.
struct KindObserver<'a, H> {
    watches: &'a Watches,
    kind: Kind,
    handle: H,
}

impl<K, H: Fn(&Watches, Event<K>) -> Vec<ObjectKey> + Send> Observer<K> for KindObserver<'_, H> {
    fn event(&mut self, event: Event<K>) {
        let is_list_complete = matches!(event, Event::InitDone);
        for key in (self.handle)(self.watches, event) {
            // Foreign Deployments of names that no EGApp has are nobody's business here.
            if self.kind == Kind::Egapps || self.watches.ctx.cluster.caches.apps.get(&key).is_some() {
                self.watches.queue.add(key);
            }
        }
        if is_list_complete {
            self.watches.sync.listed(self.kind);
        }
    }

    fn error(&mut self, error: &watcher::Error) {
        let kind = self.kind.title();
        match status_of(error).map(|status| status.code) {
            Some(404) if self.kind == Kind::Egapps => {
                let reason = "the CRD egapps.egplatform.platform.evillgenius.com is not installed: run `make install`, \
                              or apply config/crd";
                self.watches.sync.crd.not_ready(reason);
                warn!(kind, "{reason}");
            }
            Some(403) => warn!(kind, "the operator may not list or watch {kind}: {}", cause(error)),
            _ => warn!(kind, "the watch of {kind} failed and is tried again: {}", cause(error)),
        }
    }
}

/// The API server's sentence, or what became of the connection.
fn cause(error: &watcher::Error) -> String {
    status_of(error).map_or_else(|| Chain(error).to_string(), |status| status.message.clone())
}

fn map_event<K, V>(event: Event<K>, map: impl FnOnce(K) -> V) -> Event<V> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(map(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(map(object)),
        Event::Delete(object) => Event::Delete(map(object)),
    }
}

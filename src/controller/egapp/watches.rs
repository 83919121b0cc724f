//! The watches of this controller: what each kind's events mean for which EGApp. I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{join, join_all, join5};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher::{self, Event};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::cluster::{AppEntry, AppView, Caches, ChildKind, Live, PodView, View};
use super::context::Context;
use super::sync::{Kind, Sight};
use super::worker::take_step;
use crate::controller::key::ObjectKey;
use crate::controller::queue::WorkQueue;
use crate::controller::scope::{Area, Scope};
use crate::controller::store::Versioned;
use crate::controller::watch::{self as watch_loop, Observer, is_forbidden, status_of};
use crate::platform::Platform;
use crate::telemetry::{AccessMetrics, Chain, Metrics};
use egapp_api::labels;

/// The watches, ready to run.
pub struct Watches {
    ctx: Arc<Context>,
    queue: Arc<WorkQueue>,
    scope: Scope,
    metrics: Arc<Metrics>,
    has_undecodable: AtomicBool,
}

impl Watches {
    /// Watches that fill the copies of `ctx` and queue what changed.
    pub fn new(ctx: Arc<Context>, queue: Arc<WorkQueue>, scope: &Scope, metrics: &Arc<Metrics>) -> Self {
        let (scope, metrics) = (scope.clone(), Arc::clone(metrics));
        Self { ctx, queue, scope, metrics, has_undecodable: AtomicBool::new(false) }
    }

    /// Watches until `stop` is cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        let areas = join_all(self.scope.areas().map(|area| self.area(area, &stop)));
        join(areas, stop.run_until_cancelled(self.platform())).await;
    }

    /// Another platform is another wish for every app.
    async fn platform(&self) {
        let mut feed = self.ctx.platform.clone();
        while feed.changed().await.is_ok() {
            let platform = Arc::clone(&feed.borrow_and_update());
            take_up(&self.ctx, &self.queue, &platform);
        }
    }

    /// Looks at every app of which it is known whether its children may be seen. The work begins so, too: nothing is
    /// queued before, nor is it known whose turn it is.
    pub fn look_at_all(&self) {
        let is_known = |area: &&Area| self.ctx.sync.sight(area.namespace()) != Sight::Awaited;
        self.scope.areas().filter(is_known).for_each(|area| self.look_at_area(area));
    }

    fn look_at_area(&self, area: &Area) {
        let Self { ctx, queue, .. } = self;
        if !queue.is_open() {
            return;
        }
        let keys = ctx.cluster.caches(area.namespace()).apps.keys();
        let step = ctx.turns.see(area, keys.clone());
        for key in keys {
            queue.add(key);
        }
        take_step(ctx, queue, step);
    }

    /// Every kind, in one area.
    async fn area(&self, area: &Area, stop: &CancellationToken) {
        let ours = watcher::Config::default().labels(labels::EGAPP);
        let apps = watch_loop::run::<AppView>(
            area.api(self.ctx.cluster.client()),
            watcher::Config::default(),
            self.ctx.app_metrics.clone(),
            self.observer(Kind::Egapps, area, |caches, event| {
                caches.apps.handle(map_event(event, AppEntry::from))
            }),
            stop.clone(),
        );
        let pods = watch_loop::run::<PodView>(
            area.api(self.ctx.cluster.client()),
            ours,
            self.metrics.watch(Kind::Pods.name()),
            self.observer(Kind::Pods, area, |caches, event| caches.pods.handle(event, Timestamp::now())),
            stop.clone(),
        );
        let deployments = self.children::<Deployment>(Kind::Deployments, area, stop);
        let services = self.children::<Service>(Kind::Services, area, stop);
        let budgets = self.budgets(area, stop);
        let autoscalers = self.autoscalers(area, stop);
        join5(apps, pods, deployments, services, join(budgets, autoscalers)).await;
    }

    /// All objects of a kind of child, foreign ones too: a name that is taken must be seen before it is written to.
    async fn children<K: ChildKind>(&self, kind: Kind, area: &Area, stop: &CancellationToken) {
        watch_loop::run::<View<K>>(
            area.api(self.ctx.cluster.client()),
            watcher::Config::default(),
            self.metrics.watch(kind.name()),
            self.observer(kind, area, |caches, event| keep::<K>(caches, event)),
            stop.clone(),
        )
        .await;
    }

    /// Like [`children`](Self::children); and one that is no app's own may select the pods of any app of its namespace.
    async fn budgets(&self, area: &Area, stop: &CancellationToken) {
        watch_loop::run::<View<PodDisruptionBudget>>(
            area.api(self.ctx.cluster.client()),
            watcher::Config::default(),
            self.metrics.watch(Kind::DisruptionBudgets.name()),
            self.observer(Kind::DisruptionBudgets, area, |caches, event| {
                let namespaces = caches.budgets.handle(parts(&event, View::selection));
                let is_in = |app: &ObjectKey| namespaces.iter().any(|name| **name == *app.namespace());
                let mut touched = if namespaces.is_empty() { Vec::new() } else { caches.apps.keys() };
                touched.retain(is_in);
                touched.extend(keep(caches, event));
                touched
            }),
            stop.clone(),
        )
        .await;
    }

    /// Like [`children`](Self::children); and what an autoscaler scales is told of it, too.
    async fn autoscalers(&self, area: &Area, stop: &CancellationToken) {
        watch_loop::run::<View<HorizontalPodAutoscaler>>(
            area.api(self.ctx.cluster.client()),
            watcher::Config::default(),
            self.metrics.watch(Kind::Autoscalers.name()),
            self.observer(Kind::Autoscalers, area, |caches, event| {
                let mut touched = caches.aims.handle(parts(&event, View::aim));
                touched.extend(keep(caches, event));
                touched
            }),
            stop.clone(),
        )
        .await;
    }

    fn observer<'a, K>(
        &'a self,
        kind: Kind,
        area: &'a Area,
        handle: impl Fn(&Caches, Event<K>) -> Vec<ObjectKey> + Send,
    ) -> impl Observer<K> {
        let access = self.metrics.access(kind.name(), area.namespace());
        KindObserver { watches: self, kind, area, access, handle }
    }

    /// Keeps the gauge of EGApps that do not decode. They are rare: a healthy event costs one look at its own object.
    fn count_undecodable(&self, caches: &Caches, touched: &[ObjectKey]) {
        let is_bad = |key: &ObjectKey| caches.apps.get(key).is_some_and(|entry| entry.app.is_err());
        if self.has_undecodable.load(Ordering::Relaxed) || touched.iter().any(is_bad) {
            let count = self
                .ctx
                .cluster
                .all_caches()
                .map(|caches| caches.apps.count(|entry| entry.app.is_err()))
                .sum();
            self.has_undecodable.store(count > 0, Ordering::Relaxed);
            self.ctx.app_metrics.undecodable(count);
        }
    }
}

/// That platform holds from now on, or is known to be of another change.
pub fn take_up(ctx: &Context, queue: &WorkQueue, platform: &Arc<Platform>) {
    ctx.formers.follow(platform);
    let all = ctx.cluster.all_caches().flat_map(|caches| caches.apps.keys());
    let apps: Vec<_> = if queue.is_open() { all.collect() } else { Vec::new() };
    ctx.turns.renew(platform, apps.clone());
    for key in apps {
        queue.add(key);
    }
}

/// One kind's events in one area, on their way to the copies and the queue.
struct KindObserver<'a, H> {
    watches: &'a Watches,
    kind: Kind,
    area: &'a Area,
    access: AccessMetrics,
    handle: H,
}

impl<H> KindObserver<'_, H> {
    fn caches(&self) -> &Caches {
        self.watches.ctx.cluster.caches(self.area.namespace())
    }

    fn look_at(&self, touched: Vec<ObjectKey>) {
        let apps = &self.caches().apps;
        for key in touched {
            // Foreign Deployments of names that no EGApp has are nobody's business here.
            if self.kind == Kind::Egapps || apps.get(&key).is_some() {
                self.watches.queue.add(key);
            }
        }
    }
}

impl<K, H: Fn(&Caches, Event<K>) -> Vec<ObjectKey> + Send> Observer<K> for KindObserver<'_, H> {
    fn event(&mut self, event: Event<K>) {
        let sync = &self.watches.ctx.sync;
        let is_list_complete = matches!(event, Event::InitDone);
        let touched = (self.handle)(self.caches(), event);
        if self.kind == Kind::Egapps {
            self.watches.count_undecodable(self.caches(), &touched);
        }
        if is_list_complete {
            // The sight of the area is another: what was held back, or told otherwise, is looked at.
            if sync.listed(self.area, self.kind) {
                self.watches.look_at_area(self.area);
            }
        }
        if sync.sight(self.area.namespace()) != Sight::Awaited {
            self.look_at(touched);
        }
    }

    fn steady(&mut self) {
        self.access.granted();
        self.watches.ctx.sync.followed(self.area, self.kind);
    }

    fn error(&mut self, error: &watcher::Error) {
        let (kind, namespace, sync) = (self.kind.title(), self.area.namespace(), &self.watches.ctx.sync);
        if is_forbidden(error) {
            self.access.refused();
            if sync.refused(self.area, self.kind, &cause(error)) {
                self.watches.look_at_area(self.area);
            }
        } else if self.kind == Kind::Egapps && status_of(error).is_some_and(|status| status.code == 404) {
            let reason = "the CRD egapps.egplatform.platform.evillgenius.com is not installed: run `make install`, \
                          or apply config/crd";
            sync.no_crd(reason);
            warn!(kind, namespace, "{reason}");
        } else {
            warn!(kind, namespace, "the watch of {kind} failed and is tried again: {}", cause(error));
        }
    }
}

/// The API server's sentence, or what became of the connection.
fn cause(error: &watcher::Error) -> String {
    status_of(error).map_or_else(|| Chain(error).to_string(), |status| status.message.clone())
}

/// Takes in one event of a kind of child, and returns the objects of which something is known that was not before: each
/// autoscaler writes down every few seconds what it has measured.
fn keep<K: ChildKind>(caches: &Caches, event: Event<View<K>>) -> Vec<ObjectKey> {
    let (store, event) = (K::store(caches), map_event(event, |view| Live::from(view).kept()));
    let is_known = match &event {
        Event::Apply(live) => store.get(&live.key()).is_some_and(|held| held.is_like(live)),
        Event::Init | Event::InitApply(_) | Event::InitDone | Event::Delete(_) => false,
    };
    let touched = store.handle(event);
    if is_known { Vec::new() } else { touched }
}

/// The event, with a part of each object.
fn parts<K, P>(event: &Event<K>, part: impl FnOnce(&K) -> P) -> Event<P> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(part(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(part(object)),
        Event::Delete(object) => Event::Delete(part(object)),
    }
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

#[cfg(test)]
#[path = "watches_tests.rs"]
mod tests;

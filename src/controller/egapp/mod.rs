//! The EGApp controller: makes a Deployment from each EGApp, keeps it so, and reports. This module is the driver:
//! watches in, passes out; what a pass does stands in [`reconcile`].

pub mod apply;
pub mod budget;
pub mod care;
pub mod change;
pub mod claim;
pub mod cluster;
pub mod confirm;
pub mod contest;
pub mod context;
pub mod crew;
pub mod desired;
pub mod deviation;
pub mod dropped;
pub mod endings;
pub mod ensure;
pub mod error;
pub mod expansion;
pub mod fingerprint;
pub mod formers;
pub mod history;
pub mod lineage;
pub mod memory;
pub mod names;
pub mod news;
pub mod notice;
pub mod observe;
pub mod pace;
pub mod rbac;
pub mod reconcile;
pub mod refusal;
pub mod replicas;
pub mod report;
pub mod resources;
pub mod status;
pub mod sync;
pub mod turns;
pub mod validate;
pub mod watches;
pub mod wish;
pub mod worker;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::cluster::Cluster;
use self::context::Context;
use self::crew::Crew;
use self::dropped::Dropped;
use self::endings::Endings;
use self::error::Disposition;
use self::formers::Formers;
use self::history::History;
use self::memory::Memories;
use self::pace::Pace;
use self::sync::{Kind, Sync};
use self::turns::Turns;
use self::watches::Watches;
use super::events::Events;
use super::queue::{RESERVE, WORKERS, WorkQueue};
use super::{Controller, Deps};

/// Name in metrics and logs.
const NAME: &str = "egapp";

/// Passes at a time at most; the queue says whose.
const PASSES: usize = WORKERS + RESERVE;

/// The controller of EGApps.
pub struct EgappController {
    ctx: Arc<Context>,
    queue: Arc<WorkQueue>,
    watches: Arc<Watches>,
    history: History,
}

impl EgappController {
    /// A controller that watches the scope of `deps`, and tells their gates when its caches are complete.
    #[must_use]
    pub fn new(deps: &Deps) -> Self {
        let Deps { client, scope, platform, metrics, gates, own_pod, namespace } = deps;
        let controller_metrics = metrics.controller(NAME, PASSES);
        controller_metrics.declare_error_classes(&Disposition::CLASSES);
        let queue = WorkQueue::new(metrics.queue(NAME));
        let ctx = Arc::new(Context {
            cluster: Cluster::new(client.clone(), scope, metrics.denials()),
            sync: Sync::new(scope, gates),
            formers: Formers::new(Arc::clone(&platform.borrow())),
            turns: Turns::new(&platform.borrow(), scope.areas().cloned(), metrics.changes()),
            own_pod: Arc::clone(own_pod),
            platform: platform.clone(),
            metrics: controller_metrics,
            app_metrics: metrics.watch(Kind::Egapps.name()),
            dropped: Dropped::new(gates, metrics.watch(Kind::Egapps.name())),
            endings: Endings::default(),
            pace: Pace::default(),
            events: Events::new(names::FIELD_MANAGER, metrics.events(NAME)),
            memories: Memories::default(),
        });
        let watches = Arc::new(Watches::new(Arc::clone(&ctx), Arc::clone(&queue), scope, metrics));
        Self { ctx, queue, watches, history: History::new(client, namespace.as_deref()) }
    }
}

impl Controller for EgappController {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        let watches = Arc::clone(&self.watches);
        async move { watches.run(stop).await }.boxed()
    }

    fn work(&self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        let (ctx, queue, history) = (Arc::clone(&self.ctx), Arc::clone(&self.queue), self.history.clone());
        let watches = Arc::clone(&self.watches);
        async move {
            let stored = history.recall(&ctx).await;
            ctx.sync.opened();
            queue.open();
            watches.look_at_all();
            info!(controller = NAME, "worker count" = PASSES, "Starting workers");
            let mut crew = Crew::new(PASSES, || worker::run(Arc::clone(&ctx), Arc::clone(&queue)));
            // Dropped with this future, where the work is cut.
            let mut rest = JoinSet::new();
            rest.spawn({
                let (ctx, stop) = (Arc::clone(&ctx), stop.clone());
                async move { ctx.events.publish(ctx.cluster.client(), stop).await }
            });
            rest.spawn({
                let (ctx, queue, stop) = (Arc::clone(&ctx), Arc::clone(&queue), stop.clone());
                async move { history.keep(&ctx, &queue, stored, stop).await }
            });
            if crew.work_until(&stop).await {
                queue.close();
                crew.finish().await;
                while rest.join_next().await.is_some() {}
            }
        }
        .boxed()
    }
}

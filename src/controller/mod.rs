//! The controllers that the manager runs, and what they share.

pub mod backoff;
pub mod compare;
pub mod egapp;
pub mod events;
pub mod foreign;
pub mod key;
mod lanes;
pub mod own_pod;
pub mod queue;
pub mod scope;
pub mod sentence;
pub mod slim;
pub mod store;
pub mod watch;

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use tokio_util::sync::CancellationToken;

use self::egapp::EgappController;
use self::own_pod::OwnPod;
use self::scope::Scope;
use crate::platform::PlatformFeed;
use crate::server::Gates;
use crate::telemetry::Metrics;

/// What the manager gives to its controllers.
pub struct Deps {
    /// Talks to the API server; refuses to write while this process does not lead.
    pub client: Client,
    /// Where they look.
    pub scope: Scope,
    /// What the words of an EGApp mean here.
    pub platform: PlatformFeed,
    /// Where they report what they do.
    pub metrics: Arc<Metrics>,
    /// Where they say what they still wait for.
    pub gates: Gates,
    /// Where they tell people what concerns the operator itself.
    pub own_pod: Arc<OwnPod>,
    /// The operator's own namespace, if it has one: outside of a cluster it mostly has none.
    pub namespace: Option<String>,
}

/// Every controller of the manager.
#[must_use]
pub fn all(deps: &Deps) -> Vec<Box<dyn Controller>> {
    vec![Box::new(EgappController::new(deps))]
}

/// One controller of the manager.
///
/// A controller has two halves, so that a standby keeps warm caches and takes over at once: the manager starts
/// [`watch`](Controller::watch) at start-up and [`work`](Controller::work) only while it leads.
pub trait Controller: Send + Sync {
    /// Name in metrics and logs, e.g. `egapp`.
    fn name(&self) -> &'static str;

    /// Fills the controller's caches until `stop` is cancelled.
    fn watch(&self, stop: CancellationToken) -> BoxFuture<'static, ()>;

    /// Reconciles until `stop` is cancelled, then drains what is in flight.
    fn work(&self, stop: CancellationToken) -> BoxFuture<'static, ()>;
}

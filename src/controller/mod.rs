//! The controllers that the manager runs, and what they share.

pub mod backoff;
pub mod compare;
pub mod egapp;
pub mod key;
pub mod quantity;
pub mod queue;
pub mod slim;
pub mod store;
pub mod watch;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

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

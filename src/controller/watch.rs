//! Runs one watch for ever: lists, watches, relists, waits after errors. I/O.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::api::Api;
use kube::runtime::watcher::{self, Event, InitialListStrategy, watcher};
use kube::{Error, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use crate::telemetry::WatchMetrics;

/// After an error: 1 s, growing to 30 s, as client-go's reflector waits.
const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(30) };

/// A watch is opened anew with a list after so many errors in a row: a watch that answers `410 Gone` instead of
/// sending it would otherwise be tried with the same resource version for ever.
const ERRORS_BEFORE_RELIST: u32 = 5;

/// Objects in one page of a list that does not stream: each may be more than a megabyte, and a page is held as a whole.
const PAGE: u32 = 50;

/// What one watch reports to.
pub trait Observer<K>: Send {
    /// One event, in order.
    fn event(&mut self, event: Event<K>);
    /// An error; the watch goes on after a pause.
    fn error(&mut self, error: &watcher::Error);
}

/// Watches `api` until `stop` is cancelled. Each watch has a pause of its own, so that a kind that is forbidden or
/// not installed holds up no other.
pub async fn run<K>(
    api: Api<K>,
    config: watcher::Config,
    metrics: WatchMetrics,
    mut observer: impl Observer<K>,
    stop: CancellationToken,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let open = |config: &watcher::Config| watcher(api.clone(), config.clone()).boxed();
    // The objects of a streaming list come one by one (KEP-3157): a restart costs no more memory than the cache.
    let mut config = config.page_size(PAGE).streaming_lists();
    let mut stream = open(&config);
    let mut errors = 0;
    loop {
        let item = tokio::select! {
            () = stop.cancelled() => return,
            item = stream.next() => item,
        };
        match item {
            Some(Ok(event)) => {
                // `Init` only says that a list is about to be asked for.
                if !matches!(event, Event::Init) {
                    errors = 0;
                }
                observer.event(event);
                continue;
            }
            Some(Err(error)) => {
                errors += 1;
                metrics.error();
                observer.error(&error);
                if is_streaming_refused(&error) {
                    config.initial_list_strategy = InitialListStrategy::ListWatch;
                    stream = open(&config);
                } else if is_gone(&error) || is_forbidden(&error) || errors % ERRORS_BEFORE_RELIST == 0 {
                    stream = open(&config);
                }
            }
            None => stream = open(&config),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(BACKOFF.delay(errors.max(1), std::any::type_name::<K>())) => (),
        }
    }
}

/// The API server's answer in a failed watch, where it gave one.
#[must_use]
pub fn status_of(error: &watcher::Error) -> Option<&kube::core::Status> {
    match error {
        watcher::Error::WatchError(status) => Some(status),
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            if let Error::Api(status) = error {
                Some(status)
            } else {
                None
            }
        }
        watcher::Error::NoResourceVersion => None,
    }
}

/// A server whose feature `WatchList` is off (the default of 1.33) answers a streaming list as invalid.
fn is_streaming_refused(error: &watcher::Error) -> bool {
    status_of(error).is_some_and(|status| matches!(status.code, 400 | 422))
}

/// Whether the API server does not let us see this. The watch begins anew with a list then: its end is the one event
/// that tells that the right has come back, even where nothing has changed meanwhile.
#[must_use]
pub fn is_forbidden(error: &watcher::Error) -> bool {
    status_of(error).is_some_and(|status| status.code == 403)
}

fn is_gone(error: &watcher::Error) -> bool {
    status_of(error).is_some_and(|status| status.code == 410)
}

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

/// A watch that has said nothing for so long after its list is taken to run: one that is refused says so at once.
const SETTLING: Duration = Duration::from_secs(3);

/// The same for one that goes on after an error: longer than the client waits for an answer.
const RESUMING: Duration = Duration::from_mins(1);

/// Objects in one page of a list that does not stream: each may be more than a megabyte, and a page is held as a whole.
const PAGE: u32 = 50;

/// What one watch reports to.
pub trait Observer<K>: Send {
    /// One event, in order.
    fn event(&mut self, event: Event<K>);
    /// The watch runs, not the list alone: what went wrong before is over.
    fn steady(&mut self);
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
    let (mut errors, mut course) = (0, Course::default());
    loop {
        let quiet = course.settles_in();
        let item = tokio::select! {
            () = stop.cancelled() => return,
            item = stream.next() => item,
            () = tokio::time::sleep(quiet.unwrap_or_default()), if quiet.is_some() => {
                (errors, course) = (0, Course::Steady);
                observer.steady();
                continue;
            }
        };
        match item {
            Some(Ok(event)) => {
                let before = course;
                course = Course::after(&event);
                observer.event(event);
                if course == Course::Steady && before != Course::Steady {
                    errors = 0;
                    observer.steady();
                }
                continue;
            }
            Some(Err(error)) => {
                (errors, course) = (errors + 1, Course::Resuming);
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

/// How far a watch has come. A list proves nothing of the watch that is to go on from it: where one may be asked for and
/// the other not, or where the other always answers `410 Gone`, there would be one list after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Course {
    /// No list is whole.
    #[default]
    Listing,
    /// One is, and nothing has been heard of the watch.
    Listed,
    /// It failed, and may go on without another list.
    Resuming,
    /// The watch runs.
    Steady,
}

impl Course {
    fn after<K>(event: &Event<K>) -> Self {
        match event {
            Event::Init | Event::InitApply(_) => Self::Listing,
            Event::InitDone => Self::Listed,
            Event::Apply(_) | Event::Delete(_) => Self::Steady,
        }
    }

    /// After so long without a word it is steady.
    fn settles_in(self) -> Option<Duration> {
        match self {
            Self::Listing | Self::Steady => None,
            Self::Listed => Some(SETTLING),
            Self::Resuming => Some(RESUMING),
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

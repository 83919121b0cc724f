//! Events about objects, on their way to the API server. I/O, apart from the work: whoever tells one never waits, and
//! one that is refused, late or too many is counted and forgotten.
//!
//! Not kube's `Recorder`: it keeps the first note of a series whatever the later ones say, and has no limit. Limits
//! here are two. An object has those of client-go's correlator, 25 events at once and then one in five minutes. The
//! process writes 125 a second, four requests at a time: a flood of new apps needs the API server for their
//! Deployments. What waits behind that is told with the time at which it happened, warnings before all else.

mod writer;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::writer::Writer;
use crate::telemetry::EventMetrics;

const OF_OBJECT: Rate = Rate { burst: 25, every: Duration::from_mins(5) };
/// A flood of 1,000 new apps is told within ten seconds.
const OF_PROCESS: Rate = Rate { burst: 10, every: Duration::from_millis(8) };

/// Requests at a time. A busy API server takes tens of milliseconds for one.
const REQUESTS: usize = 4;

/// So many events of each type wait at most, about 1 kB each.
const WAITING: usize = 2000;

/// Something to tell about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Whether somebody should look at it.
    pub type_: Type,
    /// What happened, in one word.
    pub reason: String,
    /// What was being done, in one word.
    pub action: &'static str,
    /// What happened, in a sentence.
    pub note: String,
}

/// `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// For information.
    Normal,
    /// Something is wrong.
    Warning,
}

impl Type {
    /// The word as the cluster sees it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

#[derive(Clone, Copy)]
struct Rate {
    burst: u32,
    every: Duration,
}

/// How much of a rate is used up: the time at which it is whole again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket(Option<Instant>);

impl Bucket {
    /// Takes one, or says how long to wait for it.
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let whole_at = self.0.map_or(now, |at| at.max(now));
        let wait = (whole_at - now).saturating_sub(rate.every * (rate.burst - 1));
        if !wait.is_zero() {
            return Err(wait);
        }
        self.0 = Some(whole_at + rate.every);
        Ok(())
    }
}

/// The events of one reporter.
pub struct Events {
    reporter: &'static str,
    waiting: Mutex<Waiting>,
    more: Notify,
    metrics: EventMetrics,
}

/// Events that wait, by type: good news takes no room from warnings, and is told after them.
#[derive(Default)]
struct Waiting {
    warnings: VecDeque<Told>,
    normal: VecDeque<Told>,
    /// The number of the last one.
    number: i128,
}

impl Waiting {
    fn of(&mut self, type_: Type) -> &mut VecDeque<Told> {
        match type_ {
            Type::Warning => &mut self.warnings,
            Type::Normal => &mut self.normal,
        }
    }

    fn pop(&mut self) -> Option<Told> {
        self.warnings.pop_front().or_else(|| self.normal.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.warnings.is_empty() && self.normal.is_empty()
    }
}

struct Told {
    regarding: ObjectReference,
    news: News,
    at: Timestamp,
    /// The time in nanoseconds, and never the same twice.
    number: i128,
}

impl Events {
    /// Events of `reporter`, none of which is sent before [`publish`](Self::publish) runs.
    #[must_use]
    pub fn new(reporter: &'static str, metrics: EventMetrics) -> Self {
        Self { reporter, waiting: Mutex::default(), more: Notify::new(), metrics }
    }

    /// Tells it, if there is room; `limit` is the object's own. `regarding` has no resource version.
    pub fn tell(&self, regarding: ObjectReference, limit: &mut Bucket, news: News) {
        let mut waiting = self.lock();
        if waiting.of(news.type_).len() >= WAITING || limit.take(OF_OBJECT, Instant::now()).is_err() {
            self.metrics.dropped();
            return;
        }
        let at = Timestamp::now();
        let number = at.as_nanosecond().max(waiting.number + 1);
        waiting.number = number;
        waiting.of(news.type_).push_back(Told { regarding, news, at, number });
        drop(waiting);
        self.more.notify_one();
    }

    /// Sends what is told, until `stop` is cancelled.
    pub async fn publish(&self, client: Client, stop: CancellationToken) {
        stop.run_until_cancelled(self.send_all(Writer::new(client, self.reporter))).await;
    }

    async fn send_all(&self, mut writer: Writer) {
        let (mut pace, mut sending) = (Bucket::default(), FuturesUnordered::new());
        loop {
            tokio::select! {
                Some(sent) = sending.next() => self.count(writer.end(sent)),
                () = self.may_send(&mut pace), if sending.len() < REQUESTS => {
                    let Some(told) = self.lock().pop() else { continue };
                    if writer.is_ending(&told) {
                        self.count(false);
                        continue;
                    }
                    // One more of a series is a change of its first event, which must be there.
                    while writer.is_in_series(&told)
                        && let Some(sent) = sending.next().await
                    {
                        self.count(writer.end(sent));
                    }
                    sending.push(writer.begin(told));
                }
            }
        }
    }

    /// Waits until there is something to send, and its time has come.
    async fn may_send(&self, pace: &mut Bucket) {
        while self.lock().is_empty() {
            self.more.notified().await;
        }
        while let Err(wait) = pace.take(OF_PROCESS, Instant::now()) {
            sleep(wait).await;
        }
    }

    fn count(&self, is_taken: bool) {
        if is_taken { self.metrics.published() } else { self.metrics.failed() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;

//! Events about objects, on their way to the API server. I/O, apart from the work: whoever tells one never waits, and
//! one that is refused, late or too many is counted and forgotten.
//!
//! Not kube's `Recorder`: it keeps the first note of a series whatever the later ones say, and has no limit. Limits
//! here are two. An object has those of client-go's correlator, 25 events at once and then one in five minutes. The
//! process writes ten at once and then five a second, one request at a time: a flood of new apps needs the API server
//! for their Deployments. What waits behind that is told with the time at which it happened.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::telemetry::{Chain, EventMetrics};

const OF_OBJECT: Rate = Rate { burst: 25, every: Duration::from_mins(5) };
const OF_PROCESS: Rate = Rate { burst: 10, every: Duration::from_millis(200) };

/// So many wait at most: what is told within minutes. Over half of that only warnings are taken.
const WAITING: usize = 1000;

/// The same again within this time is one more of a series (client-go has the same).
const SERIES: Duration = Duration::from_mins(6);

/// No request takes longer.
const ANSWER: Duration = Duration::from_secs(5);

/// The same complaint is logged again after this time.
const COMPLAINT: Duration = Duration::from_mins(30);

/// Bytes of a note that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// Bytes of an object's name that fit into the name of its event.
const LONGEST_NAME: usize = 200;

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
    waiting: Mutex<VecDeque<Told>>,
    more: Notify,
    metrics: EventMetrics,
}

struct Told {
    regarding: ObjectReference,
    news: News,
    at: Timestamp,
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
        let room = if news.type_ == Type::Warning { WAITING } else { WAITING / 2 };
        if waiting.len() >= room || limit.take(OF_OBJECT, Instant::now()).is_err() {
            self.metrics.dropped();
            return;
        }
        waiting.push_back(Told { regarding, news, at: Timestamp::now() });
        drop(waiting);
        self.more.notify_one();
    }

    /// Sends what is told, until `stop` is cancelled.
    pub async fn publish(&self, client: Client, stop: CancellationToken) {
        let mut writer = Writer::new(client, self.reporter);
        let all = async {
            let mut pace = Bucket::default();
            loop {
                let told = self.next().await;
                while let Err(wait) = pace.take(OF_PROCESS, Instant::now()) {
                    sleep(wait).await;
                }
                if writer.write(told).await { self.metrics.published() } else { self.metrics.failed() }
            }
        };
        tokio::select! {
            () = stop.cancelled() => (),
            () = all => (),
        }
    }

    async fn next(&self) -> Told {
        loop {
            let next = self.lock().pop_front();
            if let Some(told) = next {
                return told;
            }
            self.more.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Told>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends events, one after the other, and knows which were sent lately.
struct Writer {
    client: Client,
    reporter: &'static str,
    instance: String,
    series: BTreeMap<(String, String, String), Series>,
    /// The number in the last event's name: the time in nanoseconds, and never the same twice.
    number: i128,
    /// When the failure with that status code was logged last; 0 = no answer.
    complaints: BTreeMap<u16, Instant>,
}

/// An event that was sent.
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

impl Writer {
    fn new(client: Client, reporter: &'static str) -> Self {
        // In a cluster the name of the host is the name of the pod.
        let host = hostname::get().ok().and_then(|name| name.into_string().ok());
        Self {
            client,
            reporter,
            instance: host.unwrap_or_else(|| reporter.to_owned()),
            series: BTreeMap::new(),
            number: 0,
            complaints: BTreeMap::new(),
        }
    }

    /// Whether the API server took it.
    async fn write(&mut self, told: Told) -> bool {
        let now = Instant::now();
        self.series.retain(|_, series| now.duration_since(series.last) < SERIES);
        let uid = told.regarding.uid.clone().unwrap_or_default();
        let key = (uid, told.news.reason.clone(), told.news.note.clone());
        let api =
            Api::namespaced(self.client.clone(), told.regarding.namespace.as_deref().unwrap_or_default());
        let (former, regarding, at) = (self.series.remove(&key), told.regarding.clone(), told.at);
        let event = self.event(told);
        let (name, count) = match &former {
            Some(former) => (former.name.clone(), former.count.saturating_add(1)),
            None => (event.metadata.name.clone().unwrap_or_default(), 1),
        };
        let answer = timeout(ANSWER, send(&api, &name, &event, (count > 1).then_some((count, at)))).await;
        match answer {
            Ok(Ok(())) => {
                self.series.insert(key, Series { name, count, last: now });
                true
            }
            Ok(Err(error)) => self.complain(&regarding, Some(&error)),
            Err(_) => self.complain(&regarding, None),
        }
    }

    fn event(&mut self, told: Told) -> Event {
        let Told { regarding, news: News { type_, reason, action, mut note }, at } = told;
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        self.number = at.as_nanosecond().max(self.number + 1);
        let name = regarding.name.as_deref().unwrap_or_default();
        let name = name.get(..LONGEST_NAME).unwrap_or(name).trim_end_matches(['-', '.']);
        Event {
            metadata: ObjectMeta {
                namespace: regarding.namespace.clone(),
                name: Some(format!("{name}.{:x}", self.number)),
                ..ObjectMeta::default()
            },
            type_: Some(type_.as_str().to_owned()),
            reason: Some(reason),
            action: Some(action.to_owned()),
            note: Some(note),
            event_time: Some(MicroTime(at)),
            regarding: Some(regarding),
            reporting_controller: Some(self.reporter.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }

    /// Logs what is in the way, once for each cause. `false`, for the caller to return.
    fn complain(&mut self, regarding: &ObjectReference, error: Option<&kube::Error>) -> bool {
        let code =
            error.map_or(0, |error| if let kube::Error::Api(status) = error { status.code } else { 0 });
        let (now, namespace, name) =
            (Instant::now(), regarding.namespace.as_deref(), regarding.name.as_deref());
        let cause = error.map_or_else(|| "no answer in time".to_owned(), |error| Chain(error).to_string());
        let is_recent = |at: &Instant| now.duration_since(*at) < COMPLAINT;
        if self.complaints.get(&code).is_some_and(is_recent) {
            debug!(namespace, name, "an event cannot be written: {cause}");
        } else {
            self.complaints.insert(code, now);
            warn!(namespace, name, "events cannot be written, and the work goes on without them: {cause}");
        }
        false
    }
}

/// Makes the event, or has the one of that name say how often it came and when last.
async fn send(
    api: &Api<Event>,
    name: &str,
    event: &Event,
    again: Option<(i32, Timestamp)>,
) -> Result<(), kube::Error> {
    let Some((count, at)) = again else {
        return api.create(&PostParams::default(), event).await.map(drop);
    };
    let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(at) } });
    api.patch(name, &PatchParams::default(), &Patch::Merge(series)).await.map(drop)
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;

//! Sends events, and knows which were sent lately: the same again is one more of a series. I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use super::{News, Told};
use crate::controller::sentence::line;
use crate::telemetry::Chain;

/// The same again within this time is one more of a series (client-go has the same).
const SERIES: Duration = Duration::from_mins(6);

/// Between two looks at which series are over: thousands may be known.
const TIDYING: Duration = Duration::from_secs(10);

/// No request takes longer.
const ANSWER: Duration = Duration::from_secs(5);

/// The same complaint is logged again after this time.
const COMPLAINT: Duration = Duration::from_mins(30);

/// Bytes of a note that the API server takes.
const LONGEST_NOTE: usize = 1024;

/// Bytes of an object's name that fit into the name of its event.
const LONGEST_NAME: usize = 200;

/// The object's uid, the reason and the note.
type SeriesKey = (String, String, String);

/// Makes the requests, and keeps the series.
pub(super) struct Writer {
    client: Client,
    reporter: &'static str,
    instance: String,
    series: BTreeMap<SeriesKey, Series>,
    tidied: Instant,
    /// Uids of objects in namespaces that are being deleted, and when that was found: no event is taken there.
    ending: BTreeMap<String, Instant>,
    /// When the failure with that status code was logged last; 0 = no answer.
    complaints: BTreeMap<u16, Instant>,
}

/// An event that was sent.
struct Series {
    name: String,
    count: i32,
    last: Instant,
}

/// What came of a request.
pub(super) struct Sent {
    key: SeriesKey,
    regarding: ObjectReference,
    /// `None` = no answer in time.
    answer: Option<Result<(), kube::Error>>,
}

impl Writer {
    pub(super) fn new(client: Client, reporter: &'static str) -> Self {
        // In a cluster the name of the host is the name of the pod.
        let host = hostname::get().ok().and_then(|name| name.into_string().ok());
        Self {
            client,
            reporter,
            instance: host.unwrap_or_else(|| reporter.to_owned()),
            series: BTreeMap::new(),
            tidied: Instant::now(),
            ending: BTreeMap::new(),
            complaints: BTreeMap::new(),
        }
    }

    /// Whether that was told lately.
    pub(super) fn is_in_series(&self, told: &Told) -> bool {
        self.series.get(&key_of(told)).is_some_and(Series::is_open)
    }

    /// Whether no event is taken any more where the object is.
    pub(super) fn is_ending(&self, told: &Told) -> bool {
        told.regarding.uid.as_ref().is_some_and(|uid| self.ending.contains_key(uid))
    }

    /// The request that tells it; its outcome goes to [`end`](Self::end). A series is known from here on, so that the
    /// same again waits for this one.
    pub(super) fn begin(&mut self, told: Told) -> impl Future<Output = Sent> + use<> {
        self.tidy();
        let (key, regarding, at) = (key_of(&told), told.regarding.clone(), told.at);
        let namespace = regarding.namespace.as_deref().unwrap_or_default();
        let api = Api::namespaced(self.client.clone(), namespace);
        let event = self.event(told);
        let former = self.series.remove(&key).filter(Series::is_open);
        let (name, count) = match former {
            Some(former) => (former.name, former.count.saturating_add(1)),
            None => (event.metadata.name.clone().unwrap_or_default(), 1),
        };
        self.series.insert(key.clone(), Series { name: name.clone(), count, last: Instant::now() });
        async move {
            let again = (count > 1).then_some((count, at));
            let answer = timeout(ANSWER, send(&api, &name, &event, again)).await.ok();
            Sent { key, regarding, answer }
        }
    }

    /// Whether the API server took it. What it did not take begins no series.
    pub(super) fn end(&mut self, Sent { key, regarding, answer }: Sent) -> bool {
        let error = match answer {
            Some(Ok(())) => return true,
            Some(Err(error)) => Some(error),
            None => None,
        };
        self.series.remove(&key);
        if error.as_ref().is_some_and(is_of_ending_namespace) {
            self.ending.insert(key.0, Instant::now());
        }
        self.complain(&regarding, error.as_ref());
        false
    }

    fn tidy(&mut self) {
        if self.tidied.elapsed() > TIDYING {
            self.series.retain(|_, series| series.is_open());
            self.ending.retain(|_, found| found.elapsed() < COMPLAINT);
            self.tidied = Instant::now();
        }
    }

    pub(super) fn event(&self, told: Told) -> Event {
        let Told { regarding, news: News { type_, reason, action, note }, at, number } = told;
        let mut note = line(&note, LONGEST_NOTE);
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        let name = regarding.name.as_deref().unwrap_or_default();
        let name = name.get(..LONGEST_NAME).unwrap_or(name).trim_end_matches(['-', '.']);
        Event {
            metadata: ObjectMeta {
                namespace: regarding.namespace.clone(),
                name: Some(format!("{name}.{number:x}")),
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

    /// Logs what is in the way, once for each cause.
    fn complain(&mut self, regarding: &ObjectReference, error: Option<&kube::Error>) {
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
    }
}

impl Series {
    fn is_open(&self) -> bool {
        self.last.elapsed() < SERIES
    }
}

fn key_of(told: &Told) -> SeriesKey {
    let uid = told.regarding.uid.clone().unwrap_or_default();
    (uid, told.news.reason.clone(), told.news.note.clone())
}

fn is_of_ending_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
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

//! The metric registry of the process and the families that stand alone in it. No I/O.
//!
//! Names, label sets, help texts' meaning and buckets are those of controller-runtime and client-go, so that dashboards
//! and alerts made for kubebuilder's managers work unchanged. What only this operator has begins with `egapp_`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use prometheus::core::Collector;
use prometheus::{
    Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use thiserror::Error;

use super::change_metrics::{ChangeFamilies, ChangeMetrics};
use super::controller_metrics::{ControllerFamilies, ControllerMetrics};
use super::platform_metrics::{PlatformFamilies, PlatformMetrics};
use super::queue_metrics::{InFlight, QueueFamilies, QueueMetrics};
use super::request_metrics::RequestMetricsLayer;

/// A metric could not be set up or written.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// Two families share a name, or a name is not one that Prometheus accepts.
    #[error("cannot register the process's metrics")]
    Register(#[source] prometheus::Error),
    /// The registry holds something that the text format cannot express.
    #[error("cannot write the process's metrics as text")]
    Encode(#[source] prometheus::Error),
}

/// All metrics of one process, in a registry of their own: tests may have as many as they like.
///
/// Handles taken from it ([`controller`](Self::controller), [`queue`](Self::queue), …) create their series at zero, so
/// that a rate over a fresh process is right from the first scrape.
pub struct Metrics {
    registry: Registry,
    controllers: ControllerFamilies,
    queues: QueueFamilies,
    platform: PlatformFamilies,
    changes: ChangeFamilies,
    requests: IntCounterVec,
    leader: IntGaugeVec,
    undecodable: IntGaugeVec,
    dropped_fields: IntGaugeVec,
    watch_errors: IntCounterVec,
    events: IntCounterVec,
    watch_forbidden: IntGaugeVec,
    denials: IntCounterVec,
    in_flight: Mutex<Vec<(Arc<InFlight>, Gauge, Gauge)>>,
}

impl Metrics {
    /// Registers every family of the process, the `process_*` ones included.
    ///
    /// # Errors
    /// [`MetricsError::Register`] where two families share a name: a defect of this program.
    pub fn new() -> Result<Arc<Self>, MetricsError> {
        Self::register(Registry::new()).map(Arc::new).map_err(MetricsError::Register)
    }

    fn register(registry: Registry) -> Result<Self, prometheus::Error> {
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        let families = Families(&registry);
        Ok(Self {
            controllers: ControllerFamilies::register(families)?,
            queues: QueueFamilies::register(families)?,
            platform: PlatformFamilies::register(families)?,
            changes: ChangeFamilies::register(families)?,
            requests: families.counter(
                "rest_client_requests_total",
                "Requests sent to the API server, every attempt counted, by status code, host and method.",
                &["code", "host", "method"],
            )?,
            leader: families.gauge(
                "leader_election_master_status",
                "1 while this process holds the lease of that name, 0 while it stands by.",
                &["name"],
            )?,
            undecodable: families.gauge(
                "egapp_undecodable_objects",
                "Stored objects that this version of the operator cannot read and therefore leaves alone.",
                &["kind"],
            )?,
            dropped_fields: families.gauge(
                "egapp_crd_dropped_fields",
                "Fields of the status that the API server drops, since the CRD is older than this process.",
                &["kind"],
            )?,
            watch_errors: families.counter(
                "egapp_watch_errors_total",
                "Failures of the watch of a kind; it is tried again with growing pauses.",
                &["kind"],
            )?,
            events: families.counter(
                "egapp_events_total",
                "Events told about objects: published, failed (the API server did not take them) or dropped (too many).",
                &["controller", "result"],
            )?,
            watch_forbidden: families.gauge(
                "egapp_watch_forbidden",
                "1 while the operator may not list or watch that kind in that namespace (empty: the whole cluster).",
                &["kind", "namespace"],
            )?,
            denials: families.counter(
                "egapp_forbidden_requests_total",
                "Requests about one object that were refused for a right that the operator has not.",
                &["verb", "resource", "namespace"],
            )?,
            in_flight: Mutex::default(),
            registry,
        })
    }

    /// Series of one controller that reconciles at most `max_concurrent` objects at a time.
    #[must_use]
    pub fn controller(&self, name: &'static str, max_concurrent: usize) -> ControllerMetrics {
        self.controllers.of(name, max_concurrent)
    }

    /// Series of one work queue; `name` is the name of its controller.
    #[must_use]
    pub fn queue(&self, name: &'static str) -> QueueMetrics {
        let (queue, unfinished, longest) = self.queues.of(name);
        let entry = (queue.in_flight(), unfinished, longest);
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        queue
    }

    /// Series of the watch of one kind, e.g. `EGApp`.
    #[must_use]
    pub fn watch(&self, kind: &'static str) -> WatchMetrics {
        WatchMetrics {
            undecodable: self.undecodable.with_label_values(&[kind]),
            dropped_fields: self.dropped_fields.with_label_values(&[kind]),
            errors: self.watch_errors.with_label_values(&[kind]),
        }
    }

    /// Series of the events of one controller.
    #[must_use]
    pub fn events(&self, controller: &'static str) -> EventMetrics {
        let [published, failed, dropped] = ["published", "failed", "dropped"]
            .map(|result| self.events.with_label_values(&[controller, result]));
        EventMetrics { published, failed, dropped }
    }

    /// Series of the right to watch one kind in one namespace; the whole cluster's name is empty.
    #[must_use]
    pub fn access(&self, kind: &'static str, namespace: &str) -> AccessMetrics {
        AccessMetrics { forbidden: self.watch_forbidden.with_label_values(&[kind, namespace]) }
    }

    /// Series of the platform file, of which one has just been read.
    #[must_use]
    pub fn platform(&self) -> PlatformMetrics {
        self.platform.series()
    }

    /// Series of a platform change on its way to the apps.
    #[must_use]
    pub fn changes(&self) -> ChangeMetrics {
        self.changes.series()
    }

    /// The counter of requests that were refused for want of a right.
    #[must_use]
    pub fn denials(&self) -> DenialMetrics {
        DenialMetrics { requests: self.denials.clone() }
    }

    /// Series of the lease called `name`.
    #[must_use]
    pub fn leader(&self, name: &str) -> LeaderMetrics {
        LeaderMetrics { master: self.leader.with_label_values(&[name]) }
    }

    /// A layer around an HTTP client that counts each request to `host` (as `authority` of the API server's URL).
    #[must_use]
    pub fn client_layer(&self, host: impl Into<String>) -> RequestMetricsLayer {
        RequestMetricsLayer::new(self.requests.clone(), host.into())
    }

    /// Everything in Prometheus' text format, as of now.
    ///
    /// # Errors
    /// [`MetricsError::Encode`] where the text format cannot express a family: a defect of this program.
    pub fn encode(&self) -> Result<String, MetricsError> {
        self.refresh(Instant::now());
        TextEncoder::new().encode_to_string(&self.registry.gather()).map_err(MetricsError::Encode)
    }

    /// Sets the gauges that grow with time alone, which no event would update.
    fn refresh(&self, now: Instant) {
        for (in_flight, unfinished, longest) in
            self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            let running = in_flight.running(now);
            unfinished.set(running.total.as_secs_f64());
            longest.set(running.longest.as_secs_f64());
        }
    }
}

/// What the watch of one kind reports.
#[derive(Clone)]
pub struct WatchMetrics {
    undecodable: IntGauge,
    dropped_fields: IntGauge,
    errors: IntCounter,
}

impl WatchMetrics {
    /// A list or watch request of this kind failed.
    pub fn error(&self) {
        self.errors.inc();
    }

    /// How many fields of its status the API server drops.
    pub fn dropped_fields(&self, fields: usize) {
        self.dropped_fields.set(saturating(fields));
    }

    /// How many stored objects of this kind cannot be read at present.
    pub fn undecodable(&self, objects: usize) {
        self.undecodable.set(saturating(objects));
    }
}

/// What became of the events of one controller.
#[derive(Clone)]
pub struct EventMetrics {
    published: IntCounter,
    failed: IntCounter,
    dropped: IntCounter,
}

impl EventMetrics {
    /// The API server took one.
    pub fn published(&self) {
        self.published.inc();
    }

    /// The API server refused one, or did not answer.
    pub fn failed(&self) {
        self.failed.inc();
    }

    /// There were too many.
    pub fn dropped(&self) {
        self.dropped.inc();
    }
}

/// Whether one kind may be watched in one namespace.
#[derive(Clone)]
pub struct AccessMetrics {
    forbidden: IntGauge,
}

impl AccessMetrics {
    /// The API server refused a list or watch.
    pub fn refused(&self) {
        self.forbidden.set(1);
    }

    /// A list was received.
    pub fn granted(&self) {
        self.forbidden.set(0);
    }
}

/// Requests that were refused for want of a right.
#[derive(Clone)]
pub struct DenialMetrics {
    requests: IntCounterVec,
}

impl DenialMetrics {
    /// The operator may not `verb` that `resource` in that namespace. Series appear with the first refusal.
    pub fn denied(&self, verb: &str, resource: &str, namespace: &str) {
        self.requests.with_label_values(&[verb, resource, namespace]).inc();
    }
}

/// Whether this process leads, for one lease.
#[derive(Clone)]
pub struct LeaderMetrics {
    master: IntGauge,
}

impl LeaderMetrics {
    /// The lease was acquired.
    pub fn leading(&self) {
        self.master.set(1);
    }

    /// The lease was given back or lost.
    pub fn standing_by(&self) {
        self.master.set(0);
    }
}

/// A count as the signed number that the metric library holds.
pub(super) fn saturating(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Makes families and puts them into the registry in one step.
#[derive(Clone, Copy)]
pub(super) struct Families<'a>(&'a Registry);

impl Families<'_> {
    fn add<C: Collector + Clone + 'static>(self, family: C) -> Result<C, prometheus::Error> {
        self.0.register(Box::new(family.clone()))?;
        Ok(family)
    }

    pub(super) fn counter(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn gauge(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn seconds_gauge(
        self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<prometheus::GaugeVec, prometheus::Error> {
        self.add(prometheus::GaugeVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn histogram(
        self,
        opts: HistogramOpts,
        labels: &[&str],
    ) -> Result<HistogramVec, prometheus::Error> {
        self.add(HistogramVec::new(opts, labels)?)
    }
}

//! What one work queue reports. No I/O.
//!
//! Families: client-go's workqueue as controller-runtime labels it, with the controller's name under both `name` and
//! `controller`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
};

use super::metrics::{Families, saturating};

const LABELS: [&str; 2] = ["name", "controller"];

/// Upper bounds in seconds of the queue's histograms: 10 ns to 1000 s, each ten times the last.
const QUEUE_SECONDS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

/// Series of one work queue.
#[derive(Clone)]
pub struct QueueMetrics {
    depth: IntGauge,
    adds: IntCounter,
    retries: IntCounter,
    waited: Histogram,
    worked: Histogram,
    in_flight: Arc<InFlight>,
}

impl QueueMetrics {
    /// An item entered the queue.
    pub fn added(&self) {
        self.adds.inc();
    }

    /// An item is to be tried again after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// How many items wait at present.
    pub fn depth(&self, items: usize) {
        self.depth.set(saturating(items));
    }

    /// A worker took an item that had waited this long; the item counts as in work until the guard is dropped.
    #[must_use = "the item counts as in work only while the guard lives"]
    pub fn taken(&self, waited: Duration) -> TakenItem {
        self.waited.observe(waited.as_secs_f64());
        let started = Instant::now();
        TakenItem {
            started,
            ticket: self.in_flight.begin(started),
            worked: self.worked.clone(),
            in_flight: Arc::clone(&self.in_flight),
        }
    }

    pub(super) fn in_flight(&self) -> Arc<InFlight> {
        Arc::clone(&self.in_flight)
    }
}

/// An item in work; see [`QueueMetrics::taken`].
pub struct TakenItem {
    started: Instant,
    ticket: u64,
    worked: Histogram,
    in_flight: Arc<InFlight>,
}

impl Drop for TakenItem {
    fn drop(&mut self) {
        self.in_flight.end(self.ticket);
        self.worked.observe(self.started.elapsed().as_secs_f64());
    }
}

/// When each item in work was taken.
#[derive(Default)]
pub(super) struct InFlight(Mutex<Tickets>);

#[derive(Default)]
struct Tickets {
    next: u64,
    started: BTreeMap<u64, Instant>,
}

/// How long the items in work have been worked on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Running {
    /// All of them together.
    pub(super) total: Duration,
    /// The one that was taken first.
    pub(super) longest: Duration,
}

impl InFlight {
    pub(super) fn begin(&self, now: Instant) -> u64 {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = tickets.next;
        tickets.next = ticket.wrapping_add(1);
        tickets.started.insert(ticket, now);
        ticket
    }

    pub(super) fn end(&self, ticket: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).started.remove(&ticket);
    }

    pub(super) fn running(&self, now: Instant) -> Running {
        let started: Vec<Instant> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).started.values().copied().collect();
        let ages = started.iter().map(|started| now.saturating_duration_since(*started));
        Running { total: ages.clone().sum(), longest: ages.max().unwrap_or_default() }
    }
}

/// The families that all queues share.
pub(super) struct QueueFamilies {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
}

impl QueueFamilies {
    pub(super) fn register(families: Families<'_>) -> Result<Self, prometheus::Error> {
        let histogram = |name: &str, help: &str| {
            families.histogram(HistogramOpts::new(name, help).buckets(QUEUE_SECONDS.to_vec()), &LABELS)
        };
        Ok(Self {
            depth: families.gauge("workqueue_depth", "Current depth of workqueue", &LABELS)?,
            adds: families.counter(
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
                &LABELS,
            )?,
            retries: families.counter(
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                &LABELS,
            )?,
            waited: histogram(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
            )?,
            worked: histogram(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes",
            )?,
            unfinished: families.seconds_gauge(
                "workqueue_unfinished_work_seconds",
                "Seconds spent so far on the items in work, all together; steady growth means stuck workers",
                &LABELS,
            )?,
            longest: families.seconds_gauge(
                "workqueue_longest_running_processor_seconds",
                "Seconds spent so far on the item that has been in work longest",
                &LABELS,
            )?,
        })
    }

    /// The queue's handle, and the two gauges that grow with time alone.
    pub(super) fn of(&self, name: &'static str) -> (QueueMetrics, Gauge, Gauge) {
        let labels = [name, name];
        let queue = QueueMetrics {
            depth: self.depth.with_label_values(&labels),
            adds: self.adds.with_label_values(&labels),
            retries: self.retries.with_label_values(&labels),
            waited: self.waited.with_label_values(&labels),
            worked: self.worked.with_label_values(&labels),
            in_flight: Arc::default(),
        };
        (queue, self.unfinished.with_label_values(&labels), self.longest.with_label_values(&labels))
    }
}

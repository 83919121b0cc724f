//! What one controller reports about its reconciles. No I/O.
//!
//! Families and the way an outcome maps to them: controller-runtime, `pkg/internal/controller`.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::metrics::{Families, saturating};

/// Upper bounds in seconds of `controller_runtime_reconcile_time_seconds`.
const RECONCILE_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done; nothing is due until something changes.
    Success,
    /// Done for now; comes again at once.
    Requeue,
    /// Done for now; comes again after a time of the controller's choice.
    RequeueAfter,
    /// Failed; comes again with backoff.
    Error,
    /// Failed in a way that a retry cannot mend.
    TerminalError,
    /// Panicked; the panic was caught.
    Panic,
    /// Did not end within its time.
    Timeout,
}

/// Series of one controller.
#[derive(Clone)]
pub struct ControllerMetrics {
    name: &'static str,
    results: Results,
    errors: IntCounter,
    terminal_errors: IntCounter,
    panics: IntCounter,
    timeouts: IntCounter,
    seconds: Histogram,
    active: IntGauge,
    classes: IntCounterVec,
}

#[derive(Clone)]
struct Results {
    success: IntCounter,
    error: IntCounter,
    requeue: IntCounter,
    requeue_after: IntCounter,
}

impl ControllerMetrics {
    /// A reconcile begins; the worker counts as active until the guard is dropped.
    #[must_use = "the worker counts as active only while the guard lives"]
    pub fn started(&self) -> ActiveWorker {
        self.active.inc();
        ActiveWorker { active: self.active.clone() }
    }

    /// A reconcile ended after `took`.
    ///
    /// Every failure counts in `reconcile_errors_total`; those with a family of their own count there as well.
    pub fn finished(&self, outcome: Outcome, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        match outcome {
            Outcome::Success => self.results.success.inc(),
            Outcome::Requeue => self.results.requeue.inc(),
            Outcome::RequeueAfter => self.results.requeue_after.inc(),
            Outcome::Error => self.failed(),
            Outcome::TerminalError => self.failed_with(&self.terminal_errors),
            Outcome::Panic => self.failed_with(&self.panics),
            Outcome::Timeout => self.failed_with(&self.timeouts),
        }
    }

    /// Makes the series of these error classes exist at zero.
    pub fn declare_error_classes(&self, classes: &[&'static str]) {
        for class in classes {
            self.classes.with_label_values(&[self.name, class]);
        }
    }

    /// A reconcile failed with an error of `class`: one of few fixed words, never a message or an object's name.
    pub fn error_class(&self, class: &'static str) {
        self.classes.with_label_values(&[self.name, class]).inc();
    }

    fn failed(&self) {
        self.errors.inc();
        self.results.error.inc();
    }

    fn failed_with(&self, counter: &IntCounter) {
        counter.inc();
        self.failed();
    }
}

/// A reconcile that runs; see [`ControllerMetrics::started`].
pub struct ActiveWorker {
    active: IntGauge,
}

impl Drop for ActiveWorker {
    fn drop(&mut self) {
        self.active.dec();
    }
}

/// The families that all controllers share.
pub(super) struct ControllerFamilies {
    total: IntCounterVec,
    errors: IntCounterVec,
    terminal_errors: IntCounterVec,
    panics: IntCounterVec,
    timeouts: IntCounterVec,
    seconds: HistogramVec,
    max_concurrent: IntGaugeVec,
    active: IntGaugeVec,
    classes: IntCounterVec,
}

impl ControllerFamilies {
    pub(super) fn register(families: Families<'_>) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str| families.counter(name, help, &["controller"]);
        Ok(Self {
            total: families.counter(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
            )?,
            errors: counter(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
            )?,
            terminal_errors: counter(
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
            )?,
            panics: counter(
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
            )?,
            timeouts: counter(
                "controller_runtime_reconcile_timeouts_total",
                "Total number of reconciliation timeouts per controller",
            )?,
            seconds: families.histogram(
                HistogramOpts::new(
                    "controller_runtime_reconcile_time_seconds",
                    "Length of time per reconciliation per controller",
                )
                .buckets(RECONCILE_SECONDS.to_vec()),
                &["controller"],
            )?,
            max_concurrent: families.gauge(
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                &["controller"],
            )?,
            active: families.gauge(
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                &["controller"],
            )?,
            classes: families.counter(
                "egapp_reconcile_errors_total",
                "Failed reconciliations by class of error; the class decides when they are tried again.",
                &["controller", "class"],
            )?,
        })
    }

    pub(super) fn of(&self, name: &'static str, max_concurrent: usize) -> ControllerMetrics {
        self.max_concurrent.with_label_values(&[name]).set(saturating(max_concurrent));
        let result = |result| self.total.with_label_values(&[name, result]);
        ControllerMetrics {
            name,
            results: Results {
                success: result("success"),
                error: result("error"),
                requeue: result("requeue"),
                requeue_after: result("requeue_after"),
            },
            errors: self.errors.with_label_values(&[name]),
            terminal_errors: self.terminal_errors.with_label_values(&[name]),
            panics: self.panics.with_label_values(&[name]),
            timeouts: self.timeouts.with_label_values(&[name]),
            seconds: self.seconds.with_label_values(&[name]),
            active: self.active.with_label_values(&[name]),
            classes: self.classes.clone(),
        }
    }
}

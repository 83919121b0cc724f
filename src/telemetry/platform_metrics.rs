//! The metrics of the platform file. No I/O.

use k8s_openapi::jiff::Timestamp;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::metrics::Families;

/// The families of the platform file; names after those that Prometheus has for its own configuration.
pub(super) struct PlatformFamilies {
    reloads: IntCounterVec,
    is_good: IntGaugeVec,
    since: IntGaugeVec,
}

impl PlatformFamilies {
    pub(super) fn register(families: Families<'_>) -> Result<Self, prometheus::Error> {
        Ok(Self {
            reloads: families.counter(
                "egapp_platform_config_reloads_total",
                "Changes of the platform file that were taken (success) or refused (failure).",
                &["result"],
            )?,
            is_good: families.gauge(
                "egapp_platform_config_last_reload_successful",
                "1 while the platform file says what holds, 0 while it is refused and the last good one holds.",
                &[],
            )?,
            since: families.gauge(
                "egapp_platform_config_last_reload_success_timestamp_seconds",
                "When the platform that holds was read, in seconds since 1970.",
                &[],
            )?,
        })
    }

    /// The series, of a platform that has been read just now.
    pub(super) fn series(&self) -> PlatformMetrics {
        let [success, failure] =
            ["success", "failure"].map(|result| self.reloads.with_label_values(&[result]));
        let none: [&str; 0] = [];
        let metrics = PlatformMetrics {
            success,
            failure,
            is_good: self.is_good.with_label_values(&none),
            since: self.since.with_label_values(&none),
        };
        metrics.good();
        metrics.since.set(Timestamp::now().as_second());
        metrics
    }
}

/// What becomes of the platform file.
#[derive(Clone)]
pub struct PlatformMetrics {
    success: IntCounter,
    failure: IntCounter,
    is_good: IntGauge,
    since: IntGauge,
}

impl PlatformMetrics {
    /// The file says what holds.
    pub fn good(&self) {
        self.is_good.set(1);
    }

    /// Another platform holds.
    pub fn changed(&self) {
        self.good();
        self.success.inc();
        self.since.set(Timestamp::now().as_second());
    }

    /// What the file says cannot be used.
    pub fn refused(&self) {
        self.is_good.set(0);
        self.failure.inc();
    }
}

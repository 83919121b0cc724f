//! The metrics of a platform change on its way to the apps. No I/O.

use prometheus::{IntGauge, IntGaugeVec};

use super::metrics::{Families, saturating};

/// The families of a platform change.
pub(super) struct ChangeFamilies {
    apps: IntGaugeVec,
    halted: IntGaugeVec,
}

impl ChangeFamilies {
    pub(super) fn register(families: Families<'_>) -> Result<Self, prometheus::Error> {
        Ok(Self {
            apps: families.gauge(
                "egapp_platform_change_apps",
                "Apps that wait for a platform change (pending), are on their way (rolling) or fail with it (failing).",
                &["environment", "state"],
            )?,
            halted: families.gauge(
                "egapp_platform_change_halted",
                "1 while an app that fails with a platform change keeps it from all others.",
                &[],
            )?,
        })
    }

    pub(super) fn series(&self) -> ChangeMetrics {
        let none: [&str; 0] = [];
        ChangeMetrics { apps: self.apps.clone(), halted: self.halted.with_label_values(&none) }
    }
}

/// How far a platform change is.
#[derive(Clone)]
pub struct ChangeMetrics {
    apps: IntGaugeVec,
    halted: IntGauge,
}

impl ChangeMetrics {
    /// So many apps of that environment are in that state.
    pub fn apps(&self, environment: &str, state: &str, count: usize) {
        self.apps.with_label_values(&[environment, state]).set(saturating(count));
    }

    /// Whether the change is halted.
    pub fn halted(&self, is_halted: bool) {
        self.halted.set(i64::from(is_halted));
    }
}

//! What the process tells about itself: logs and metrics.
//!
//! Knows nothing of controllers, servers or the cluster: the parts of the manager report through the types here.
//! The only I/O is the log line written to standard error.

mod chain;
mod change_metrics;
mod controller_metrics;
mod log_format;
mod logging;
#[cfg(test)]
mod logging_tests;
mod metrics;
#[cfg(test)]
mod metrics_tests;
mod platform_metrics;
mod queue_metrics;
mod request_metrics;

pub use chain::Chain;
pub use change_metrics::ChangeMetrics;
pub use controller_metrics::{ActiveWorker, ControllerMetrics, Outcome};
pub use logging::{Encoder, LogLevel, LogOptions, TimeEncoding, UnknownLevel, init_logging};
pub use metrics::{
    AccessMetrics, DenialMetrics, EventMetrics, LeaderMetrics, Metrics, MetricsError, WatchMetrics,
};
pub use platform_metrics::PlatformMetrics;
pub use queue_metrics::{QueueMetrics, TakenItem};
pub use request_metrics::{RequestMetrics, RequestMetricsLayer};

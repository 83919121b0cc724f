//! What a reconcile is handed: no globals.

use std::sync::Arc;

use super::cluster::Cluster;
use super::memory::Memories;
use super::pace::Pace;
use super::sync::Sync;
use crate::platform::Platform;
use crate::telemetry::{ControllerMetrics, WatchMetrics};

/// Everything that passes over EGApps share.
pub struct Context {
    /// Local copies and writes.
    pub cluster: Cluster,
    /// How complete the copies are.
    pub sync: Sync,
    /// What the words of a spec mean.
    pub platform: Arc<Platform>,
    /// Counters of this controller.
    pub metrics: ControllerMetrics,
    /// Counters of the watch of EGApps.
    pub app_metrics: WatchMetrics,
    /// The budget for progress writes.
    pub pace: Pace,
    /// What is remembered between passes.
    pub memories: Memories,
}

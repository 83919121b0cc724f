//! Follows the platform file: takes what is good, keeps what was good, and lets everybody see which of the two it is.
//! File I/O, a log line, a metric, a note at the readiness probe and an event for each change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::controller::events::{News, Type};
use crate::controller::own_pod::OwnPod;
use crate::platform::{Look, Platform, PlatformError, PlatformFeed, PlatformFile};
use crate::server::{Gate, Gates};
use crate::telemetry::{Chain, Metrics, PlatformMetrics};

/// Between two looks. The kubelet takes up to a minute to bring a change of a ConfigMap, so more haste gains nothing.
const PERIOD: Duration = Duration::from_secs(1);

/// A file that is still refused is told of again after this time: events are kept for an hour.
const REMINDER: Duration = Duration::from_mins(30);

/// Where a change of the file is told.
pub(super) struct Heralds {
    /// Counts it.
    metrics: PlatformMetrics,
    /// Says it to who asks whether the process is ready. It is: a refused file changes nothing.
    gate: Gate,
    /// Has the events.
    own_pod: Arc<OwnPod>,
}

impl Heralds {
    /// Heralds of a process with these metrics and gates, in that pod.
    pub(super) fn new(metrics: &Metrics, gates: &Gates, own_pod: &Arc<OwnPod>) -> Self {
        let gate = gates.add_open("platform-config");
        Self { metrics: metrics.platform(), gate, own_pod: Arc::clone(own_pod) }
    }
}

/// The file, and whoever follows what it says.
pub(super) struct Follower {
    file: PlatformFile,
    feed: watch::Sender<Arc<Platform>>,
    heralds: Heralds,
    refused: Option<Refused>,
}

struct Refused {
    why: String,
    told: Instant,
}

/// Reads the platform for the first time; the follower of its file, where one is given.
pub(super) fn open(
    path: Option<&Path>,
    heralds: Heralds,
) -> Result<(PlatformFeed, Option<Follower>), PlatformError> {
    let Some(path) = path else {
        return Ok((watch::channel(Arc::new(Platform::built_in())).1, None));
    };
    let file = PlatformFile::open(path)?;
    let (feed, receiver) = watch::channel(Arc::clone(file.platform()));
    Ok((receiver, Some(Follower { file, feed, heralds, refused: None })))
}

impl Follower {
    /// Follows the file until `stop` is cancelled.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        while stop.run_until_cancelled(sleep(PERIOD)).await.is_some() {
            // A few kilobytes, mostly of a file system in memory: not worth a thread.
            match self.file.look() {
                Look::Nothing => self.remind(),
                Look::Same => {
                    self.good("the platform file can be used again, and says what has held all the time");
                }
                Look::Changed(platform) => self.changed(platform),
                Look::Refused(error) => self.refuse(&error),
            }
        }
    }

    fn good(&mut self, message: &str) {
        self.heralds.metrics.good();
        self.heralds.gate.ready();
        if self.refused.take().is_some() {
            info!("{message}");
            self.tell(Type::Normal, "PlatformConfigRestored", message.to_owned());
        }
    }

    fn changed(&mut self, platform: Arc<Platform>) {
        self.refused = None;
        self.heralds.metrics.changed();
        self.heralds.gate.ready();
        let message = "the platform file has changed: what it says holds from now on";
        info!("{message}");
        self.tell(Type::Normal, "PlatformConfigChanged", message.to_owned());
        self.feed.send_replace(platform);
    }

    fn refuse(&mut self, error: &PlatformError) {
        self.heralds.metrics.refused();
        self.complain(format!("{}; the last good one holds until the file is mended", Chain(error)));
    }

    fn remind(&mut self) {
        if let Some(Refused { why, told }) = &self.refused
            && told.elapsed() >= REMINDER
        {
            self.complain(why.clone());
        }
    }

    fn complain(&mut self, why: String) {
        error!("{why}");
        self.heralds.gate.degraded(why.clone());
        self.tell(Type::Warning, "PlatformConfigRefused", why.clone());
        self.refused = Some(Refused { why, told: Instant::now() });
    }

    fn tell(&self, type_: Type, reason: &str, note: String) {
        self.heralds.own_pod.tell(News { type_, reason: reason.to_owned(), action: "Reloading", note });
    }
}

//! The pod that this process runs in, about which events tell what concerns the operator as a whole. I/O through
//! [`Events`].

use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::events::{Bucket, Events, News};
use crate::telemetry::EventMetrics;

/// Who tells these events.
const REPORTER: &str = "pe-app-manager";

/// The pod of this process, which may not be known: outside of a cluster there is none.
pub struct OwnPod {
    regarding: Option<ObjectReference>,
    events: Events,
    limit: Mutex<Bucket>,
}

impl OwnPod {
    /// The pod that `regarding` refers to.
    #[must_use]
    pub fn new(regarding: Option<ObjectReference>, metrics: EventMetrics) -> Self {
        Self { regarding, events: Events::new(REPORTER, metrics), limit: Mutex::default() }
    }

    /// Tells it, if there is a pod.
    pub fn tell(&self, news: News) {
        let Some(regarding) = self.regarding.clone() else { return };
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        self.events.tell(regarding, &mut limit, news);
    }

    /// Sends what is told, until `stop` is cancelled. A standby tells too, so `client` may not be that of the
    /// controllers, which writes for the leader alone.
    pub async fn publish(&self, client: Client, stop: CancellationToken) {
        self.events.publish(client, stop).await;
    }
}

//! What a reconcile is handed: no globals.

use std::sync::Arc;

use super::cluster::Cluster;
use super::dropped::Dropped;
use super::endings::Endings;
use super::formers::Formers;
use super::memory::{Memories, Memory};
use super::news;
use super::pace::Pace;
use super::sync::Sync;
use super::turns::Turns;
use crate::controller::events::{Events, News};
use crate::controller::key::ObjectKey;
use crate::controller::own_pod::OwnPod;
use crate::platform::{Platform, PlatformFeed};
use crate::telemetry::{ControllerMetrics, WatchMetrics};

/// Everything that passes over EGApps share.
pub struct Context {
    /// Local copies and writes.
    pub cluster: Cluster,
    /// How complete the copies are.
    pub sync: Sync,
    /// What the words of a spec mean.
    pub platform: PlatformFeed,
    /// What they meant before.
    pub formers: Formers,
    /// Whose turn it is to get a platform change.
    pub turns: Turns,
    /// Hears what concerns the operator as a whole.
    pub own_pod: Arc<OwnPod>,
    /// Counters of this controller.
    pub metrics: ControllerMetrics,
    /// Counters of the watch of EGApps.
    pub app_metrics: WatchMetrics,
    /// What the API server does not keep of a status.
    pub dropped: Dropped,
    /// Which namespaces are being deleted.
    pub endings: Endings,
    /// The budget for progress writes.
    pub pace: Pace,
    /// What happened, for people.
    pub events: Events,
    /// What is remembered between passes.
    pub memories: Memories,
}

impl Context {
    /// What the words of a spec mean now.
    #[must_use]
    pub fn platform(&self) -> Arc<Platform> {
        Arc::clone(&self.platform.borrow())
    }

    /// Tells news of the EGApp with that key and uid, unless its namespace takes no more of them.
    pub fn tell(&self, key: &ObjectKey, uid: Option<&str>, memory: &mut Memory, news: News) {
        let uid = uid.unwrap_or_default();
        if !self.endings.has(key.namespace(), uid) {
            self.events.tell(news::regarding(key, uid), &mut memory.events, news);
        }
    }

    /// The namespace is being deleted: its EGApps are asked for nothing more.
    pub fn end(&self, namespace: &str) {
        let apps = &self.cluster.caches(namespace).apps;
        let keys = apps.keys().into_iter().filter(|key| key.namespace() == namespace);
        let uids = keys.filter_map(|key| apps.get(&key)).map(|entry| entry.uid().into());
        self.endings.begin(namespace, uids.collect());
    }
}

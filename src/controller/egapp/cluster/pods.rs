//! The names of the live pods of each EGApp, in as little memory as possible. Pure.
//!
//! A pod is an EGApp's if its controller is a ReplicaSet of the EGApp's Deployment. ReplicaSets need no watch for
//! that: the Deployment controller names them `<deployment>-<pod template hash>` and puts the same hash on each pod
//! (label `pod-template-hash`), and a pod whose owner does not exist is collected. Copied labels alone make no pod
//! an app's.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use kube::core::ObjectMeta;
use kube::runtime::watcher::Event;
use serde::Deserialize;

use crate::controller::key::ObjectKey;
use crate::controller::slim;
use egapp_api::labels;

/// A pod as it is decoded.
#[derive(Clone, Debug, Deserialize)]
pub struct PodView {
    #[serde(deserialize_with = "slim::metadata")]
    metadata: ObjectMeta,
    status: Option<PodState>,
}

#[derive(Clone, Debug, Deserialize)]
struct PodState {
    phase: Option<String>,
}

impl Resource for PodView {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Pod::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        Pod::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        Pod::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        Pod::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The live pods by EGApp.
#[derive(Default)]
pub struct PodIndex {
    state: RwLock<State>,
}

type Apps = BTreeMap<ObjectKey, Pods>;
type Pods = BTreeSet<Box<str>>;

#[derive(Default)]
struct State {
    apps: Apps,
    incoming: Apps,
}

impl PodIndex {
    /// The names of the app's live pods, sorted.
    #[must_use]
    pub fn names(&self, app: &ObjectKey) -> Vec<Box<str>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.apps.get(app).map(|pods| pods.iter().cloned().collect()).unwrap_or_default()
    }

    /// Takes in one event of the watch and returns the apps whose set of pods changed by it.
    pub fn handle(&self, event: Event<PodView>) -> Vec<ObjectKey> {
        let mut state = self.lock();
        match event {
            Event::Init => {
                state.incoming.clear();
                Vec::new()
            }
            Event::InitApply(pod) => {
                if let Some((app, name)) = live_pod_of_app(&pod) {
                    state.incoming.entry(app).or_default().insert(name);
                }
                Vec::new()
            }
            Event::InitDone => state.swap(),
            Event::Apply(pod) => match live_pod_of_app(&pod) {
                Some((app, name)) => {
                    let is_new = state.apps.entry(app.clone()).or_default().insert(name);
                    is_new.then_some(app).into_iter().collect()
                }
                None => state.remove(&pod),
            },
            Event::Delete(pod) => state.remove(&pod),
        }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn swap(&mut self) -> Vec<ObjectKey> {
        let before = std::mem::replace(&mut self.apps, std::mem::take(&mut self.incoming));
        let names_differ = |app: &&ObjectKey| {
            let (now, then) = (self.apps.get(*app), before.get(*app));
            now != then
        };
        let gone = before.keys().filter(|app| !self.apps.contains_key(*app));
        self.apps.keys().chain(gone).filter(names_differ).cloned().collect()
    }

    fn remove(&mut self, pod: &PodView) -> Vec<ObjectKey> {
        let Some(app) = labelled_app(pod) else { return Vec::new() };
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if self.remove_from(&app, name) {
            return vec![app];
        }
        if !is_live(pod) {
            return Vec::new();
        }
        // A live pod that is not its labelled app's: the label may have been changed by hand.
        let holds_it = |(app, pods): (&ObjectKey, &Pods)| {
            (app.namespace() == pod.metadata.namespace.as_deref()? && pods.contains(name))
                .then(|| app.clone())
        };
        let former: Vec<_> = self.apps.iter().filter_map(holds_it).collect();
        former.into_iter().filter(|app| self.remove_from(app, name)).collect()
    }

    fn remove_from(&mut self, app: &ObjectKey, pod: &str) -> bool {
        let Some(pods) = self.apps.get_mut(app) else { return false };
        let was_there = pods.remove(pod);
        if pods.is_empty() {
            self.apps.remove(app);
        }
        was_there
    }
}

fn is_live(pod: &PodView) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

fn labelled_app(pod: &PodView) -> Option<ObjectKey> {
    let app = pod.metadata.labels.as_ref()?.get(labels::EGAPP)?;
    Some(ObjectKey::new(pod.metadata.namespace.as_deref()?, app))
}

/// The app and the pod's name, if the pod is live (neither terminating nor finished) and the app's own.
fn live_pod_of_app(pod: &PodView) -> Option<(ObjectKey, Box<str>)> {
    let app = labelled_app(pod)?;
    let hash = pod.metadata.labels.as_ref()?.get("pod-template-hash")?;
    let owner =
        pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let is_owned = owner.kind == "ReplicaSet" && owner.name == format!("{}-{hash}", app.name());
    (is_live(pod) && is_owned).then_some((app, pod.metadata.name.as_deref()?.into()))
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;

//! The live pods of each EGApp: their names and what troubles them, in as little memory as possible. Pure.
//!
//! A pod is an EGApp's if its controller is a ReplicaSet of the EGApp's Deployment. ReplicaSets need no watch for
//! that: the Deployment controller names them `<deployment>-<pod template hash>` and puts the same hash on each pod
//! (label `pod-template-hash`), and a pod whose owner does not exist is collected. Copied labels alone make no pod
//! an app's.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::Event;

use super::pod_view::PodView;
use super::trouble::{Trouble, trouble_of};
use crate::controller::egapp::names;
use crate::controller::key::ObjectKey;
use egapp_api::labels;

/// The live pods by EGApp.
#[derive(Default)]
pub struct PodIndex {
    state: RwLock<State>,
}

type Apps = BTreeMap<ObjectKey, Pods>;

/// By name; a healthy pod costs its name and a pointer.
type Pods = BTreeMap<Box<str>, Option<Arc<Trouble>>>;

#[derive(Default)]
struct State {
    apps: Apps,
    incoming: Apps,
}

impl PodIndex {
    /// The names of the app's live pods, sorted.
    #[must_use]
    pub fn names(&self, app: &ObjectKey) -> Vec<Box<str>> {
        self.read().apps.get(app).map(|pods| pods.keys().cloned().collect()).unwrap_or_default()
    }

    /// What troubles the app's live pods, in the order of their names.
    #[must_use]
    pub fn troubles(&self, app: &ObjectKey) -> Vec<Arc<Trouble>> {
        let state = self.read();
        state.apps.get(app).map(|pods| pods.values().flatten().cloned().collect()).unwrap_or_default()
    }

    /// Takes in one event of the watch and returns the apps whose set of pods, or of troubles, changed by it.
    pub fn handle(&self, event: Event<PodView>) -> Vec<ObjectKey> {
        let mut state = self.lock();
        match event {
            Event::Init => {
                state.incoming.clear();
                Vec::new()
            }
            Event::InitApply(pod) => {
                if let Some((app, name)) = live_pod_of_app(&pod) {
                    let trouble = state.judge(&app, &name, &pod);
                    state.incoming.entry(app).or_default().insert(name, trouble);
                }
                Vec::new()
            }
            Event::InitDone => state.swap(),
            Event::Apply(pod) => match live_pod_of_app(&pod) {
                Some((app, name)) => {
                    let trouble = state.judge(&app, &name, &pod);
                    let former = state.apps.entry(app.clone()).or_default().insert(name, trouble.clone());
                    (former != Some(trouble)).then_some(app).into_iter().collect()
                }
                None => state.remove(&pod),
            },
            Event::Delete(pod) => state.remove(&pod),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn judge(&self, app: &ObjectKey, name: &str, pod: &PodView) -> Option<Arc<Trouble>> {
        let former = self.apps.get(app).and_then(|pods| pods.get(name)).and_then(Option::as_deref);
        trouble_of(pod, former).map(Arc::new)
    }

    fn swap(&mut self) -> Vec<ObjectKey> {
        let before = std::mem::replace(&mut self.apps, std::mem::take(&mut self.incoming));
        let differ = |app: &&ObjectKey| {
            let (now, then) = (self.apps.get(*app), before.get(*app));
            now != then
        };
        let gone = before.keys().filter(|app| !self.apps.contains_key(*app));
        self.apps.keys().chain(gone).filter(differ).cloned().collect()
    }

    fn remove(&mut self, pod: &PodView) -> Vec<ObjectKey> {
        let Some(app) = labelled_app(pod) else { return Vec::new() };
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if self.remove_from(&app, name) {
            return vec![app];
        }
        if !pod.is_live() {
            return Vec::new();
        }
        // A live pod that is not its labelled app's: the label may have been changed by hand.
        let holds_it = |(app, pods): (&ObjectKey, &Pods)| {
            (app.namespace() == pod.metadata.namespace.as_deref()? && pods.contains_key(name))
                .then(|| app.clone())
        };
        let former: Vec<_> = self.apps.iter().filter_map(holds_it).collect();
        former.into_iter().filter(|app| self.remove_from(app, name)).collect()
    }

    fn remove_from(&mut self, app: &ObjectKey, pod: &str) -> bool {
        let Some(pods) = self.apps.get_mut(app) else { return false };
        let was_there = pods.remove(pod).is_some();
        if pods.is_empty() {
            self.apps.remove(app);
        }
        was_there
    }
}

fn labelled_app(pod: &PodView) -> Option<ObjectKey> {
    Some(ObjectKey::new(pod.metadata.namespace.as_deref()?, pod.label(labels::EGAPP)?))
}

/// The app and the pod's name, if the pod is live (neither terminating nor finished) and the app's own.
fn live_pod_of_app(pod: &PodView) -> Option<(ObjectKey, Box<str>)> {
    let app = labelled_app(pod)?;
    let hash = pod.label(names::TEMPLATE_HASH)?;
    let owner =
        pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let is_owned = owner.kind == "ReplicaSet" && owner.name == format!("{}-{hash}", app.name());
    (pod.is_live() && is_owned).then_some((app, pod.metadata.name.as_deref()?.into()))
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;

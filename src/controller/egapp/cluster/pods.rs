//! The live pods of each EGApp: their names and what troubles them, in as little memory as possible. Pure.
//!
//! A pod is an EGApp's if its controller is a ReplicaSet of the EGApp's Deployment. ReplicaSets need no watch for
//! that: the Deployment controller names them `<deployment>-<pod template hash>` and puts the same hash on each pod
//! (label `pod-template-hash`), and a pod whose owner does not exist is collected. Copied labels alone make no pod
//! an app's.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher::Event;

use super::pod_view::PodView;
use super::trouble::{Trouble, trouble_of, trouble_of_ended};
use crate::controller::egapp::names;
use crate::controller::key::ObjectKey;
use egapp_api::labels;
use egapp_api::v1alpha1::EffectiveResources;

/// The live pods by EGApp.
#[derive(Default)]
pub struct PodIndex {
    state: RwLock<State>,
}

type Apps = BTreeMap<ObjectKey, Pods>;

/// The pods of one app.
#[derive(Default, PartialEq, Eq)]
struct Pods {
    /// By name; a healthy pod costs its name and two pointers.
    live: BTreeMap<Box<str>, Kept>,
    /// Pods that their nodes have ended, the youngest few, the oldest first: what is left of a pod may stay for months.
    ended: Vec<(Box<str>, Arc<Trouble>)>,
}

/// What is kept of a live pod.
#[derive(Clone, PartialEq, Eq)]
struct Kept {
    trouble: Option<Arc<Trouble>>,
    /// Mostly shared with the pod's siblings.
    made: Option<Arc<Made>>,
}

/// What a pod was given, which may be more than its Deployment asks for: a `LimitRange` adds to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Made {
    /// The pod's template hash.
    pub template: Box<str>,
    /// The resources of the app's container.
    pub resources: EffectiveResources,
}

/// So many pods that their nodes have ended are kept of an app.
const ENDED: usize = 4;

#[derive(Default)]
struct State {
    apps: Apps,
    incoming: Apps,
}

impl PodIndex {
    /// The names of the app's live pods, sorted.
    #[must_use]
    pub fn names(&self, app: &ObjectKey) -> Vec<Box<str>> {
        self.read().apps.get(app).map(|pods| pods.live.keys().cloned().collect()).unwrap_or_default()
    }

    /// What troubles the app's live pods, in the order of their names; then what ended others.
    #[must_use]
    pub fn troubles(&self, app: &ObjectKey) -> Vec<Arc<Trouble>> {
        self.read().apps.get(app).map(Pods::troubles).unwrap_or_default()
    }

    /// What the app's live pods were given, in the order of their names; the same in a row once.
    #[must_use]
    pub fn made(&self, app: &ObjectKey) -> Vec<Arc<Made>> {
        self.read().apps.get(app).map(Pods::made).unwrap_or_default()
    }

    /// Takes in one event of the watch, got at `now`, and returns the apps of whose pods something else is known by it.
    pub fn handle(&self, event: Event<PodView>, now: Timestamp) -> Vec<ObjectKey> {
        let mut state = self.lock();
        match event {
            Event::Init => {
                state.incoming.clear();
                Vec::new()
            }
            Event::InitApply(pod) => {
                if let Some((app, name)) = pod_of_app(&pod) {
                    let former = state.apps.get(&app);
                    let place = Place::of(&pod, former.and_then(|pods| pods.live.get(&name)), now);
                    if !matches!(place, Place::Nowhere) {
                        state.incoming.entry(app).or_default().put(name, place);
                    }
                }
                Vec::new()
            }
            Event::InitDone => state.swap(),
            Event::Apply(pod) => match pod_of_app(&pod) {
                Some((app, name)) => state.put(app, name, &pod, now),
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

/// Where a pod belongs.
enum Place {
    Live(Kept),
    Ended(Arc<Trouble>),
    Nowhere,
}

impl Place {
    fn of(pod: &PodView, former: Option<&Kept>, now: Timestamp) -> Self {
        if !pod.is_live() {
            let trouble =
                trouble_of_ended(pod).filter(|trouble| trouble.until.is_none_or(|until| now < until));
            return trouble.map_or(Self::Nowhere, |trouble| Self::Ended(Arc::new(trouble)));
        }
        let trouble = trouble_of(pod, former.and_then(|kept| kept.trouble.as_deref()), now).map(Arc::new);
        let made = pod.resources().map(|resources| Made {
            template: pod.label(names::TEMPLATE_HASH).unwrap_or_default().into(),
            resources: resources.clone(),
        });
        Self::Live(Kept { trouble, made: made.map(Arc::new) })
    }
}

impl Pods {
    fn troubles(&self) -> Vec<Arc<Trouble>> {
        let live = self.live.values().filter_map(|kept| kept.trouble.clone());
        live.chain(self.ended.iter().map(|(_, trouble)| Arc::clone(trouble))).collect()
    }

    fn made(&self) -> Vec<Arc<Made>> {
        let mut made: Vec<_> = self.live.values().filter_map(|kept| kept.made.clone()).collect();
        made.dedup_by(|a, b| Arc::ptr_eq(a, b));
        made
    }

    /// Whether something else is known by it.
    fn put(&mut self, name: Box<str>, place: Place) -> bool {
        match place {
            Place::Live(kept) => {
                let kept = self.shared(&name, kept);
                self.live.insert(name, kept.clone()) != Some(kept)
            }
            Place::Ended(trouble) => {
                let (was_live, before) = (self.live.remove(&name).is_some(), self.ended.clone());
                self.ended.retain(|(known, _)| *known != name);
                self.ended.push((name, trouble));
                self.ended.sort_by(|(a, one), (b, other)| (one.until, a).cmp(&(other.until, b)));
                let excess = self.ended.len().saturating_sub(ENDED);
                self.ended.drain(..excess);
                was_live || self.ended != before
            }
            Place::Nowhere => self.remove(&name),
        }
    }

    /// The same, with what a sibling was given, too, held once.
    fn shared(&self, name: &str, kept: Kept) -> Kept {
        let siblings = [self.live.get(name), self.live.values().next(), self.live.values().next_back()];
        let same = siblings.into_iter().flatten().find(|sibling| sibling.made == kept.made);
        match same {
            Some(sibling) => Kept { made: sibling.made.clone(), ..kept },
            None => kept,
        }
    }

    /// Whether it was there.
    fn remove(&mut self, name: &str) -> bool {
        let before = self.ended.len();
        self.ended.retain(|(known, _)| **known != *name);
        self.live.remove(name).is_some() || self.ended.len() != before
    }

    fn is_empty(&self) -> bool {
        self.live.is_empty() && self.ended.is_empty()
    }
}

impl State {
    fn put(&mut self, app: ObjectKey, name: Box<str>, pod: &PodView, now: Timestamp) -> Vec<ObjectKey> {
        let pods = self.apps.entry(app.clone()).or_default();
        let place = Place::of(pod, pods.live.get(&name), now);
        let is_news = pods.put(name, place);
        if pods.is_empty() {
            self.apps.remove(&app);
        }
        is_news.then_some(app).into_iter().collect()
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
            (app.namespace() == pod.metadata.namespace.as_deref()? && pods.live.contains_key(name))
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

fn labelled_app(pod: &PodView) -> Option<ObjectKey> {
    Some(ObjectKey::new(pod.metadata.namespace.as_deref()?, pod.label(labels::EGAPP)?))
}

/// The app and the pod's name, if the pod is the app's own, and not being deleted.
fn pod_of_app(pod: &PodView) -> Option<(ObjectKey, Box<str>)> {
    let app = labelled_app(pod)?;
    let hash = pod.label(names::TEMPLATE_HASH)?;
    let owner =
        pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let is_owned = owner.kind == "ReplicaSet" && owner.name == format!("{}-{hash}", app.name());
    let is_there = pod.metadata.deletion_timestamp.is_none();
    (is_there && is_owned).then_some((app, pod.metadata.name.as_deref()?.into()))
}

#[cfg(test)]
#[path = "pods_tests.rs"]
mod tests;

//! Which HorizontalPodAutoscalers scale which app, through its Deployment or through the EGApp itself. Pure.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use kube::Resource;
use kube::runtime::watcher::Event;

use super::View;
use crate::controller::key::ObjectKey;
use egapp_api::v1alpha1::EGApp;

/// A kind of object that autoscalers scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A Deployment.
    Deployment,
    /// An EGApp, by its scale subresource.
    EGApp,
}

/// No object has a longer name, though an autoscaler may say one.
const LONGEST_NAME: usize = 253;

/// An autoscaler, and what it scales, if that is of a kind that matters here.
pub type Aim = (ObjectKey, Option<(Target, Box<str>)>);

impl Target {
    fn of(api_version: Option<&str>, kind: &str) -> Option<Self> {
        let (group, _) = api_version?.split_once('/')?;
        match kind {
            _ if kind == Deployment::kind(&()) && group == Deployment::group(&()) => Some(Self::Deployment),
            _ if kind == EGApp::kind(&()) && group == EGApp::group(&()) => Some(Self::EGApp),
            _ => None,
        }
    }
}

impl View<HorizontalPodAutoscaler> {
    /// What it scales.
    #[must_use]
    pub fn aim(&self) -> Aim {
        let spec = self.spec::<HorizontalPodAutoscalerSpec>();
        let target = spec.map(|spec| spec.scale_target_ref).and_then(|target| {
            let kind = Target::of(target.api_version.as_deref(), &target.kind)?;
            (target.name.len() <= LONGEST_NAME).then(|| (kind, target.name.into()))
        });
        (ObjectKey::of(self.meta()), target)
    }
}

/// The autoscalers by what they scale.
#[derive(Default)]
pub struct Autoscalers {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    targets: BTreeMap<ObjectKey, (Target, Box<str>)>,
    /// Their names, sorted: nearly always one, for which a set would take ten times the memory.
    by_target: BTreeMap<Target, BTreeMap<ObjectKey, Vec<Box<str>>>>,
    /// The list that is being received.
    incoming: BTreeMap<ObjectKey, (Target, Box<str>)>,
}

impl Autoscalers {
    /// Names of the autoscalers that scale the object of that kind and name, sorted.
    #[must_use]
    pub fn of(&self, target: Target, key: &ObjectKey) -> Vec<Box<str>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.of(target, key).cloned().unwrap_or_default()
    }

    /// Takes in one event of the watch and returns the names of the apps that are scaled otherwise since.
    pub fn handle(&self, event: Event<Aim>) -> Vec<ObjectKey> {
        let mut state = self.lock();
        match event {
            Event::Init => {
                state.incoming.clear();
                Vec::new()
            }
            Event::InitApply((key, target)) => {
                if let Some(target) = target {
                    state.incoming.insert(key, target);
                }
                Vec::new()
            }
            Event::InitDone => state.swap(),
            Event::Apply((key, target)) => state.aim(key, target),
            Event::Delete((key, _)) => state.aim(key, None),
        }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&self, target: Target, key: &ObjectKey) -> Option<&Vec<Box<str>>> {
        self.by_target.get(&target)?.get(key)
    }

    fn swap(&mut self) -> Vec<ObjectKey> {
        let incoming = std::mem::take(&mut self.incoming);
        let gone: Vec<_> = self.targets.keys().filter(|key| !incoming.contains_key(*key)).cloned().collect();
        let mut touched: Vec<_> = gone.into_iter().flat_map(|key| self.aim(key, None)).collect();
        touched.extend(incoming.into_iter().flat_map(|(key, target)| self.aim(key, Some(target))));
        touched
    }

    fn aim(&mut self, key: ObjectKey, target: Option<(Target, Box<str>)>) -> Vec<ObjectKey> {
        let former = self.targets.get(&key).cloned();
        if former == target {
            return Vec::new();
        }
        let app = |name: &str| ObjectKey::new(key.namespace(), name);
        let mut touched = Vec::new();
        if let Some((kind, former)) = former {
            let (former, of_kind) = (app(&former), self.by_target.entry(kind).or_default());
            if let Some(names) = of_kind.get_mut(&former) {
                names.retain(|name| **name != *key.name());
                if names.is_empty() {
                    of_kind.remove(&former);
                }
            }
            self.targets.remove(&key);
            touched.push(former);
        }
        if let Some((kind, name)) = target {
            let next = app(&name);
            let of_kind = self.by_target.entry(kind).or_default();
            let names = of_kind.entry(next.clone()).or_insert_with(|| Vec::with_capacity(1));
            names.push(key.name().into());
            names.sort_unstable();
            self.targets.insert(key, (kind, name));
            touched.push(next);
        }
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("team", name)
    }

    fn aim(name: &str, target: &str) -> Aim {
        (key(name), Some((Target::Deployment, target.into())))
    }

    #[test]
    fn an_autoscaler_that_turns_to_another_deployment_touches_both() {
        let autoscalers = Autoscalers::default();
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "web"))), [key("web")]);
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "web"))), []);
        assert_eq!(autoscalers.of(Target::Deployment, &key("web")), ["hpa".into()]);
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "api"))), [key("web"), key("api")]);
        assert!(autoscalers.of(Target::Deployment, &key("web")).is_empty());
        assert_eq!(autoscalers.handle(Event::Apply((key("hpa"), None))), [key("api")]);
        let State { targets, by_target, .. } = std::mem::take(&mut *autoscalers.lock());
        assert!(targets.is_empty() && by_target.values().all(BTreeMap::is_empty));
    }

    #[test]
    fn the_deployment_and_the_egapp_of_one_name_are_told_apart() {
        let autoscalers = Autoscalers::default();
        let target = Target::of(Some("egplatform.platform.evillgenius.com/v1alpha1"), "EGApp").unwrap();
        assert_eq!(Target::of(Some("apps/v1"), "StatefulSet"), None);
        assert_eq!(Target::of(Some("other.example.com/v1"), "Deployment"), None);
        autoscalers.handle(Event::Apply(aim("hpa", "web")));
        assert_eq!(
            autoscalers.handle(Event::Apply((key("hpa"), Some((target, "web".into()))))),
            [key("web"), key("web")]
        );
        assert!(autoscalers.of(Target::Deployment, &key("web")).is_empty());
        assert_eq!(autoscalers.of(Target::EGApp, &key("web")), ["hpa".into()]);
    }

    #[test]
    fn a_new_list_replaces_what_was_known() {
        let autoscalers = Autoscalers::default();
        autoscalers.handle(Event::Apply(aim("stays", "web")));
        autoscalers.handle(Event::Apply(aim("goes", "web")));
        autoscalers.handle(Event::Init);
        autoscalers.handle(Event::InitApply(aim("stays", "web")));
        autoscalers.handle(Event::InitApply(aim("new", "api")));
        assert_eq!(autoscalers.handle(Event::InitDone), [key("web"), key("api")]);
        assert_eq!(autoscalers.of(Target::Deployment, &key("web")), ["stays".into()]);
    }
}

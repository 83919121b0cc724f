//! Which HorizontalPodAutoscalers scale which Deployment, whoever they belong to. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use kube::Resource;
use kube::runtime::watcher::Event;

use super::View;
use crate::controller::key::ObjectKey;

/// An autoscaler, and the Deployment that it scales, if it scales one.
pub type Aim = (ObjectKey, Option<Box<str>>);

impl View<HorizontalPodAutoscaler> {
    /// What it scales. A target that is no Deployment, as an EGApp's scale subresource, is nobody's business here.
    #[must_use]
    pub fn aim(&self) -> Aim {
        let spec = self.spec::<HorizontalPodAutoscalerSpec>();
        let target = spec.map(|spec| spec.scale_target_ref).filter(|target| {
            let group = target.api_version.as_deref().and_then(|version| version.split_once('/'));
            target.kind == Deployment::kind(&())
                && group.is_some_and(|(group, _)| group == Deployment::group(&()))
        });
        (ObjectKey::of(self.meta()), target.map(|target| target.name.into()))
    }
}

/// The autoscalers by what they scale.
#[derive(Default)]
pub struct Autoscalers {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    targets: BTreeMap<ObjectKey, Box<str>>,
    of_deployment: BTreeMap<ObjectKey, BTreeSet<Box<str>>>,
    /// The list that is being received.
    incoming: BTreeMap<ObjectKey, Box<str>>,
}

impl Autoscalers {
    /// Names of the autoscalers that scale the Deployment of that name, sorted.
    #[must_use]
    pub fn of(&self, deployment: &ObjectKey) -> Vec<Box<str>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.of_deployment.get(deployment).map(|names| names.iter().cloned().collect()).unwrap_or_default()
    }

    /// Takes in one event of the watch and returns the Deployments that are scaled otherwise since.
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
    fn swap(&mut self) -> Vec<ObjectKey> {
        let incoming = std::mem::take(&mut self.incoming);
        let gone: Vec<_> = self.targets.keys().filter(|key| !incoming.contains_key(*key)).cloned().collect();
        let mut touched: Vec<_> = gone.into_iter().flat_map(|key| self.aim(key, None)).collect();
        touched.extend(incoming.into_iter().flat_map(|(key, target)| self.aim(key, Some(target))));
        touched
    }

    fn aim(&mut self, key: ObjectKey, target: Option<Box<str>>) -> Vec<ObjectKey> {
        let former = self.targets.get(&key).cloned();
        if former == target {
            return Vec::new();
        }
        let deployment = |name: &str| ObjectKey::new(key.namespace(), name);
        let mut touched = Vec::new();
        if let Some(former) = former {
            let former = deployment(&former);
            if let Some(names) = self.of_deployment.get_mut(&former) {
                names.remove(key.name());
                if names.is_empty() {
                    self.of_deployment.remove(&former);
                }
            }
            self.targets.remove(&key);
            touched.push(former);
        }
        if let Some(target) = target {
            let next = deployment(&target);
            self.of_deployment.entry(next.clone()).or_default().insert(key.name().into());
            self.targets.insert(key, target);
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
        (key(name), Some(target.into()))
    }

    #[test]
    fn an_autoscaler_that_turns_to_another_deployment_touches_both() {
        let autoscalers = Autoscalers::default();
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "web"))), [key("web")]);
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "web"))), []);
        assert_eq!(autoscalers.of(&key("web")), ["hpa".into()]);
        assert_eq!(autoscalers.handle(Event::Apply(aim("hpa", "api"))), [key("web"), key("api")]);
        assert!(autoscalers.of(&key("web")).is_empty());
        assert_eq!(autoscalers.handle(Event::Apply((key("hpa"), None))), [key("api")]);
        assert!(autoscalers.lock().targets.is_empty() && autoscalers.lock().of_deployment.is_empty());
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
        assert_eq!(autoscalers.of(&key("web")), ["stays".into()]);
    }
}

//! Which PodDisruptionBudgets that are no app's own select the pods of which app. Pure.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::Resource;
use kube::runtime::watcher::Event;

use super::View;
use super::children::controller_of;
use crate::controller::key::ObjectKey;

/// A selector of more bytes is taken for one that selects nothing: a budget's has a few labels.
const LARGEST: usize = 8 * 1024;

/// A budget, and what it selects; `None` where that is nothing, or the pods of the app that it belongs to.
pub type Selection = (ObjectKey, Option<LabelSelector>);

/// The labels of a pod.
type Labels = BTreeMap<String, String>;

/// By namespace and name.
type Selectors = BTreeMap<Box<str>, BTreeMap<Box<str>, LabelSelector>>;

impl View<PodDisruptionBudget> {
    /// What it selects.
    #[must_use]
    pub fn selection(&self) -> Selection {
        let is_an_apps = controller_of(self.meta()).is_some_and(|owner| owner.is_namesake);
        let spec = if is_an_apps { None } else { self.spec::<PodDisruptionBudgetSpec>() };
        let selector = spec.and_then(|spec| spec.selector);
        (ObjectKey::of(self.meta()), selector.filter(is_small))
    }
}

/// Each is kept, whoever makes it.
fn is_small(selector: &LabelSelector) -> bool {
    serde_json::to_string(selector).is_ok_and(|text| text.len() <= LARGEST)
}

/// The budgets that are no app's own.
#[derive(Default)]
pub struct Budgets {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    selectors: Selectors,
    /// The list that is being received.
    incoming: Selectors,
}

impl Budgets {
    /// Names of those in the namespace that select pods with the labels that `labels` gives, sorted. It is not asked where
    /// there is no budget.
    #[must_use]
    pub fn over(&self, namespace: &str, labels: impl FnOnce() -> Labels) -> Vec<Box<str>> {
        let state = self.read();
        let Some(budgets) = state.selectors.get(namespace) else { return Vec::new() };
        let labels = labels();
        let over = budgets.iter().filter(|(_, selector)| selects(selector, &labels));
        let names = over.map(|(name, _)| name.clone()).collect();
        drop(state);
        names
    }

    /// Takes in one event of the watch and returns the namespaces in which pods are selected otherwise since.
    pub fn handle(&self, event: Event<Selection>) -> Vec<Box<str>> {
        let mut state = self.write();
        match event {
            Event::Init => {
                state.incoming.clear();
                Vec::new()
            }
            Event::InitApply((key, selector)) => {
                set(&mut state.incoming, &key, selector);
                Vec::new()
            }
            Event::InitDone => {
                let incoming = std::mem::take(&mut state.incoming);
                let former = std::mem::replace(&mut state.selectors, incoming);
                let names = former.keys().chain(state.selectors.keys());
                let mut touched: Vec<_> =
                    names.filter(|name| former.get(*name) != state.selectors.get(*name)).cloned().collect();
                touched.sort_unstable();
                touched.dedup();
                touched
            }
            Event::Apply((key, selector)) => set(&mut state.selectors, &key, selector),
            Event::Delete((key, _)) => set(&mut state.selectors, &key, None),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets or removes one, and returns its namespace where that changes anything: the status of a budget often does.
fn set(selectors: &mut Selectors, key: &ObjectKey, selector: Option<LabelSelector>) -> Vec<Box<str>> {
    let former = selectors.get(key.namespace()).and_then(|budgets| budgets.get(key.name()));
    if former == selector.as_ref() {
        return Vec::new();
    }
    let namespace: Box<str> = key.namespace().into();
    let budgets = selectors.entry(namespace.clone()).or_default();
    match selector {
        Some(selector) => budgets.insert(key.name().into(), selector),
        None => budgets.remove(key.name()),
    };
    if budgets.is_empty() {
        selectors.remove(key.namespace());
    }
    vec![namespace]
}

/// Whether a selector of `policy/v1` matches: an empty one selects all, and what it does not know, nothing.
fn selects(LabelSelector { match_labels, match_expressions }: &LabelSelector, labels: &Labels) -> bool {
    match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
        && match_expressions.iter().flatten().all(|requirement| meets(requirement, labels))
}

fn meets(
    LabelSelectorRequirement { key, operator, values }: &LabelSelectorRequirement,
    labels: &Labels,
) -> bool {
    let found = labels.get(key);
    let is_among = found.is_some_and(|found| values.iter().flatten().any(|value| value == found));
    match operator.as_str() {
        "In" => is_among,
        "NotIn" => !is_among,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn selector(selector: Value) -> LabelSelector {
        serde_json::from_value(selector).unwrap()
    }

    fn selection(namespace: &str, name: &str, of: Value) -> Selection {
        (ObjectKey::new(namespace, name), Some(selector(of)))
    }

    fn labels() -> Labels {
        [("app".to_owned(), "web".to_owned()), ("tier".to_owned(), "front".to_owned())].into()
    }

    #[test]
    fn a_selector_means_what_kubernetes_means_by_it() {
        let expression = |operator: &str, key: &str, values: &[&str]| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        for (of, wanted) in [
            (json!({}), true),
            (json!({ "matchLabels": { "app": "web", "tier": "front" } }), true),
            (json!({ "matchLabels": { "app": "web", "more": "x" } }), false),
            (expression("In", "app", &["shop", "web"]), true),
            (expression("In", "more", &["x"]), false),
            (expression("NotIn", "app", &["web"]), false),
            (expression("NotIn", "more", &["web"]), true),
            (expression("Exists", "tier", &[]), true),
            (expression("DoesNotExist", "tier", &[]), false),
            (expression("Near", "tier", &[]), false),
            (
                json!({ "matchLabels": { "app": "web" }, "matchExpressions": [{ "key": "tier", "operator": "DoesNotExist" }] }),
                false,
            ),
        ] {
            assert_eq!(selects(&selector(of.clone()), &labels()), wanted, "{of}");
        }
    }

    #[test]
    fn a_namespace_is_touched_where_a_selector_comes_changes_or_goes() {
        let (budgets, all) = (Budgets::default(), json!({}));
        let touched = |event| budgets.handle(event).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(touched(Event::Apply(selection("a", "b1", all.clone()))), ["a"]);
        assert!(touched(Event::Apply(selection("a", "b1", all.clone()))).is_empty(), "its status alone");
        assert_eq!(budgets.over("a", labels), ["b1".into()]);
        assert!(budgets.over("b", || panic!("no budget, no question")).is_empty());
        assert_eq!(
            touched(Event::Apply(selection("a", "b1", json!({ "matchLabels": { "app": "x" } })))),
            ["a"]
        );
        assert!(budgets.over("a", labels).is_empty());
        assert_eq!(touched(Event::Delete((ObjectKey::new("a", "b1"), None))), ["a"]);
        touched(Event::Apply(selection("a", "b1", all.clone())));
        touched(Event::Apply(selection("b", "b2", all.clone())));
        touched(Event::Init);
        touched(Event::InitApply(selection("b", "b2", all.clone())));
        touched(Event::InitApply(selection("c", "b3", all)));
        assert_eq!(touched(Event::InitDone), ["a", "c"]);
    }
}

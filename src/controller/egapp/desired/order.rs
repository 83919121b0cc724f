//! The order of variables: `$(NAME)` stands for the value of a variable only behind it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::EnvVar;

use super::super::expansion::references;

/// A variable, and where it stands in the user's list if it is the user's.
pub(super) struct Variable {
    pub(super) entry: EnvVar,
    pub(super) position: Option<usize>,
}

/// Puts each variable behind those that it refers to, and keeps the order of the rest; the first `ours` of them stand in
/// places of the operator's. Two of the user's, one of which refers to the other, keep the user's order. Of variables that
/// refer to each other in a circle, one finds none.
pub(super) fn ordered(variables: Vec<Variable>, ours: usize) -> Vec<EnvVar> {
    let before = before_each(&variables, ours);
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    for position in 0..variables.len() {
        place(position, &before, &mut seen, &mut order);
    }
    let mut entries: Vec<_> = variables.into_iter().map(|variable| Some(variable.entry)).collect();
    order.into_iter().filter_map(|position| entries.get_mut(position)?.take()).collect()
}

/// Depth first. A variable that is under way already closes a circle.
fn place(
    position: usize,
    before: &BTreeMap<usize, BTreeSet<usize>>,
    seen: &mut BTreeSet<usize>,
    order: &mut Vec<usize>,
) {
    if !seen.insert(position) {
        return;
    }
    for former in before.get(&position).into_iter().flatten() {
        place(*former, before, seen, order);
    }
    order.push(position);
}

/// By the place of a variable those of others that must stand before it.
fn before_each(variables: &[Variable], ours: usize) -> BTreeMap<usize, BTreeSet<usize>> {
    let places = variables.iter().enumerate();
    let places: BTreeMap<_, _> =
        places.map(|(at, one)| (one.entry.name.as_str(), (at, one.position))).collect();
    let mut before: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, Variable { entry, position }) in variables.iter().enumerate() {
        let names = entry.value.iter().flat_map(|value| references(value));
        for (other, others_position) in names.filter_map(|name| places.get(name).copied()) {
            let (first, then) = match (position, others_position) {
                (Some(own), Some(others)) if *own < others => (at, other),
                // So the operator or the platform file has it.
                (None, _) if (at..ours).contains(&other) => continue,
                _ => (other, at),
            };
            before.entry(then).or_default().insert(first);
        }
    }
    before
}

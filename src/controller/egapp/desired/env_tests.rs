//! Variables in an order in which they find each other, whatever the user and the platform file write.

use std::collections::{BTreeMap, BTreeSet};

use egapp_api::v1alpha1::EGApp;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::super::super::expansion::references;
use super::super::super::validate::{SpecError, validate};
use super::*;
use crate::platform::Platform;

const OURS: [&str; 6] =
    ["POD_NAME", "POD_NAMESPACE", "EGAPP_NAME", "OTEL_RESOURCE_ATTRIBUTES", "GOMEMLIMIT", "OPTIONS"];
const OTHERS: [&str; 4] = ["MORE", "A", "B", "C"];

fn app(framework: &str, env: &Value) -> EGApp {
    serde_json::from_value(json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "web", "namespace": "team", "uid": "u" },
        "spec": { "framework": framework, "environment": "dev", "image": "web:1", "env": env },
    }))
    .unwrap()
}

/// A platform whose `go` has those variables.
fn platform(variables: &[(&str, &str)]) -> Platform {
    let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
    let plain = "port: 8080, startupSeconds: 30";
    let env: Vec<_> = variables.iter().map(|(name, value)| format!("{name}: {}", json!(value))).collect();
    let go = format!("{plain}, goMemLimit: true, env: {{{}}}", env.join(", "));
    let frameworks = format!("{{java: {{{plain}}}, python: {{{plain}}}, go: {{{go}}}}}");
    Platform::from_yaml(&format!("{{{head}, frameworks: {frameworks}}}")).unwrap()
}

fn rendered(app: &EGApp, platform: &Platform) -> Result<Vec<EnvVar>, SpecError> {
    validate(app, platform).map(|workload| env(&workload))
}

fn names(variables: &[EnvVar]) -> Vec<&str> {
    variables.iter().map(|variable| variable.name.as_str()).collect()
}

fn value<'a>(variables: &'a [EnvVar], name: &str) -> &'a str {
    variables.iter().find(|one| one.name == name).and_then(|one| one.value.as_deref()).unwrap()
}

#[test]
fn a_replaced_variable_keeps_its_place_so_that_others_of_ours_find_it() {
    let pod_name = json!([
        { "name": "FIRST", "value": "1" },
        { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
    ]);
    let variables = rendered(&app("go", &pod_name), &Platform::built_in()).unwrap();
    assert_eq!(variables[0].name, "POD_NAME");
    assert_eq!(variables.last().unwrap().name, "FIRST");
}

#[test]
fn a_variable_that_refers_to_itself_is_joined_with_the_value_that_it_replaces() {
    let env = json!([
        { "name": "JAVA_TOOL_OPTIONS", "value": "$(JAVA_TOOL_OPTIONS) -Dx=$(EGAPP_NAME) $$(JAVA_TOOL_OPTIONS)" },
        { "name": "POD_NAMESPACE", "value": "of-$(POD_NAMESPACE)" },
        { "name": "OWN", "value": "$(OWN)" },
    ]);
    let variables = rendered(&app("java", &env), &Platform::built_in()).unwrap();
    let joined = "-XX:MaxRAMPercentage=75.0 -Dx=$(EGAPP_NAME) $$(JAVA_TOOL_OPTIONS)";
    assert_eq!(value(&variables, "JAVA_TOOL_OPTIONS"), joined);
    assert_eq!(value(&variables, "POD_NAMESPACE"), "of-team");
    assert_eq!(value(&variables, "OWN"), "$(OWN)", "there is no value to join it with");
    let names = names(&variables);
    let place = |name: &str| names.iter().position(|one| *one == name).unwrap();
    assert!(place("EGAPP_NAME") < place("JAVA_TOOL_OPTIONS"), "{names:?}");
}

#[test]
fn what_only_the_kubelet_knows_is_joined_with_nothing_and_refused() {
    let refused = |framework, name: &str| {
        let env = json!([{ "name": name, "value": format!("x-$({name})") }]);
        rendered(&app(framework, &env), &Platform::built_in()).err()
    };
    assert_eq!(refused("go", "POD_NAME"), Some(SpecError::OwnReference("POD_NAME")));
    assert_eq!(refused("go", "GOMEMLIMIT"), Some(SpecError::OwnReference("GOMEMLIMIT")));
    assert_eq!(refused("java", "GOMEMLIMIT"), None, "there it is the user's alone");
}

#[test]
fn what_a_replaced_variable_refers_to_goes_before_it_with_all_that_it_needs() {
    let env = json!([
        { "name": "BASE", "value": "-Da=$(EGAPP_NAME)" },
        { "name": "UNRELATED", "value": "1" },
        { "name": "JAVA_TOOL_OPTIONS", "value": "$(BASE)" },
        { "name": "EARLY", "value": "$(LATE)" },
        { "name": "LATE", "value": "1" },
    ]);
    let variables = rendered(&app("java", &env), &Platform::built_in()).unwrap();
    let names = names(&variables);
    assert_eq!(names[..5], ["POD_NAME", "POD_NAMESPACE", "EGAPP_NAME", "BASE", "JAVA_TOOL_OPTIONS"]);
    assert_eq!(names[names.len() - 3..], ["UNRELATED", "EARLY", "LATE"], "the user's order stays");
}

/// Where one must stand before the other by the rules, as names.
fn rules(users: &[&str], ours: &[&str], values: &BTreeMap<String, String>) -> BTreeSet<(String, String)> {
    let place = |list: &[&str], name: &str| list.iter().position(|one| *one == name);
    let mut rules = BTreeSet::new();
    for (name, value) in values {
        for other in references(value).filter(|other| values.contains_key(*other) && other != name) {
            let is_users_order =
                place(users, name).zip(place(users, other)).is_some_and(|(own, others)| own < others);
            let is_our_order = place(users, name).is_none()
                && place(ours, name).zip(place(ours, other)).is_some_and(|(own, others)| own < others);
            if is_users_order {
                rules.insert((name.clone(), other.to_owned()));
            } else if !is_our_order {
                rules.insert((other.to_owned(), name.clone()));
            }
        }
    }
    rules
}

/// Whether the rules demand, over others, that `first` stands before `then`.
fn demands(rules: &BTreeSet<(String, String)>, first: &str, then: &str) -> bool {
    let (mut reached, mut next) = (BTreeSet::new(), vec![first]);
    while let Some(name) = next.pop() {
        for (_, other) in rules.iter().filter(|(one, _)| one == name) {
            if reached.insert(other.as_str()) {
                next.push(other);
            }
        }
    }
    reached.contains(then)
}

fn text() -> impl Strategy<Value = String> {
    let name = select([&OURS[..], &OTHERS[..]].concat());
    let piece = prop_oneof![
        4 => name.clone().prop_map(|name| format!("$({name})")),
        1 => name.prop_map(|name| format!("$$({name})")),
        1 => select(vec!["x", " ", "$", "$(", ")", "$$"]).prop_map(str::to_owned),
    ];
    vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_refers_to_a_variable_of_the_list_stands_behind_it(
        users in btree_map(select([&OURS[..], &OTHERS[..]].concat()), text(), 0..8),
        order in vec(any::<Index>(), 8),
        of_platform in (text(), text(), any::<bool>()),
    ) {
        let mut left: Vec<_> = users.into_iter().collect();
        let mut env = Vec::new();
        for index in order.iter().take(left.len()) {
            env.push(left.remove(index.index(left.len())));
        }
        let users: Vec<_> = env.iter().map(|(name, _)| *name).collect();
        let env: Value = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let (options, more, is_second) = &of_platform;
        let mut profile = [("OPTIONS", options.as_str()), ("SECOND", more.as_str())];
        if *is_second {
            profile.reverse();
        }
        let Ok(variables) = rendered(&app("go", &env), &platform(&profile)) else {
            // A reference to itself of what only the kubelet knows, which has a test of its own.
            return Ok(());
        };
        let plain = rendered(&app("go", &json!([])), &platform(&profile)).unwrap();
        let (ours, found) = (names(&plain), names(&variables));
        prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "each is there once");
        let values = variables.iter().map(|one| (one.name.clone(), one.value.clone().unwrap_or_default())).collect();
        let rules = rules(&users, &ours, &values);
        for (position, variable) in variables.iter().enumerate() {
            for other in references(values[&variable.name].as_str()).filter(|other| found.contains(other)) {
                let is_behind = found[..position].contains(&other);
                // Only where the one who wrote both wrote them so, or where they go round in a circle.
                let name = variable.name.as_str();
                prop_assert!(is_behind || demands(&rules, name, other) || other == name
                    || !rules.contains(&(other.to_owned(), name.to_owned())), "{name}: {variables:#?}");
                prop_assert!(other != name || !(users.contains(&name) && ours.contains(&name)), "{name} is joined: {variables:#?}");
            }
        }
        for (first, then) in &rules {
            let place = |name: &str| found.iter().position(|one| *one == name);
            prop_assert!(place(first) < place(then) || demands(&rules, then, first), "{first} {then}: {found:?}");
        }
    }
}

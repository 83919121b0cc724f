//! Who may go, and when: tables, and any order of reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::telemetry::Metrics;

use Environment::{Dev, Prod, Stage as Staging};

/// One change on its way to apps that are named by their environment and a number.
struct Change {
    turns: Turns,
    platform: Platform,
    metrics: Arc<Metrics>,
}

const FAILING: &str = "egapp_platform_change_apps{environment=\"dev\",state=\"failing\"} ";

impl Change {
    fn new(at_a_time: usize) -> Self {
        let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
        let text = format!("{{{head}, rollout: {{maxConcurrent: {at_a_time}}}}}");
        let platform = Platform::from_yaml(&text).unwrap();
        let metrics = Metrics::new().unwrap();
        let turns = Turns::new(&platform, [], metrics.changes());
        Self { turns, platform, metrics }
    }

    fn report(&self, app: &str, standing: Standing) -> Step {
        self.turns.report(&key(app), self.platform.revision(), standing)
    }

    /// The metrics: whether the change is halted, and how many apps of `dev` fail with it.
    fn shown(&self) -> [u32; 2] {
        let text = self.metrics.encode().unwrap();
        let series = ["egapp_platform_change_halted ", FAILING];
        series.map(|series| {
            let line = text.lines().find(|line| line.starts_with(series)).unwrap();
            line.rsplit_once(' ').unwrap().1.parse().unwrap()
        })
    }

    fn has_turn(&self, app: &str) -> bool {
        self.turns.turn(&key(app), self.platform.revision()).is_some()
    }
}

fn key(app: &str) -> ObjectKey {
    ObjectKey::new("team", app)
}

fn keys(apps: &[&str]) -> Vec<ObjectKey> {
    apps.iter().map(|app| key(app)).collect()
}

fn waiting(environment: Environment) -> Standing {
    Standing::Waiting { environment, is_ready: true }
}

fn failing(environment: Environment) -> Standing {
    Standing::Failing { environment, why: "CrashLoop: exit code 1".to_owned() }
}

#[test]
fn nobody_has_a_turn_before_every_app_was_looked_at() {
    let change = Change::new(5);
    change.turns.see(&Area::Cluster, keys(&["a", "b", "c"]));
    assert_eq!(change.report("a", waiting(Prod)), Step::default());
    assert_eq!(change.report("b", waiting(Dev)), Step::default());
    assert!(!change.has_turn("b"));
    let step = change.report("c", Standing::Apart);
    assert_eq!(step.next, keys(&["b"]));
    let counts = vec![(Dev, 1), (Prod, 1)];
    assert_eq!(step.notice, Some(Notice::Begun { waiting: counts, at_a_time: 5 }));
    assert!(change.has_turn("b") && !change.has_turn("a"));
}

#[test]
fn nobody_has_a_turn_before_every_namespace_was_listed_or_refused() {
    let areas = ["dev", "empty", "prod"].map(|name| Area::Namespace(name.into()));
    let change = Change::new(1);
    let turns = Turns::new(&change.platform, areas.clone(), change.metrics.changes());
    let report = |app| turns.report(&key(app), change.platform.revision(), waiting(Prod));
    let [dev, empty, prod] = areas;
    assert_eq!(turns.see(&prod, keys(&["p"])), Step::default());
    assert_eq!(report("p"), Step::default(), "there may be apps of dev elsewhere");
    assert_eq!(turns.see(&dev, []), Step::default());
    assert_eq!(turns.see(&empty, []).next, keys(&["p"]));
}

#[test]
fn an_environment_begins_when_the_one_before_is_done() {
    let change = Change::new(2);
    change.turns.see(&Area::Cluster, keys(&["d1", "d2", "d3", "s1"]));
    for (app, environment) in [("s1", Staging), ("d1", Dev), ("d2", Dev)] {
        assert_eq!(change.report(app, waiting(environment)).next, []);
    }
    assert_eq!(change.report("d3", waiting(Dev)).next, keys(&["d1", "d2"]));
    assert_eq!(change.report("d1", Standing::Rolling { environment: Dev }).next, []);
    assert_eq!(change.report("d1", Standing::Apart).next, keys(&["d3"]));
    assert_eq!(change.report("d2", Standing::Apart).next, [], "d3 is still on its way");
    let step = change.report("d3", Standing::Apart);
    assert_eq!((step.next, step.notice), (keys(&["s1"]), None));
    assert_eq!(change.report("s1", Standing::Apart).notice, Some(Notice::Complete));
}

#[test]
fn an_app_that_fails_halts_all_others_until_it_is_well() {
    let change = Change::new(1);
    change.turns.see(&Area::Cluster, keys(&["a", "b"]));
    change.report("a", waiting(Dev));
    assert_eq!(change.report("b", waiting(Dev)).next, keys(&["a"]));
    let step = change.report("a", failing(Dev));
    let why = "CrashLoop: exit code 1".to_owned();
    assert_eq!(step.notice, Some(Notice::Halted { app: key("a"), why, others: 0, waiting: vec![(Dev, 1)] }));
    assert_eq!(change.report("a", failing(Dev)), Step::default(), "it is told once");
    assert_eq!(change.report("c", waiting(Dev)).next, [], "nor has one that comes later");
    assert!(change.has_turn("a"), "it may try again");
    let step = change.report("a", Standing::Apart);
    assert_eq!(step.next, keys(&["b"]));
    assert_eq!(step.notice, Some(Notice::Resumed { waiting: vec![(Dev, 2)] }));
}

#[test]
fn apps_that_are_not_ready_come_first() {
    let change = Change::new(1);
    change.turns.see(&Area::Cluster, keys(&["a", "b"]));
    change.report("b", Standing::Waiting { environment: Dev, is_ready: false });
    assert_eq!(change.report("a", waiting(Dev)).next, keys(&["b"]));
    assert_eq!(change.turns.turn(&key("b"), change.platform.revision()), Some(Turn { was_ready: false }));
}

#[test]
fn a_report_that_crosses_a_turn_does_not_take_it_back() {
    let change = Change::new(1);
    assert_eq!(change.report("a", waiting(Dev)).next, keys(&["a"]));
    assert_eq!(change.report("a", waiting(Dev)), Step::default());
    assert!(change.has_turn("a"));
}

#[test]
fn another_platform_opens_all_and_takes_no_report_on_the_former() {
    let change = Change::new(1);
    change.report("a", waiting(Dev));
    let former = change.platform.revision();
    let next = Platform::from_yaml(
        "{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig, catalogLabel: ''}",
    )
    .unwrap();
    change.turns.renew(&next, keys(&["a", "b"]));
    assert_eq!(change.turns.turn(&key("a"), former), None);
    assert_eq!(change.turns.report(&key("b"), former, waiting(Dev)), Step::default());
    let report = |app, standing| change.turns.report(&key(app), next.revision(), standing).next;
    assert_eq!(report("b", waiting(Dev)), [], "a has not been looked at");
    assert_eq!(report("a", Standing::Apart), keys(&["b"]));
}

#[test]
fn a_halt_that_another_platform_ends_is_told_to_be_over_also_where_nobody_has_to_wait() {
    let change = Change::new(1);
    change.report("a", waiting(Dev));
    change.report("a", failing(Dev));
    change.turns.renew(&change.platform, keys(&["a", "b"]));
    assert_eq!(change.report("a", Standing::Apart).notice, None, "b has not been looked at");
    assert_eq!(change.report("b", Standing::Apart).notice, Some(Notice::Complete));
    change.turns.renew(&change.platform, keys(&["a"]));
    assert_eq!(change.report("a", Standing::Apart).notice, None, "it is told once");
}

#[test]
fn an_app_that_has_failed_halts_all_others_until_it_is_ready_whatever_its_pods_do_meanwhile() {
    let change = Change::new(2);
    change.turns.see(&Area::Cluster, keys(&["a", "b"]));
    change.report("a", waiting(Dev));
    change.report("b", waiting(Prod));
    change.report("a", failing(Dev));
    assert_eq!(change.report("a", Standing::Rolling { environment: Dev }), Step::default(), "a new pod");
    assert_eq!(change.report("c", waiting(Dev)).next, []);
    assert_eq!(change.report("a", Standing::Apart).next, keys(&["c"]));
}

#[test]
fn what_fails_when_every_app_has_the_change_is_no_matter_of_the_change() {
    let change = Change::new(1);
    change.report("a", waiting(Dev));
    assert_eq!(change.report("a", Standing::Apart).notice, Some(Notice::Complete));
    assert_eq!(change.report("a", failing(Dev)), Step::default());
    assert_eq!(change.shown(), [0, 0], "nothing is halted, and nothing fails with the change");
    assert_eq!(change.report("a", Standing::Apart), Step::default());
}

#[test]
fn the_last_app_that_fails_is_told_too() {
    let change = Change::new(1);
    change.report("a", waiting(Dev));
    let why = "CrashLoop: exit code 1".to_owned();
    let halted = Notice::Halted { app: key("a"), why, others: 0, waiting: vec![] };
    assert_eq!(change.report("a", failing(Dev)).notice, Some(halted));
    assert_eq!(change.shown(), [1, 1]);
    assert_eq!(change.report("a", Standing::Apart).notice, Some(Notice::Complete));
    assert_eq!(change.shown(), [0, 0]);
}

proptest! {
    /// Apps that get their turn come up, fail and recover, or are deleted, in any order. At any time the rules hold, and
    /// in the end nobody is left waiting.
    #[test]
    fn in_any_order_of_events_the_rules_hold_and_everybody_has_a_turn(
        at_a_time in 1_usize..4,
        apps in prop::collection::vec(0_usize..3, 1..12),
        choices in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4), 400),
    ) {
        let order = [Dev, Staging, Prod];
        let change = Change::new(at_a_time);
        let name = |i: usize| format!("app-{i:02}");
        let of: BTreeMap<_, _> = apps.iter().enumerate().map(|(i, env)| (name(i), order[*env])).collect();
        change.turns.see(&Area::Cluster, of.keys().map(|app| key(app)));
        let (mut rolling, mut failing_now, mut open) = (BTreeMap::new(), BTreeMap::new(), of.clone());
        let mut granted = Vec::new();
        for (app, environment) in &of {
            granted.extend(change.report(app, waiting(*environment)).next);
        }
        for (index, choice) in choices {
            for app in granted.drain(..) {
                prop_assert!(failing_now.is_empty(), "a turn while one fails");
                let environment = open.remove(app.name()).expect("each has one turn");
                rolling.insert(app.name().to_owned(), environment);
                prop_assert!(rolling.len() <= at_a_time);
                let earlier = |other: &&Environment| **other < environment;
                prop_assert!(open.values().chain(rolling.values()).find(earlier).is_none(), "out of order");
            }
            let busy: Vec<_> = rolling.keys().chain(failing_now.keys()).cloned().collect();
            if busy.is_empty() {
                break;
            }
            let app = busy[index.index(busy.len())].clone();
            let environment = of[&app];
            let standing = match choice {
                0 => Standing::Rolling { environment },
                1 => failing(environment),
                _ => Standing::Apart,
            };
            rolling.remove(&app);
            let has_failed = failing_now.remove(&app).is_some();
            match choice {
                0 if !has_failed => drop(rolling.insert(app.clone(), environment)),
                0 | 1 => drop(failing_now.insert(app.clone(), environment)),
                _ => (),
            }
            granted.extend(change.report(&app, standing).next);
        }
        prop_assert!(open.is_empty() || !rolling.is_empty() || !failing_now.is_empty(), "nobody moves: {open:?}");
    }
}

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

fn platform(at_a_time: usize, max_failing: usize) -> Platform {
    let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
    let rollout = format!("maxConcurrent: {at_a_time}, maxFailing: {max_failing}");
    Platform::from_yaml(&format!("{{{head}, rollout: {{{rollout}}}}}")).unwrap()
}

impl Change {
    fn new(at_a_time: usize) -> Self {
        Self::tolerating(at_a_time, 0)
    }

    fn tolerating(at_a_time: usize, max_failing: usize) -> Self {
        let platform = platform(at_a_time, max_failing);
        let metrics = Metrics::new().unwrap();
        let turns = Turns::new(&platform, [], metrics.changes());
        Self { turns, platform, metrics }
    }

    fn report(&self, app: &str, standing: Standing) -> Step {
        self.turns.report(&key(app), self.change(), standing)
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
        self.turns.turn(&key(app), self.change()).is_some()
    }

    fn change(&self) -> u64 {
        self.turns.change(self.platform.revision())
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
    assert_eq!(change.report("s1", Standing::Apart).notice, Some(Notice::Complete { failing: 0 }));
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
    let number = change.turns.change(next.revision());
    assert_eq!(change.turns.change(change.platform.revision()), 0, "it does not hold");
    assert_eq!(change.turns.turn(&key("a"), former), None);
    assert_eq!(change.turns.report(&key("b"), former, waiting(Dev)), Step::default());
    let report = |app, standing| change.turns.report(&key(app), number, standing).next;
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
    assert_eq!(change.report("b", Standing::Apart).notice, Some(Notice::Complete { failing: 0 }));
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
    assert_eq!(change.report("a", Standing::Apart).notice, Some(Notice::Complete { failing: 0 }));
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
    assert_eq!(change.report("a", Standing::Apart).notice, Some(Notice::Complete { failing: 0 }));
    assert_eq!(change.shown(), [0, 0]);
}

#[test]
fn a_change_goes_on_past_as_many_failing_apps_as_the_file_allows_for() {
    let change = Change::tolerating(1, 1);
    change.turns.see(&Area::Cluster, keys(&["a", "b", "c", "p"]));
    for app in ["a", "b", "c"] {
        change.report(app, waiting(Dev));
    }
    change.report("p", waiting(Prod));
    assert_eq!(change.report("a", failing(Dev)), Step { next: keys(&["b"]), notice: None });
    assert_eq!(change.shown(), [0, 1]);
    let step = change.report("b", failing(Dev));
    let why = "CrashLoop: exit code 1".to_owned();
    let counts = vec![(Dev, 1), (Prod, 1)];
    let halted = Notice::Halted { app: key("a"), why, others: 1, waiting: counts.clone() };
    assert_eq!(step, Step { next: vec![], notice: Some(halted) });
    // The administrator raises the number: that is the same change.
    let raised = platform(1, 2);
    let number = change.change();
    change.turns.renew(&raised, keys(&["a", "b", "c", "p"]));
    assert_eq!(change.turns.change(raised.revision()), number);
    for (app, standing) in [("a", failing(Dev)), ("b", failing(Dev)), ("c", waiting(Dev))] {
        assert_eq!(change.report(app, standing), Step::default());
    }
    let resumed = Some(Notice::Resumed { waiting: counts });
    assert_eq!(change.report("p", waiting(Prod)), Step { next: keys(&["c"]), notice: resumed });
    assert_eq!(
        change.report("c", Standing::Apart).next,
        keys(&["p"]),
        "dev is done, but for those that fail"
    );
    assert_eq!(change.report("p", Standing::Apart).notice, Some(Notice::Complete { failing: 2 }));
    assert_eq!(change.report("a", failing(Dev)), Step::default(), "nothing waits for it");
}

#[test]
fn an_app_of_which_nothing_can_be_learned_holds_up_nobody_and_halts_the_change_if_it_was_ready() {
    let change = Change::new(1);
    change.turns.see(&Area::Cluster, keys(&["a", "b", "c", "lost"]));
    let unclear = || Standing::Unclear { why: "no pass ends".to_owned() };
    change.report("a", Standing::Waiting { environment: Dev, is_ready: false });
    change.report("b", waiting(Dev));
    change.report("c", waiting(Dev));
    assert_eq!(change.report("lost", unclear()).next, keys(&["a"]), "it has been looked at");
    assert_eq!(change.report("a", unclear()).next, keys(&["b"]), "it was not Ready");
    assert_eq!(change.report("c", unclear()), Step::default(), "it waits");
    let notice = change.report("b", unclear()).notice;
    assert!(matches!(notice, Some(Notice::Halted { why, .. }) if why == "no pass ends"));
    assert_eq!(change.report("b", Standing::Apart).next, keys(&["c"]));
}

#[test]
fn nobody_has_a_turn_by_a_file_that_has_been_replaced_before_it_is_another_or_was_waited_for() {
    let (old, new) = (platform(1, 0), Platform::built_in());
    let [old_revision, new_revision] = [&old, &new].map(Platform::revision);
    assert_eq!(old_revision, new_revision, "the rollout is no part of it");
    let new = Platform::from_yaml(
        "{apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig, catalogLabel: ''}",
    )
    .unwrap();
    let last = Holding { revision: Some(new.revision()), change: 7 };
    let recalled = Recalled { last, former: [old_revision].into() };
    let takes_over = || {
        let change = Change::new(1);
        change.turns.see(&Area::Cluster, keys(&["a"]));
        assert!(change.turns.recall(Some(recalled.clone())));
        assert_eq!((change.report("a", waiting(Dev)), change.turns.holding()), (Step::default(), None));
        change
    };
    let change = takes_over();
    change.turns.renew(&new, keys(&["a"]));
    assert_eq!(change.turns.holding(), Some(last), "the change that was on its way");
    assert_eq!(change.turns.report(&key("a"), 7, waiting(Dev)).next, keys(&["a"]));

    let change = takes_over();
    assert_eq!(change.turns.trust().next, keys(&["a"]));
    assert_ne!(change.turns.holding(), Some(last));
}

proptest! {
    /// Apps that get their turn come up, fail and recover, or are deleted, in any order. At any time the rules hold, and
    /// in the end nobody is left waiting.
    #[test]
    fn in_any_order_of_events_the_rules_hold_and_everybody_has_a_turn(
        at_a_time in 1_usize..4,
        max_failing in 0_usize..3,
        apps in prop::collection::vec(0_usize..3, 1..12),
        choices in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..6), 400),
    ) {
        let order = [Dev, Staging, Prod];
        let change = Change::tolerating(at_a_time, max_failing);
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
                prop_assert!(failing_now.len() <= max_failing, "a turn while too many fail");
                let environment = open.remove(app.name()).expect("each has one turn");
                rolling.insert(app.name().to_owned(), environment);
                prop_assert!(rolling.len() <= at_a_time);
                let earlier = |other: &&Environment| **other < environment;
                prop_assert!(open.values().chain(rolling.values()).find(earlier).is_none(), "out of order");
            }
            let moves = !rolling.is_empty() || failing_now.len() > max_failing || open.is_empty();
            prop_assert!(moves, "nobody moves: {open:?}");
            let busy: Vec<_> = rolling.keys().chain(failing_now.keys()).cloned().collect();
            if busy.is_empty() {
                break;
            }
            let app = busy[index.index(busy.len())].clone();
            let environment = of[&app];
            let standing = match choice {
                0 => Standing::Rolling { environment },
                1 => failing(environment),
                2 => Standing::Unclear { why: "no pass ends".to_owned() },
                _ => Standing::Apart,
            };
            rolling.remove(&app);
            let has_failed = failing_now.remove(&app).is_some();
            match choice {
                0 if !has_failed => drop(rolling.insert(app.clone(), environment)),
                0..=2 => drop(failing_now.insert(app.clone(), environment)),
                _ => (),
            }
            granted.extend(change.report(&app, standing).next);
        }
        prop_assert!(open.is_empty() || !rolling.is_empty() || !failing_now.is_empty(), "nobody moves: {open:?}");
    }
}

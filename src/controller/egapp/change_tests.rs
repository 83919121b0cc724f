//! Whose wish it is, and how an app stands to a change: the rules that must hold over restarts and former platforms.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::controller::egapp::cluster::{Caches, Live, View};
use crate::controller::egapp::desired::desired;
use crate::controller::egapp::memory::{ChangeMemory, Progress};
use crate::controller::egapp::observe::observe;
use crate::controller::egapp::replicas::Replicas;
use crate::controller::egapp::status::{MadeOf, Outcome, status};
use crate::controller::egapp::validate::validate;
use crate::controller::key::ObjectKey;
use crate::platform::Platform;

const NOW: Turn = Turn { was_ready: true };

/// Whose starter for `go` is that image.
fn platform(image: &str) -> Platform {
    let head = "apiVersion: config.platform.evillgenius.com/v1alpha1, kind: PlatformConfig";
    Platform::from_yaml(&format!("{{{head}, images: {{starters: {{go: {{image: '{image}'}}}}}}}}")).unwrap()
}

fn app(status: &Value) -> EGApp {
    serde_json::from_value(json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "web", "namespace": "team", "uid": "u", "generation": 3 },
        "spec": { "framework": "go", "environment": "dev" },
        "status": status,
    }))
    .unwrap()
}

/// A status that tells of generation 3.
fn told(ready: &str, reason: &str) -> Value {
    json!({
        "observedGeneration": 3, "image": "whoami:1", "resources": { "cpu": "250m", "memory": "256Mi" },
        "conditions": [{
            "type": "Ready", "status": ready, "reason": reason, "message": "as of then",
            "lastTransitionTime": "2024-05-06T07:08:09Z",
        }],
    })
}

fn failed() -> Value {
    let mut status = told("False", "ImagePull");
    status["lastFailure"] =
        json!({ "reason": "ImagePull", "message": "image", "since": "2024-05-06T07:08:09Z" });
    status
}

fn children(app: &EGApp, platform: &Platform) -> Children {
    desired(&validate(app, platform).unwrap(), Replicas::Ours(1))
}

/// The app's Deployment as that platform wants it, marked or not, with so many of its one pod available.
fn observed(app: &EGApp, platform: &Platform, mark: Option<u64>, available: i32) -> Observed {
    let mut live = json!(children(app, platform).deployment);
    live["metadata"]["uid"] = json!("d");
    live["metadata"]["resourceVersion"] = json!("1");
    live["metadata"]["generation"] = json!(1);
    if let Some(mark) = mark {
        live["metadata"]["annotations"][names::PLATFORM_CHANGE] = json!(format!("{mark:016x}"));
    }
    live["status"] = json!({
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
        "readyReplicas": available, "availableReplicas": available,
    });
    let view: View<Deployment> = serde_json::from_value(live).unwrap();
    let caches = Caches::default();
    caches.deployments.handle(Event::Apply(Live::from(view)));
    observe(&caches, &ObjectKey::new("team", "web"), "u")
}

fn standing(subject: Subject<'_>, author: Author, memory: &mut Memory) -> Standing {
    let made_of = MadeOf::told(subject.app);
    let verdict = status(subject.app, made_of.as_ref(), subject.observed, Outcome::InSync, Timestamp::now());
    subject.standing(&came(author, &verdict), memory)
}

fn came(author: Author, verdict: &Verdict) -> Came<'_> {
    Came { author, verdict, is_early: false, now: Instant::now(), patience: Duration::from_mins(1) }
}

#[test]
fn another_platform_waits_for_a_turn_and_neither_an_edit_nor_a_deployment_that_is_gone_does() {
    let (former, next) = (platform("whoami:1"), platform("whoami:2"));
    let author = |app: &EGApp, observed: &Observed, turn| {
        let subject = Subject { app, observed, change: next.revision() };
        subject.author(Some(&children(app, &next)), turn, &mut Memory::default())
    };
    let known = app(&told("True", "StarterImage"));
    let edited = app(&json!({ "observedGeneration": 2 }));
    let has_former = observed(&known, &former, None, 1);
    assert_eq!(author(&known, &has_former, None), Author::PlatformLater);
    assert_eq!(author(&known, &has_former, Some(NOW)), Author::PlatformNow(NOW));
    assert_eq!(author(&edited, &has_former, None), Author::User);
    assert_eq!(author(&known, &observed(&known, &next, None, 1), None), Author::User);
    let gone = observe(&Caches::default(), &ObjectKey::new("team", "web"), "u");
    assert_eq!(author(&known, &gone, None), Author::User);
}

#[test]
fn a_turn_counts_for_one_change_and_not_when_that_platform_comes_back() {
    let (one, two) = (platform("whoami:1"), platform("whoami:2"));
    let (app, mut memory) = (app(&told("True", "StarterImage")), Memory::default());
    let (has_one, has_two) = (observed(&app, &one, None, 1), observed(&app, &two, None, 1));
    let mut under = |platform: &Platform, observed: &Observed, turn| {
        memory.enter(platform.revision());
        let subject = Subject { app: &app, observed, change: platform.revision() };
        subject.author(Some(&children(&app, platform)), turn, &mut memory)
    };
    assert_eq!(under(&two, &has_one, Some(NOW)), Author::PlatformNow(NOW));
    assert_eq!(
        under(&two, &has_one, None),
        Author::User,
        "its turn is used: it tries until it has the change"
    );
    assert_eq!(under(&one, &has_two, None), Author::PlatformLater);
    assert_eq!(under(&two, &has_one, None), Author::PlatformLater, "back again is another change");
}

#[test]
fn an_edit_takes_the_mark_away_only_where_it_asks_for_other_pods() {
    let (next, other) = (platform("whoami:2"), platform("whoami:3"));
    let edited = app(&json!({ "observedGeneration": 2 }));
    let observed = observed(&edited, &next, Some(next.revision()), 0);
    let subject = Subject { app: &edited, observed: &observed, change: next.revision() };
    let is_marked = |platform| {
        let mut children = children(&edited, platform);
        subject.mark(&mut children, Author::User, &mut Memory::default());
        children.deployment.metadata.annotations.unwrap().contains_key(names::PLATFORM_CHANGE)
    };
    assert!(is_marked(&next), "as a scale or a restart");
    assert!(!is_marked(&other), "as another image");
}

#[test]
fn an_app_that_got_through_and_is_scaled_since_takes_no_turn_again() {
    let next = platform("whoami:2");
    let (app, mut memory) = (app(&told("True", "StarterImage")), Memory::default());
    let mut stands = |available, author| {
        let observed = observed(&app, &next, Some(next.revision()), available);
        let subject = Subject { app: &app, observed: &observed, change: next.revision() };
        standing(subject, author, &mut memory)
    };
    let rolling = Standing::Rolling { environment: Environment::Dev };
    assert_eq!(stands(0, Author::PlatformNow(NOW)), rolling);
    assert_eq!(stands(0, Author::User), rolling, "by its mark, as after a restart");
    assert_eq!(stands(1, Author::PlatformNow(NOW)), Standing::Apart);
    assert_eq!(stands(0, Author::User), Standing::Apart);
}

#[test]
fn after_a_restart_an_app_that_has_failed_with_the_change_fails_until_it_is_ready() {
    let next = platform("whoami:2");
    let app = app(&failed());
    let stands = |available, mark| {
        let observed = observed(&app, &next, mark, available);
        let subject = Subject { app: &app, observed: &observed, change: next.revision() };
        standing(subject, Author::User, &mut Memory::default())
    };
    let why = "ImagePull: image".to_owned();
    let failing = Standing::Failing { environment: Environment::Dev, why };
    assert_eq!(stands(0, Some(next.revision())), failing, "its pod is a new one, with no trouble yet");
    assert_eq!(stands(1, Some(next.revision())), Standing::Apart);
    assert_eq!(stands(0, None), Standing::Apart, "it is not marked: the change is not the cause");
}

#[test]
fn whether_an_app_is_well_before_its_turn_is_what_its_pods_say_unless_a_call_failed() {
    let (former, next) = (platform("whoami:1"), platform("whoami:2"));
    for (ready, reason, available, is_ready) in [
        ("True", "StarterImage", 1, true),
        ("True", "StarterImage", 0, false),
        ("Unknown", "Forbidden", 1, true),
        ("False", "Forbidden", 1, false),
        ("False", "NameConflict", 1, false),
    ] {
        let app = app(&told(ready, reason));
        let observed = observed(&app, &former, None, available);
        let subject = Subject { app: &app, observed: &observed, change: next.revision() };
        let standing = standing(subject, Author::PlatformLater, &mut Memory::default());
        let waiting = Standing::Waiting { environment: Environment::Dev, is_ready };
        assert_eq!(standing, waiting, "{ready} {reason}, {available} available");
    }
}

/// Failed, to which the change to that revision could not be given.
fn refused(revision: u64) -> Value {
    let mut status = failed();
    status["lastFailure"]["platformChange"] = json!(format!("{revision:016x}"));
    status
}

#[test]
fn a_turn_without_effect_is_known_to_another_process() {
    let (former, next) = (platform("whoami:1"), platform("whoami:2"));
    let app = app(&refused(next.revision()));
    let has_former = observed(&app, &former, None, 1);
    let turn = |platform: &Platform| {
        let subject = Subject { app: &app, observed: &has_former, change: platform.revision() };
        subject.vain_turn(&mut Memory::default())
    };
    assert_eq!(turn(&next), Some(NOW));
    assert_eq!(turn(&former), None, "it was for another change");
}

#[test]
fn who_edits_an_app_that_cannot_be_given_the_change_ends_its_failure_only_where_the_edit_is_of_use() {
    let (former, next) = (platform("whoami:1"), platform("whoami:2"));
    let app = app(&refused(next.revision()));
    let observed = observed(&app, &former, None, 1);
    let subject = Subject { app: &app, observed: &observed, change: next.revision() };
    let stands = |is_failing| {
        let made_of = MadeOf::told(&app);
        let mut verdict =
            status(&app, made_of.as_ref(), &observed, Outcome::Unfinished(None), Timestamp::now());
        verdict.is_failing = is_failing;
        subject.standing(&came(Author::User, &verdict), &mut Memory::default())
    };
    assert!(matches!(stands(true), Standing::Failing { .. }));
    assert_eq!(stands(false), Standing::Apart);
}

#[test]
fn a_status_is_signed_while_the_app_fails_without_a_mark() {
    let next = platform("whoami:2");
    let app = app(&failed());
    let signed = |mark, standing: &Standing| {
        let observed = observed(&app, &next, mark, 0);
        let subject = Subject { app: &app, observed: &observed, change: next.revision() };
        let mut status: EGAppStatus = serde_json::from_value(refused(7)).unwrap();
        subject.sign(&mut status, standing);
        status.last_failure.unwrap().platform_change
    };
    let failing = Standing::Failing { environment: Environment::Dev, why: "ImageUnresolved".to_owned() };
    assert_eq!(signed(None, &failing), Some(format!("{:016x}", next.revision())));
    assert_eq!(signed(Some(next.revision()), &failing), None, "the mark says it");
    assert_eq!(signed(None, &Standing::Apart), None);
}

#[test]
fn a_restart_asks_for_new_pods_and_not_for_others() {
    let (former, next) = (platform("whoami:1"), platform("whoami:2"));
    let known = app(&told("True", "StarterImage"));
    let mut restarted = known.clone();
    restarted.spec.restarted_at = Some("2024-05-06T07:08:09Z".to_owned());
    let [before, after] = [&known, &restarted].map(|app| children(app, &former));
    assert_ne!(before.deployment.spec, after.deployment.spec);
    assert_eq!(before.template(), after.template());
    assert_ne!(before.template(), children(&restarted, &next).template());
}

#[test]
fn an_app_that_comes_no_further_fails_in_time_if_it_was_ready_and_is_let_go_if_not() {
    let next = platform("whoami:2");
    let app = app(&told("False", "RollingOut"));
    let (begun, patience) = (Instant::now(), Duration::from_mins(1));
    let stands = |was_ready, seconds: &[u64], memory: &mut Memory| {
        let observed = observed(&app, &next, None, 0);
        let subject = Subject { app: &app, observed: &observed, change: 7 };
        let author = Author::PlatformNow(Turn { was_ready });
        let verdict = status(&app, None, &observed, Outcome::Unfinished(Some("Service")), Timestamp::now());
        let after = seconds.iter().map(|seconds| {
            let now = begun + Duration::from_secs(*seconds);
            let came = Came { now, patience, ..came(author, &verdict) };
            let standing = subject.standing(&came, memory);
            let mut signed = verdict.status.clone();
            subject.sign(&mut signed, &standing);
            (standing, signed.last_failure)
        });
        after.collect::<Vec<_>>()
    };
    let rolling = (Standing::Rolling { environment: Environment::Dev }, None);
    let was_ready = stands(true, &[0, 59, 60], &mut Memory::default());
    assert_eq!(was_ready[..2], [rolling.clone(), rolling.clone()]);
    let (Standing::Failing { why, .. }, Some(failure)) = &was_ready[2] else { panic!("{was_ready:?}") };
    assert!(why.contains("former Service") && why.contains("no further for 60 s"), "{why}");
    assert_eq!((failure.reason.as_str(), failure.platform_change.is_some()), ("RollingOut", true));
    let was_not = stands(false, &[0, 59, 60], &mut Memory::default());
    assert_eq!(was_not, [rolling.clone(), rolling, (Standing::Apart, None)]);
}

#[test]
fn every_pod_that_comes_up_gives_an_app_time_anew_and_one_that_comes_and_goes_does_not() {
    let (mut change, begun) = (ChangeMemory::default(), Instant::now());
    let at = |seconds| begun + Duration::from_secs(seconds);
    let mut stands = |template, far, seconds| {
        change.stands_still(Progress { template: Some(template), far }, at(seconds)).as_secs()
    };
    let still = [stands(1, 1, 0), stands(1, 2, 10), stands(1, 1, 20), stands(1, 2, 30), stands(1, 3, 40)];
    assert_eq!(still, [0, 0, 10, 20, 0]);
    assert_eq!(stands(2, 1, 50), 0, "other pods");
    assert_eq!(stands(2, 1, 60), 10);
    assert_eq!(change.left(Duration::from_mins(1), at(60)), Duration::from_secs(50));
}

#[test]
fn an_app_that_was_not_ready_and_has_its_pods_is_waited_for_no_longer() {
    let next = platform("whoami:2");
    let app = app(&told("False", "RollingOut"));
    let observed = observed(&app, &next, None, 1);
    let subject = Subject { app: &app, observed: &observed, change: 7 };
    let verdict = status(&app, None, &observed, Outcome::Unfinished(Some("Service")), Timestamp::now());
    let stands = |was_ready| {
        subject.standing(&came(Author::PlatformNow(Turn { was_ready }), &verdict), &mut Memory::default())
    };
    assert_eq!(stands(false), Standing::Apart);
    assert_eq!(stands(true), Standing::Rolling { environment: Environment::Dev });
}

#[test]
fn a_scale_to_zero_ends_no_failure_with_the_change_over_a_restart_either() {
    let next = platform("whoami:2");
    let mut app = app(&failed());
    app.spec.replica_count = 0;
    let stands = |mark, author, memory: &mut Memory| {
        let observed = observed(&app, &next, mark, 0);
        let subject = Subject { app: &app, observed: &observed, change: next.revision() };
        let mut verdict =
            status(&app, MadeOf::told(&app).as_ref(), &observed, Outcome::InSync, Timestamp::now());
        // The helper's Deployment has one pod.
        for condition in verdict.status.conditions.iter_mut().filter(|condition| condition.type_ == "Ready") {
            condition.status = "True".to_owned();
        }
        verdict.status.desired_replicas = Some(0);
        verdict.is_failing = false;
        verdict.status.last_failure = None;
        let standing = subject.standing(&came(author, &verdict), memory);
        subject.sign(&mut verdict.status, &standing);
        (matches!(standing, Standing::Failing { .. }), verdict.status.last_failure.is_some())
    };
    let marked = Some(next.revision());
    assert_eq!(stands(marked, Author::User, &mut Memory::default()), (true, true), "another process");
    let mut memory = Memory::default();
    assert_eq!(stands(marked, Author::PlatformNow(NOW), &mut memory), (false, false), "it failed before");
    assert_eq!(stands(marked, Author::User, &mut memory), (false, false), "and came through");
    let mut memory = Memory::default();
    memory.change.has_failed = true;
    assert_eq!(stands(marked, Author::PlatformNow(NOW), &mut memory), (true, true));
    assert_eq!(stands(None, Author::User, &mut Memory::default()), (false, false), "no matter of the change");
}

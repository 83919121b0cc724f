use super::*;
use crate::controller::egapp::validate::validate;
use crate::platform::Platform;
use serde_json::json;

fn status(reason: &str, message: &str, last_failure: Option<(&str, &str)>) -> EGAppStatus {
    let is_ready = matches!(reason, "Available" | "StarterImage" | "ScaledToZero");
    let failure = last_failure.map(
        |(reason, message)| json!({ "reason": reason, "message": message, "since": "2024-05-06T07:08:09Z" }),
    );
    serde_json::from_value(json!({
        "desiredReplicas": i32::from(reason != "ScaledToZero"),
        "image": "web:1",
        "conditions": [{
            "type": "Ready", "status": if is_ready { "True" } else { "False" }, "reason": reason, "message": message,
            "lastTransitionTime": "2024-05-06T07:08:09Z",
        }],
        "lastFailure": failure,
    }))
    .unwrap()
}

fn failing(reason: &str, message: &str) -> EGAppStatus {
    status(reason, message, Some((reason, message)))
}

fn of(found: &[Found], environment: &str, image: Option<&str>) -> Vec<News> {
    let app = serde_json::from_value(json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "web", "namespace": "team", "uid": "u" },
        "spec": { "framework": "go", "environment": environment, "image": image },
    }));
    of_children(found, &validate(&app.unwrap(), &Platform::load(None).unwrap()).unwrap())
}

fn facts(replicas: i64, image: &str) -> Facts {
    Facts {
        replicas: Some(replicas),
        template: fnv1a(image.as_bytes()),
        image: Some(image.to_owned()),
        environment: Some("prod".to_owned()),
    }
}

fn applied(before: Option<Facts>, after: Facts, drift: Option<&str>) -> [Found; 1] {
    [Found::Applied(Change { kind: "Deployment", before, after, drift: drift.map(str::to_owned) })]
}

fn told(found: &[Found]) -> Vec<(String, String)> {
    let news = of(found, "prod", Some("web:1")).into_iter();
    news.map(|news| (news.reason, news.note)).collect()
}

fn pair(reason: &str, note: &str) -> Vec<(String, String)> {
    vec![(reason.to_owned(), note.to_owned())]
}

#[test]
fn a_failure_is_told_when_it_appears_and_not_while_it_lasts() {
    let rolling = status("RollingOut", "on its way", None);
    let pull = failing("ImagePull", "no such image");
    assert_eq!(of_status(Some(&rolling), &pull, true), Some(failure("ImagePull", "no such image")));
    assert_eq!(of_status(None, &pull, true), Some(failure("ImagePull", "no such image")));
    assert_eq!(of_status(Some(&pull), &pull, true), None);
    let between = status("RollingOut", "on its way", Some(("ImagePull", "no such image")));
    assert_eq!(of_status(Some(&pull), &between, true), None, "not over yet");
    assert_eq!(of_status(Some(&between), &pull, true), None, "the same as before");
    let crash = failing("CrashLoop", "exit code 1");
    assert_eq!(of_status(Some(&between), &crash, true), Some(failure("CrashLoop", "exit code 1")));
    let other = failing("ImagePull", "no such image either");
    assert_eq!(of_status(Some(&pull), &other, true), Some(failure("ImagePull", "no such image either")));
}

#[test]
fn a_recovery_is_told_once_and_is_the_news_of_the_rollout_too() {
    let (pull, up) = (failing("ImagePull", "no"), status("Available", "all is well", None));
    let news = of_status(Some(&pull), &up, true).unwrap();
    assert_eq!((&*news.reason, &*news.note), ("Recovered", "ImagePull is over: all is well"));
    assert_eq!(of_status(Some(&up), &up, false), None);
}

#[test]
fn a_rollout_is_told_when_it_is_complete_and_a_pod_that_comes_back_is_none() {
    let (rolling, up) = (status("RollingOut", "m", None), status("Available", "m", None));
    let news = of_status(Some(&rolling), &up, true).unwrap();
    assert_eq!((&*news.reason, &*news.note), ("RolledOut", "all replicas are available, and run web:1"));
    assert_eq!(of_status(Some(&rolling), &up, false), None);
    assert_eq!(of_status(None, &rolling, true), None);
    assert_eq!(of_status(Some(&rolling), &status("ScaledToZero", "m", None), true), None);
}

#[test]
fn what_was_done_to_the_deployment_is_told() {
    let (one, two) = (facts(1, "web:1"), facts(2, "web:1"));
    assert_eq!(told(&applied(None, one.clone(), None)), pair("Created", "made Deployment web"));
    assert_eq!(told(&applied(Some(one.clone()), two.clone(), None)), pair("Scaled", "replicas 1 → 2"));
    let note = "Deployment web was changed by somebody else, and is put right: spec.replicas";
    assert_eq!(told(&applied(Some(two), one.clone(), Some("spec.replicas"))), pair("Repaired", note));
    let note = "Deployment web was gone, and has been made anew";
    assert_eq!(told(&applied(None, one.clone(), Some("created"))), pair("Repaired", note));
    assert_eq!(told(&applied(Some(one.clone()), facts(1, "web:2"), None)), [], "RolledOut follows");
    let note = "deleted Service web, which is not wanted any more";
    assert_eq!(told(&[Found::Deleted("Service")]), pair("Deleted", note));
    assert_eq!(told(&[Found::InSync, Found::Moving, Found::Unseen]), []);
}

#[test]
fn only_a_new_wish_for_the_pods_makes_a_rollout() {
    let (one, two, new) = (facts(1, "web:1"), facts(2, "web:1"), facts(1, "web:2"));
    assert!(!rolls(&applied(None, one.clone(), None)), "a new app, which is told as Created");
    assert!(rolls(&applied(Some(one.clone()), new.clone(), None)));
    assert!(!rolls(&applied(Some(one.clone()), two, None)), "a scale");
    assert!(!rolls(&applied(Some(new), one.clone(), Some("spec.template"))), "a repair");
    let service = Facts { image: None, ..one };
    assert!(!rolls(&applied(None, service.clone(), None)), "a Service");
    assert_eq!(told(&applied(None, service, None)), []);
}

#[test]
fn an_image_without_a_version_is_told_in_prod_when_it_is_put_to_work() {
    let reasons = |environment, image, before| {
        let after = Facts { environment: Some(String::from(environment)), ..facts(1, "web") };
        let news = of(&applied(before, after, None), environment, image);
        news.into_iter()
            .filter(|news| news.type_ == Type::Warning)
            .map(|news| news.reason)
            .collect::<Vec<_>>()
    };
    assert_eq!(reasons("prod", Some("web"), None), ["UntaggedImage"]);
    assert_eq!(reasons("stage", Some("web"), None), [""; 0]);
    assert_eq!(reasons("prod", Some("web"), Some(facts(1, "web:0"))), ["UntaggedImage"]);
    let same_image = Facts { template: 0, ..facts(1, "web") };
    assert_eq!(reasons("prod", Some("web"), Some(same_image.clone())), [""; 0], "another variable");
    let from_dev = Facts { environment: Some("dev".to_owned()), ..same_image };
    assert_eq!(reasons("prod", Some("web"), Some(from_dev)), ["UntaggedImage"]);
    assert_eq!(reasons("prod", None, None), ["StarterImage"]);
    assert_eq!(reasons("stage", None, None), ["StarterImage"]);
    assert_eq!(reasons("dev", None, None), [""; 0]);
}

#[test]
fn a_tag_or_a_digest_pins_an_image_and_a_port_of_the_registry_does_not() {
    for pinned in ["web:1", "r.example.com:5000/team/web:1.2", "web@sha256:0", "web:latest@sha256:0"] {
        assert!(is_pinned(pinned), "{pinned}");
    }
    for floating in ["web", "r.example.com:5000/team/web", "web:latest", "r.example.com/web:latest"] {
        assert!(!is_pinned(floating), "{floating}");
    }
}

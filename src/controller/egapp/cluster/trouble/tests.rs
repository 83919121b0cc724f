use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{Trouble, TroubleKind, trouble_of};
use crate::controller::egapp::cluster::PodView;
use egapp_api::labels;

const NAME: &str = "web-5f6-x2k4p";
const IMAGE: &str = "r.example.com/web:1";

/// A pod with one container in that state; the fields of `status` are those of a container status.
pub(super) fn pod(status: &Value) -> Value {
    let mut container = json!({ "name": "app", "ready": false, "restartCount": 0, "image": IMAGE });
    merge(&mut container, status);
    json!({
        "metadata": {
            "name": NAME, "namespace": "team", "uid": "0a1b",
            "labels": { labels::EGAPP: "web", "pod-template-hash": "5f6" },
        },
        "spec": { "containers": [{
            "name": "app", "image": IMAGE,
            "startupProbe": { "tcpSocket": { "port": 8080 }, "periodSeconds": 2, "failureThreshold": 15 },
            "readinessProbe": { "httpGet": { "path": "/up", "port": 8080 }, "periodSeconds": 2, "failureThreshold": 3 },
        }] },
        "status": {
            "phase": "Running",
            "conditions": [{ "type": "PodScheduled", "status": "True" }],
            "containerStatuses": [container],
        },
    })
}

pub(super) fn merge(target: &mut Value, fields: &Value) {
    target.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
}

pub(super) fn judge(pod: &Value, former: Option<&Trouble>) -> Option<Trouble> {
    judge_at(pod, former, at("23:59:59"))
}

pub(super) fn judge_at(pod: &Value, former: Option<&Trouble>, now: Timestamp) -> Option<Trouble> {
    let view: PodView = serde_json::from_value(pod.clone()).unwrap();
    trouble_of(&view, former, now)
}

pub(super) fn trouble(status: &Value) -> Trouble {
    judge(&pod(status), None).unwrap_or_else(|| panic!("no trouble in {status}"))
}

pub(super) fn waiting(reason: &str, message: &str) -> Value {
    json!({ "state": { "waiting": { "reason": reason, "message": message } } })
}

pub(super) fn at(time: &str) -> Timestamp {
    format!("2026-01-01T{time}Z").parse().unwrap()
}

/// A run that ended; times are those of 2026-01-01.
pub(super) fn run(exit_code: i32, reason: &str, from: &str, to: &str) -> Value {
    json!({ "terminated": {
        "exitCode": exit_code, "reason": reason,
        "startedAt": at(from).to_string(), "finishedAt": at(to).to_string(),
    } })
}

/// Restarted `restarts` times, and running again.
pub(super) fn running_again(restarts: i32, since: &str, last: &Value) -> Value {
    json!({
        "restartCount": restarts, "ready": true, "started": true,
        "state": { "running": { "startedAt": at(since).to_string() } }, "lastState": last,
    })
}

pub(super) fn backing_off(last: &Value) -> Value {
    let message = "back-off 20s restarting failed container=app pod=web-5f6-x2k4p_team(0a1b)";
    json!({
        "restartCount": 2, "lastState": last,
        "state": { "waiting": { "reason": "CrashLoopBackOff", "message": message } },
    })
}

#[test]
fn a_pod_that_starts_runs_or_waits_for_the_scheduler_has_no_trouble() {
    let ready = json!({ "ready": true, "started": true, "state": { "running": { "startedAt": at("00:00:00").to_string() } } });
    for healthy in
        [waiting("ContainerCreating", ""), waiting("PodInitializing", ""), ready, json!({ "state": {} })]
    {
        assert_eq!(judge(&pod(&healthy), None), None, "{healthy}");
    }
    let mut unseen = pod(&json!({}));
    unseen["status"] = json!({ "phase": "Pending" });
    assert_eq!(judge(&unseen, None), None);
}

#[test]
fn an_image_that_cannot_be_pulled_is_named_with_the_registrys_sentence_in_both_of_the_kubelets_reasons() {
    let cause = "failed to resolve reference \"r.example.com/web:1\": not found";
    let pull = trouble(&waiting("ErrImagePull", &format!("rpc error: code = NotFound desc = {cause}")));
    let said = format!(
        "image {IMAGE} cannot be pulled: {cause}; check spec.image, and spec.imagePullSecrets for a private registry"
    );
    assert_eq!((pull.kind, &*pull.message), (TroubleKind::ImagePull, said.as_str()));
    let back_off = format!(
        "Back-off pulling image \"{IMAGE}\": ErrImagePull: rpc error: code = NotFound desc = {cause}"
    );
    assert_eq!(trouble(&waiting("ImagePullBackOff", &back_off)), pull);
}

#[test]
fn a_sentence_without_a_cause_keeps_the_cause_that_was_known() {
    let known = trouble(&waiting("ErrImagePull", "no such host"));
    let silent = pod(&waiting("ImagePullBackOff", &format!("Back-off pulling image \"{IMAGE}\"")));
    assert_eq!(judge(&silent, Some(&known)), Some(known.clone()));
    let alone = judge(&silent, None).unwrap();
    assert!(
        alone.message.starts_with(&format!("image {IMAGE} cannot be pulled; check")),
        "{}",
        alone.message
    );
    let other = Trouble { message: "image other:1 cannot be pulled: gone".into(), ..known };
    assert_eq!(judge(&silent, Some(&other)), Some(alone), "that of another image does not stay");
}

#[test]
fn an_image_that_would_run_as_root_comes_with_the_way_out() {
    let sentence = "container has runAsNonRoot and image will run as root (pod: \"web-5f6-x2k4p_team(0a1b)\", container: app)";
    let found = trouble(&waiting("CreateContainerConfigError", sentence));
    let said = "container app cannot be made: container has runAsNonRoot and image will run as root; set spec.runAsUser, or \
                a numeric USER in the image";
    assert_eq!((found.kind, &*found.message), (TroubleKind::ContainerConfig, said));
}

#[test]
fn a_missing_secret_is_told_in_the_kubelets_words() {
    let found = trouble(&waiting("CreateContainerConfigError", "secret \"db\" not found"));
    assert_eq!(&*found.message, "container app cannot be made: secret \"db\" not found");
    let other = trouble(&waiting("CreateContainerError", "reserved for web-5f6-x2k4p"));
    assert_eq!(
        (other.kind, &*other.message),
        (TroubleKind::ContainerConfig, "container app cannot be made: reserved for <pod>")
    );
}

#[test]
fn a_crash_loop_says_its_exit_code_and_nothing_that_changes() {
    let found = trouble(&backing_off(&run(3, "Error", "00:00:00", "00:00:05")));
    let said = "container app ends again and again: exit code 3; `kubectl logs deployment/web --container app --previous` \
                tells more";
    assert_eq!((found.kind, &*found.message, found.until), (TroubleKind::CrashLoop, said, None));
    assert_eq!(trouble(&backing_off(&run(3, "Error", "00:01:00", "00:01:02"))), found);
}

#[test]
fn a_container_that_is_killed_for_its_memory_is_said_to_be() {
    let found = trouble(&backing_off(&run(137, "OOMKilled", "00:00:00", "00:00:31")));
    assert_eq!(found.kind, TroubleKind::CrashLoop);
    assert!(
        found.message.contains("OOMKilled") && found.message.contains("exit code 137"),
        "{}",
        found.message
    );
}

#[test]
fn a_command_that_cannot_be_started_is_told_alike_whatever_the_kubelet_calls_it() {
    let sentence = "exec: \"nope\": executable file not found in $PATH";
    let mut last = run(128, "StartError", "00:00:00", "00:00:00");
    last["terminated"]["message"] = json!(format!("{sentence}: unknown"));
    let found = trouble(&backing_off(&last));
    let said = format!("container app cannot be started: {sentence}; check spec.command and spec.args");
    assert_eq!((found.kind, &*found.message), (TroubleKind::CrashLoop, said.as_str()));
    assert_eq!(trouble(&waiting("RunContainerError", sentence)), found);
}

#[test]
fn a_crash_loop_goes_on_between_two_crashes_until_the_container_has_run_twice_as_long_as_before() {
    let last = run(1, "Error", "00:00:00", "00:01:00");
    let looping = trouble(&backing_off(&last));
    let again = trouble(&running_again(2, "00:02:00", &last));
    assert_eq!(again.message, looping.message);
    assert_eq!(again.until, Some(at("00:04:00")));
    assert!(again.holds(at("00:03:59")) && !again.holds(at("00:04:00")));
    assert_eq!(again.changes_in(at("00:03:00")), Some(Duration::from_mins(1)));
    let quick = trouble(&running_again(2, "00:02:00", &run(1, "Error", "00:00:00", "00:00:01")));
    assert_eq!(quick.until, Some(at("00:02:30")), "a second proves nothing");
    let slow = trouble(&running_again(2, "00:10:00", &run(1, "Error", "00:00:00", "00:09:30")));
    assert_eq!(slow.until, Some(at("00:20:00")), "the kubelet forgets it then, too");
}

#[test]
fn one_crash_and_one_after_a_long_run_are_no_loop() {
    let short = run(1, "Error", "00:00:00", "00:00:05");
    assert_eq!(judge(&pod(&running_again(1, "00:00:06", &short)), None), None);
    let long = run(1, "Error", "00:00:00", "01:00:00");
    assert_eq!(judge(&pod(&running_again(7, "01:00:01", &long)), None), None);
    assert_eq!(judge(&pod(&json!({ "state": short })), None), None, "a first crash");
    let again = json!({ "restartCount": 1, "state": run(1, "Error", "00:00:10", "00:00:15") });
    assert_eq!(trouble(&again).kind, TroubleKind::CrashLoop, "a second one, before the kubelet backs off");
}

#[test]
fn a_container_that_answers_nothing_is_a_failing_probe_when_its_time_is_over() {
    let running =
        json!({ "started": false, "state": { "running": { "startedAt": at("00:00:00").to_string() } } });
    let found = trouble(&running);
    let said =
        "container app runs, but nothing answers on port 8080; set spec.port to the one the app listens on";
    assert_eq!(
        (found.kind, &*found.message, found.from),
        (TroubleKind::ProbeFailing, said, Some(at("00:00:30")))
    );
    assert!(!found.holds(at("00:00:29")) && found.holds(at("00:00:30")));
    assert_eq!(found.changes_in(at("00:00:10")), Some(Duration::from_secs(20)));
    assert_eq!(found.changes_in(at("00:00:30")), None);
}

#[test]
fn a_started_container_has_the_time_of_both_probes_and_the_message_fits_the_kind() {
    let running =
        json!({ "started": true, "state": { "running": { "startedAt": at("00:00:00").to_string() } } });
    let found = trouble(&running);
    assert_eq!(found.from, Some(at("00:00:36")));
    assert!(
        found.message.contains("GET /up on port 8080 does not succeed; correct spec.readinessProbe"),
        "{}",
        found.message
    );
    for (probe, words) in [
        (json!({ "exec": { "command": ["x"] } }), "the command of spec.readinessProbe does not succeed"),
        (json!({ "grpc": { "port": 9 } }), "gRPC health check on port 9"),
        (json!({ "tcpSocket": { "port": "http" } }), "nothing answers on port http"),
    ] {
        let mut pod = pod(&running);
        pod["spec"]["containers"][0]["readinessProbe"] = probe;
        let found = judge(&pod, None).unwrap();
        assert!(found.message.contains(words), "{}", found.message);
        assert_eq!(found.from, Some(at("00:01:00")), "Kubernetes' own period and threshold");
    }
    let mut gated = pod(&running);
    gated["spec"]["containers"][0] = json!({ "name": "app" });
    assert_eq!(judge(&gated, None), None, "no probe of ours keeps it from being ready");
}

#[test]
fn a_container_that_is_killed_for_its_startup_probe_is_no_crash_loop() {
    let killed = run(137, "Error", "00:00:00", "00:01:00");
    let expected =
        "container app runs, but nothing answers on port 8080; set spec.port to the one the app listens on";
    let running = json!({
        "restartCount": 1, "started": false, "lastState": killed,
        "state": { "running": { "startedAt": at("00:01:01").to_string() } },
    });
    for status in [backing_off(&killed), json!({ "state": killed }), running] {
        let found = trouble(&status);
        assert_eq!(
            (found.kind, &*found.message, found.from),
            (TroubleKind::ProbeFailing, expected, None),
            "{status}"
        );
    }
    for crash in [run(1, "Error", "00:00:00", "00:01:00"), run(137, "Error", "00:00:00", "00:00:10")] {
        assert_eq!(trouble(&backing_off(&crash)).kind, TroubleKind::CrashLoop, "{crash}");
    }
    assert_eq!(judge(&pod(&running_again(1, "00:01:01", &killed)), None), None, "this time it started");
}

#[test]
fn a_pod_that_no_node_takes_is_told_without_counts() {
    let mut pod = pod(&json!({}));
    pod["status"] = json!({ "phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No victims.",
    }] });
    let found = judge(&pod, None).unwrap();
    let said = "no node takes the pods: Insufficient cpu; ask for less (spec.instanceType, spec.resources), or for more nodes";
    assert_eq!((found.kind, &*found.message), (TroubleKind::Unschedulable, said));
}

#[test]
fn of_several_containers_the_more_certain_trouble_speaks_and_a_finished_init_container_has_none() {
    let mut pod = pod(&backing_off(&run(1, "Error", "00:00:00", "00:00:05")));
    let mut sidecar = waiting("ErrImagePull", "gone");
    merge(&mut sidecar, &json!({ "name": "proxy", "ready": false, "restartCount": 0 }));
    pod["status"]["containerStatuses"].as_array_mut().unwrap().push(sidecar);
    assert_eq!(judge(&pod, None).unwrap().kind, TroubleKind::ImagePull);

    let done = json!({ "name": "setup", "ready": true, "restartCount": 2, "state": run(0, "Completed", "00:00:00", "00:00:01") });
    let mut healthy = self::pod(&json!({ "ready": true, "state": { "running": {} } }));
    healthy["status"]["initContainerStatuses"] = json!([done]);
    assert_eq!(judge(&healthy, None), None);
}

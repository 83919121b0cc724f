//! Pods that came up once: ended for a probe, by their node, held back; containers of others; clocks that are off.

use serde_json::{Value, json};

use super::tests::{at, backing_off, judge, judge_at, merge, pod, run, running_again, waiting};
use super::{Trouble, TroubleKind, trouble_of_ended};
use crate::controller::egapp::cluster::PodView;

const LOG: &str = "; `kubectl logs deployment/web --container app --previous` tells more";

/// A pod whose container has that liveness probe.
fn alive(status: &Value, probe: &Value) -> Value {
    let mut pod = pod(status);
    pod["spec"]["containers"][0] = json!({ "name": "app", "livenessProbe": probe });
    pod
}

#[test]
fn a_container_that_ends_by_a_signal_when_its_liveness_probe_can_have_failed_is_told_with_that_probe() {
    let probe = json!({ "periodSeconds": 5, "failureThreshold": 3, "initialDelaySeconds": 10 });
    let message = |code: i32, end: &str| {
        let found = judge(&alive(&backing_off(&run(code, "Error", "00:00:00", end)), &probe), None).unwrap();
        (found.kind, found.message.to_string())
    };
    let said = |code: i32| {
        format!(
            "container app is killed again and again: exit code {code}, as where its liveness probe fails; check \
             spec.livenessProbe, and whether the app answers it in time{LOG}"
        )
    };
    assert_eq!(message(137, "00:01:00"), (TroubleKind::Killed, said(137)));
    assert_eq!(message(143, "00:00:20"), (TroubleKind::Killed, said(143)), "the third try at 20 s");
    let crash = |code: i32| format!("container app ends again and again: exit code {code}{LOG}");
    assert_eq!(
        message(143, "00:00:15"),
        (TroubleKind::CrashLoop, crash(143)),
        "the probe came twice at most"
    );
    assert_eq!(message(1, "00:01:00"), (TroubleKind::CrashLoop, crash(1)));
    let (kind, text) = message(0, "00:01:00");
    assert!(kind == TroubleKind::CrashLoop && text.contains("by itself or when it is asked to"), "{text}");
    let oom = alive(&backing_off(&run(137, "OOMKilled", "00:00:00", "00:01:00")), &probe);
    assert!(judge(&oom, None).unwrap().message.contains("OOMKilled"));
    assert!(TroubleKind::Killed.outlasts_readiness(), "between two ends it is ready");
}

#[test]
fn a_container_of_somebody_elses_is_told_without_the_apps_fields() {
    let owner = "; container proxy is not the app's own: whoever adds it can put it right";
    let of_proxy = |status: &Value, spec: &Value| {
        let mut pod = pod(&json!({ "ready": true, "started": true, "state": { "running": {} } }));
        let mut proxy = json!({ "name": "proxy", "ready": false, "restartCount": 2 });
        merge(&mut proxy, status);
        pod["status"]["containerStatuses"].as_array_mut().unwrap().push(proxy);
        pod["spec"]["containers"].as_array_mut().unwrap().push(spec.clone());
        judge(&pod, None).unwrap().message.to_string()
    };
    let spec = json!({ "name": "proxy", "image": "p:1", "readinessProbe": { "tcpSocket": { "port": 1 } } });
    let pull = of_proxy(&waiting("ErrImagePull", "gone"), &spec);
    assert_eq!(pull, format!("image p:1 of container proxy cannot be pulled: gone{owner}"));
    let log = LOG.replace("container app", "container proxy");
    let crash = of_proxy(&backing_off(&run(1, "Error", "00:00:00", "00:00:01")), &spec);
    assert_eq!(crash, format!("container proxy ends again and again: exit code 1{log}{owner}"));
    let oom = of_proxy(&backing_off(&run(137, "OOMKilled", "00:00:00", "00:00:01")), &spec);
    assert!(oom.ends_with(owner) && !oom.contains("spec."), "{oom}");
    let running =
        json!({ "started": true, "state": { "running": { "startedAt": at("00:00:00").to_string() } } });
    let silent = of_proxy(&running, &spec);
    assert_eq!(silent, format!("container proxy runs, but nothing answers on port 1{owner}"));
}

fn condition(type_: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "lastTransitionTime": at(since).to_string() })
}

fn with_conditions(conditions: &[Value]) -> Value {
    let running = json!({ "ready": true, "started": true, "state": { "running": {} } });
    let mut pod = pod(&running);
    pod["status"]["conditions"] = json!(conditions);
    pod
}

#[test]
fn a_scheduling_gate_is_told_by_name_when_it_has_had_its_time() {
    let mut pod = with_conditions(&[condition("PodScheduled", "False", "SchedulingGated", "00:00:00")]);
    pod["spec"]["schedulingGates"] = json!([{ "name": "a.example.com/x" }, { "name": "b" }]);
    pod["metadata"]["creationTimestamp"] = json!(at("00:00:00").to_string());
    let found = judge(&pod, None).unwrap();
    assert_eq!((found.kind, found.from), (TroubleKind::SchedulingGated, Some(at("00:00:30"))));
    assert!(found.message.starts_with("the pods are held back by scheduling gate a.example.com/x, b;"));
}

#[test]
fn a_pod_that_is_not_ready_though_its_containers_are_waits_for_a_gate_or_for_its_node() {
    let ready = condition("ContainersReady", "True", "", "00:00:00");
    let not = condition("Ready", "False", "ReadinessGatesNotReady", "00:00:00");
    let mut gated = with_conditions(&[ready.clone(), not.clone(), condition("met", "True", "", "00:00:00")]);
    gated["spec"]["readinessGates"] = json!([{ "conditionType": "met" }, { "conditionType": "lb" }]);
    let found = judge(&gated, None).unwrap();
    assert_eq!((found.kind, found.from), (TroubleKind::ReadinessGate, Some(at("00:01:00"))));
    assert!(found.message.starts_with("the containers are ready, and readiness gate lb is not met;"));

    for status in ["False", "Unknown"] {
        let lost = with_conditions(&[ready.clone(), condition("Ready", status, "", "00:00:00")]);
        let found = judge(&lost, None).unwrap();
        assert_eq!((found.kind, found.from), (TroubleKind::NodeLost, None), "{status}");
    }
    let starting = condition("ContainersReady", "False", "ContainersNotReady", "00:00:00");
    assert_eq!(judge(&with_conditions(&[starting, not]), None), None);
    let well = condition("Ready", "True", "", "00:00:00");
    assert_eq!(judge(&with_conditions(&[ready, well]), None), None);
}

fn ended(reason: &str, message: &str) -> Option<Trouble> {
    let mut pod = pod(&json!({}));
    pod["metadata"]["creationTimestamp"] = json!(at("00:00:00").to_string());
    pod["status"] = json!({ "phase": "Failed", "reason": reason, "message": message });
    trouble_of_ended(&serde_json::from_value::<PodView>(pod).unwrap())
}

#[test]
fn what_a_node_says_of_a_pod_that_it_ends_is_told_without_what_it_measured() {
    let low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container app was using \
               300Mi, request is 128Mi, has larger consumption of memory. ";
    let rejected =
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1900, capacity: 2000";
    let shutdown = "Pod was terminated in response to imminent node shutdown.";
    for (reason, message, said) in [
        (
            "Evicted",
            low,
            "nodes evict the pods one after the other: The node was low on resource: memory; it uses more \
            than is set aside for it: raise spec.resources.requests.memory",
        ),
        (
            "Evicted",
            "Container app exceeded its local ephemeral storage limit \"1Gi\". ",
            "nodes evict the pods one after \
            the other: Container app exceeded its local ephemeral storage limit \"1Gi\"; write less to the disk, or raise \
            spec.resources.limits.ephemeral-storage",
        ),
        (
            "Evicted",
            "The node had condition: [DiskPressure]. ",
            "nodes evict the pods one after the other: The node had \
            condition: [DiskPressure]",
        ),
        (
            "OutOfcpu",
            rejected,
            "nodes end the pods one after the other (OutOfcpu): Node didn't have enough resource: cpu",
        ),
        (
            "Terminated",
            shutdown,
            "nodes end the pods one after the other (Terminated): Pod was terminated in response to \
            imminent node shutdown",
        ),
        ("Evicted", "", "nodes evict the pods one after the other"),
    ] {
        let found = ended(reason, message).unwrap();
        assert_eq!((found.kind, &*found.message), (TroubleKind::Evicted, said));
        assert_eq!(found.until, Some(at("00:30:00")), "an old one tells nothing of today");
    }
    let mut finished = pod(&json!({}));
    finished["status"] = json!({ "phase": "Failed" });
    assert_eq!(trouble_of_ended(&serde_json::from_value::<PodView>(finished).unwrap()), None);
}

/// A pod made at 00:00:00 and given to its node at 00:00:01, met by the kubelet and running since at those times.
fn on_a_node(met: &str, started: &str) -> Value {
    let mut pod = pod(&json!({
        "started": false, "state": { "running": { "startedAt": at(started).to_string() } },
    }));
    pod["metadata"]["creationTimestamp"] = json!(at("00:00:00").to_string());
    pod["status"]["conditions"] = json!([condition("PodScheduled", "True", "", "00:00:01")]);
    pod["status"]["startTime"] = json!(at(met).to_string());
    pod
}

#[test]
fn a_nodes_clock_that_is_off_neither_makes_a_failure_nor_hides_one() {
    let right = judge_at(&on_a_node("00:00:01", "00:20:00"), None, at("00:20:01")).unwrap();
    assert_eq!(right.from, Some(at("00:20:30")));
    // Ten minutes ahead: it cannot have begun after it was seen, and later looks at it do not move that.
    let ahead = on_a_node("00:10:01", "00:30:00");
    let first = judge_at(&ahead, None, at("00:20:01")).unwrap();
    assert_eq!(first.from, Some(at("00:20:31")));
    assert_eq!(judge_at(&ahead, Some(&first), at("00:20:25")), Some(first.clone()));
    let again = judge_at(&on_a_node("00:10:01", "00:32:00"), Some(&first), at("00:22:01")).unwrap();
    assert_eq!(again.from, Some(at("00:22:31")), "another run");
    // Ten minutes behind: by as much as the pod was met too early; and not before the pod was there.
    let behind = judge_at(&on_a_node("00:00:01", "00:20:00"), None, at("00:20:01")).unwrap();
    assert_eq!(behind, right);
    let mut behind = on_a_node("00:00:01", "00:10:00");
    behind["status"]["conditions"][0]["lastTransitionTime"] = json!(at("00:10:01").to_string());
    assert_eq!(judge_at(&behind, None, at("00:20:01")).unwrap().from, Some(at("00:20:30")));
    let long_before = judge_at(&on_a_node("00:00:01", "00:00:00"), None, at("00:00:02")).unwrap();
    assert_eq!(long_before.from, Some(at("00:00:30")));
}

#[test]
fn a_clock_that_is_set_during_a_run_makes_it_no_longer_than_the_pod_is_old_and_no_shorter_than_nothing() {
    let judged = |end: &str| {
        let mut pod = pod(&running_again(3, "00:05:00", &run(1, "Error", "00:04:00", end)));
        pod["metadata"]["creationTimestamp"] = json!(at("00:00:00").to_string());
        judge_at(&pod, None, at("00:05:00")).unwrap().until
    };
    assert_eq!(judged("23:00:00"), Some(at("00:15:00")), "five minutes at most, and twice that is the proof");
    assert_eq!(judged("00:00:00"), Some(at("00:05:30")), "nothing proves the least");
}

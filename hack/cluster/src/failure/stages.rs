//! kwok's `Stage` documents for the failures: from which state of a pod, after how long, to which next one. Pure.
//!
//! The texts are those of kubelet 1.37 with containerd 2. Waits before a retry take a tenth of what a kubelet
//! waits; messages name the kubelet's time.

use serde_json::{Value, json};

use super::Failure;

const STATUS: &str = include_str!("status.yaml.tpl");
const MARKER: &str = "{{/* the failing container */}}";

/// jq: the failure of a pod, by annotation or image. Most pods have none, and learn so without a regular expression.
const FAILURE: &str = r#"first((.metadata.annotations["fail.example/failure"] // empty), (.spec.containers[].image
| select(contains("fail.example/")) | capture("(^|/)fail\\.example/(?<failure>[a-z]+)([:@]|$)").failure))"#;

// jq: what state a pod is in. Containers beside the failing one always run.
const NEW: &str = ".status.containerStatuses == null";
const RUNNING: &str = "all(.status.containerStatuses[]; .state.running != null)";
const UNREADY: &str = "any(.status.containerStatuses[]; .state.running != null and (.ready | not))";
const WAITING: &str = "any(.status.containerStatuses[]; .state.waiting != null)";
const PULL_FAILED: &str = r#"any(.status.containerStatuses[]; .state.waiting.reason == "ErrImagePull")"#;
const PULL_BACK_OFF: &str =
    r#"any(.status.containerStatuses[]; .state.waiting.reason == "ImagePullBackOff")"#;
const ENDED_FIRST: &str =
    "any(.status.containerStatuses[]; .state.terminated != null and .restartCount == 0)";
const ENDED_AGAIN: &str = "any(.status.containerStatuses[]; .state.terminated != null and .restartCount > 0)";
const BACK_OFF: &str = r#"any(.status.containerStatuses[]; .state.waiting.reason == "CrashLoopBackOff")"#;

// jq: how long a state lasts.
const AT_ONCE: &str = r#""0s""#;
const A_MOMENT: &str = r#""200ms""#;
const A_SECOND: &str = r#""1s""#;
/// Waits that double are as long as all that was before.
const AS_LONG_AS_BEFORE: &str = r#"[[now - (.status.startTime | fromdate), 1] | max, 30] | min | "\(.)s""#;
/// A tenth of 10 s, doubled with each restart, 300 s at most (`pkg/kubelet/kubelet.go`).
const CRASH_BACK_OFF: &str = r#"[.status.containerStatuses[] | select(.state.waiting != null) | .restartCount - 1, 5]
| min as $again | ["1s", "2s", "4s", "8s", "16s", "30s"][$again]"#;
const SECONDS_OF_TAG: &str =
    r#"first((.spec.containers[].image | capture("fail\\.example/slowready:(?<n>[0-9]+)$").n), "5") + "s""#;

/// What the startup probe grants. Without one nothing ends the wait; a kubelet would call the container started.
const STARTUP_BUDGET: &str = r#"first((.spec.containers[].startupProbe // empty
| .periodSeconds * .failureThreshold + (.initialDelaySeconds // 0)), 1000000) | "\(.)s""#;

/// What the liveness probe grants to a container that does not answer. Without one nothing ends it.
const LIVENESS_BUDGET: &str = r#"first((.spec.containers[].livenessProbe // empty
| .periodSeconds * .failureThreshold + (.initialDelaySeconds // 0)), 1000000) | "\(.)s""#;

/// kubelet: `Started` and `Ready` come with the probes, or with the process where there are none
/// (`pkg/kubelet/prober/prober_manager.go`).
const RUNS: &str = r#"{{ $state = dict "running" (dict "startedAt" $now) }}
{{ $started = not $container.startupProbe }}
{{ $ready = not (or $container.startupProbe $container.readinessProbe) }}"#;
const RESTARTS: &str = r#"{{ $last = dict "terminated" (or $was.state.terminated $last.terminated) }}
{{ $restarts = add $restarts 1 }}"#;
const RUNS_UNREADY: &str = r#"{{ $state = dict "running" (dict "startedAt" $now) }}{{ $ready = false }}"#;
const RUNS_UNSTARTED: &str = r#"{{ $state = dict "running" (dict "startedAt" $now) }}
{{ $started = false }}{{ $ready = false }}"#;
const RUNS_READY: &str = r#"{{ $state = dict "running" (dict "startedAt" $now) }}"#;
/// `pkg/kubelet/eviction/helpers.go`, `podEphemeralStorageMessageFmt`.
const EVICTED: &str =
    r#"{{ $evicted = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. " }}"#;
/// `pkg/kubelet/kuberuntime/kuberuntime_manager.go`, `doBackOff`; the times as Go prints them.
const BACKS_OFF: &str = r#"{{ $times := list "10s" "20s" "40s" "1m20s" "2m40s" "5m0s" }}
{{ $wait := index $times (int (min (sub $restarts 1) 5)) }}
{{ $message := printf "back-off %s restarting failed container=%s pod=%s" $wait $container.name $described }}
{{ $last = $was.state }}
{{ $state = dict "waiting" (dict "reason" "CrashLoopBackOff" "message" $message) }}
{{ $started = false }}{{ $ready = false }}"#;

/// One step in the life of a failing pod.
struct Step {
    name: &'static str,
    /// The state it is for.
    when: &'static str,
    /// How long that lasts.
    after: &'static str,
    /// What is assigned in the status template then; nothing where the pod stays as it is.
    then: Option<String>,
}

impl Step {
    fn new(name: &'static str, when: &'static str, after: &'static str, then: impl Into<String>) -> Self {
        Self { name, when, after, then: Some(then.into()) }
    }

    /// A state without an end. It needs a stage too: without one kwok's own would try to make the pod ready.
    const fn stay(when: &'static str) -> Self {
        Self { name: "stay", when, after: AT_ONCE, then: None }
    }
}

/// The configuration file that is given to kwok beside its own stages.
pub(crate) fn documents() -> String {
    let stages = Failure::ALL
        .iter()
        .flat_map(|failure| steps(*failure).into_iter().map(|step| stage(*failure, &step).to_string()));
    stages.collect::<Vec<_>>().join("\n---\n")
}

fn steps(failure: Failure) -> Vec<Step> {
    match failure {
        Failure::ImagePull => vec![
            Step::new("fail", NEW, AT_ONCE, pull_failed()),
            Step::new("back-off", PULL_FAILED, A_MOMENT, pull_backs_off()),
            Step::new("retry", PULL_BACK_OFF, AS_LONG_AS_BEFORE, pull_failed()),
        ],
        Failure::ConfigError => {
            // Object caches of the kubelet name the resource in the singular (pkg/kubelet/configmap).
            vec![
                Step::new("fail", NEW, AT_ONCE, config_error(r#"`configmap "app-config" not found`"#)),
                Step::stay(WAITING),
            ]
        }
        Failure::RunAsRoot => {
            // pkg/kubelet/kuberuntime/security_context_others.go, verifyRunAsNonRoot
            let text = r#"(printf "container has runAsNonRoot and image will run as root (pod: %q, container: %s)"
$described $container.name)"#;
            vec![Step::new("fail", NEW, AT_ONCE, config_error(text)), Step::stay(WAITING)]
        }
        Failure::CrashLoop => crashes(RUNS, A_SECOND, &ends("Error", "(int (default 3 $number))")),
        Failure::OutOfMemory => crashes(RUNS, A_SECOND, &ends("OOMKilled", "137")),
        Failure::SlowReady => vec![
            Step::new("run", NEW, AT_ONCE, RUNS_UNREADY),
            Step::new("become-ready", UNREADY, SECONDS_OF_TAG, ""),
        ],
        Failure::NeverReady => vec![Step::new("run", NEW, AT_ONCE, RUNS_UNREADY)],
        // The kubelet asks it to end, and the code says so: 128 and the number of the signal SIGTERM.
        Failure::NeverStarted => crashes(RUNS_UNSTARTED, STARTUP_BUDGET, &ends("Error", "143")),
        // It does not end when it is asked to.
        Failure::Hangs => crashes(RUNS_READY, LIVENESS_BUDGET, &ends("Error", "137")),
        Failure::Evicted => vec![
            Step::new("run", NEW, AT_ONCE, RUNS),
            Step::new("evict", RUNNING, A_SECOND, [ends("Error", "137").as_str(), EVICTED].join("\n")),
            Step::stay(ENDED_FIRST),
        ],
    }
}

/// As a kubelet does: the first restart is immediate, each later one waits.
fn crashes(run: &str, lasts: &'static str, end: &str) -> Vec<Step> {
    let restart = [run, RESTARTS].join("\n");
    vec![
        Step::new("run", NEW, AT_ONCE, run),
        Step::new("end", RUNNING, lasts, end),
        Step::new("restart", ENDED_FIRST, A_MOMENT, restart.as_str()),
        Step::new("back-off", ENDED_AGAIN, A_MOMENT, BACKS_OFF),
        Step::new("retry", BACK_OFF, CRASH_BACK_OFF, restart),
    ]
}

/// The container ends; `code` is a template expression.
fn ends(reason: &str, code: &str) -> String {
    format!(
        r#"{{{{ $state = dict "terminated" (dict "exitCode" {code} "reason" "{reason}"
"startedAt" $was.state.running.startedAt "finishedAt" $now "containerID" $was.containerID) }}}}
{{{{ $started = false }}}}{{{{ $ready = false }}}}"#
    )
}

/// The container waits; `message` is a template expression.
fn waits(reason: &str, message: &str) -> String {
    format!(
        r#"{{{{ $state = dict "waiting" (dict "reason" "{reason}" "message" {message}) }}}}
{{{{ $started = false }}}}{{{{ $ready = false }}}}"#
    )
}

/// `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `ErrCreateContainerConfig`.
fn config_error(message: &str) -> String {
    waits("CreateContainerConfigError", message)
}

/// What containerd answers for a tag that the registry does not have.
const NOT_FOUND: &str = r#"{{ $image := $container.image }}
{{ $unresolved := printf "failed to resolve reference %q: %s: not found" $image $image }}
{{ $unpulled := printf "failed to pull and unpack image %q: %s" $image $unresolved }}
{{ $error := printf "rpc error: code = NotFound desc = %s" $unpulled }}"#;

fn pull_failed() -> String {
    [NOT_FOUND, &waits("ErrImagePull", "$error")].join("\n")
}

/// The kubelet repeats the error while it waits (`pkg/kubelet/images/image_manager.go`, `pullImage`).
fn pull_backs_off() -> String {
    let message = r#"(printf "Back-off pulling image %q: ErrImagePull: %s" $image $error)"#;
    [NOT_FOUND, &waits("ImagePullBackOff", message)].join("\n")
}

fn stage(failure: Failure, step: &Step) -> Value {
    let patch = |then: &String| {
        let template = STATUS.replace(MARKER, then);
        json!({"patch": {"subresource": "status", "root": "status", "template": template}})
    };
    json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": format!("{}-{}", failure.name(), step.name)},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            // kwok's own stages have none, and are never chosen where one with a weight fits.
            "weight": 1,
            "selector": {"matchExpressions": [
                {"jq": {"key": FAILURE, "operator": "In", "values": [failure.name()]}},
                // A pod that is being deleted is left to kwok's own stage.
                {"jq": {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}},
                {"jq": {"key": step.when, "operator": "In", "values": ["true"]}},
            ]},
            "delay": {"durationFrom": {"jq": {"expression": step.after}}},
            "steps": step.then.iter().map(patch).collect::<Vec<_>>(),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_stage_has_its_own_name_and_puts_its_state_into_the_template() {
        assert_eq!(STATUS.matches(MARKER).count(), 1);
        let text = documents();
        let stages: Vec<Value> =
            text.split("\n---\n").map(|one| serde_json::from_str(one).unwrap()).collect();
        let names: BTreeSet<&str> =
            stages.iter().filter_map(|stage| stage["metadata"]["name"].as_str()).collect();
        assert_eq!(names.len(), stages.len());
        for failure in Failure::ALL {
            assert!(names.iter().any(|name| name.starts_with(failure.name())), "{failure:?}");
        }
        assert!(!text.contains(MARKER));
    }
}

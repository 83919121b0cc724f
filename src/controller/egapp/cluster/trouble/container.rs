//! What keeps one container from serving. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::SignedDuration;

use super::super::pod_view::{Container, ContainerStatus, Ended, PodView, Running, Waiting};
use super::super::words;
use super::clock::Clock;
use super::probes::{budget, killed, may_be_killed, unanswered, was_killed_at_start};
use super::{Found, TroubleKind, advice, identity};
use egapp_api::labels;

/// The kubelet forgets a crash loop after a run of this length: twice the longest of its pauses.
const LONG_RUN: SignedDuration = SignedDuration::from_mins(10);

/// A restarted container that runs for at least so long, and for twice as long as before, is over its crashes; after a
/// [`LONG_RUN`] in any case.
const PROOF: SignedDuration = SignedDuration::from_secs(30);

/// A container of a pod, and the clock its times are read by.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) pod: &'a PodView,
    pub(super) clock: &'a Clock,
    pub(super) status: &'a ContainerStatus,
}

impl<'a> Look<'a> {
    /// What keeps the container from serving.
    pub(super) fn judge(self) -> Option<Found> {
        let state = self.status.state.as_ref()?;
        let last = self.status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
        if let Some(waiting) = &state.waiting {
            return self.of_waiting(waiting, last);
        }
        if let Some(ended) = &state.terminated {
            // An init container ends well and is ready then.
            let is_bad = self.is_short(ended) && !(ended.exit_code == 0 && self.status.ready);
            let found = is_bad.then(|| self.crash_loop(Some(ended)))?;
            // A first crash is no loop yet.
            let is_told = self.status.restart_count > 0 || found.kind == TroubleKind::ProbeFailing;
            return is_told.then_some(found);
        }
        let running = state.running.as_ref()?;
        self.still_looping(running, last).or_else(|| self.not_ready(running))
    }

    fn of_waiting(self, waiting: &Waiting, last: Option<&Ended>) -> Option<Found> {
        let sentence = waiting.message.as_deref().unwrap_or_default();
        match waiting.reason.as_deref()? {
            "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed" => Some(self.image_pull(sentence)),
            "CreateContainerConfigError" | "CreateContainerError" | "PreCreateHookError" => {
                Some(self.container_config(sentence))
            }
            "CrashLoopBackOff" => Some(self.crash_loop(last)),
            "RunContainerError" | "PreStartHookError" | "PostStartHookError" => {
                Some(self.unstartable(sentence))
            }
            _ => None,
        }
    }

    fn image_pull(self, sentence: &str) -> Found {
        let status = self.status;
        let image = self.wanted().and_then(|container| container.image.as_deref());
        let image = image.map_or_else(|| "the image".to_owned(), |image| format!("image {image}"));
        let whose = if status.is_own() { String::new() } else { format!(" of container {}", status.name) };
        let cause = words::image_cause(sentence).map(|cause| self.of_kubelet(cause));
        let own = "; check spec.image, and spec.imagePullSecrets for a private registry";
        let what = format!("{image}{whose} cannot be pulled");
        Found::new(TroubleKind::ImagePull, what, cause, &advice(status, own))
    }

    fn container_config(self, sentence: &str) -> Found {
        let cause = self.of_kubelet(sentence);
        let is_about_root = cause.contains("run as root") || cause.contains("non-numeric user");
        let own = if is_about_root { "; set spec.runAsUser, or a numeric USER in the image" } else { "" };
        let what = format!("container {} cannot be made", self.status.name);
        let cause = Some(cause).filter(|cause| !cause.is_empty());
        Found::new(TroubleKind::ContainerConfig, what, cause, &advice(self.status, own))
    }

    /// The runtime made the container, and could not run it: a wrong command, above all.
    fn unstartable(self, sentence: &str) -> Found {
        let cause = self.of_kubelet(sentence.trim_end_matches(": unknown"));
        let what = format!("container {} cannot be started", self.status.name);
        let cause = Some(cause).filter(|cause| !cause.is_empty());
        let own = "; check spec.command and spec.args";
        Found::new(TroubleKind::CrashLoop, what, cause, &advice(self.status, own))
    }

    fn crash_loop(self, ended: Option<&Ended>) -> Found {
        let status = self.status;
        let what = format!("container {} ends again and again", status.name);
        let log = self.log();
        let Some(ended) = ended else {
            return Found::new(TroubleKind::CrashLoop, what, None, &format!("{log}{}", advice(status, "")));
        };
        if ended.reason.as_deref() == Some("StartError") {
            return self.unstartable(ended.message.as_deref().unwrap_or_default());
        }
        let (code, length) = (ended.exit_code, self.clock.length(ended));
        let container = self.wanted();
        if let Some(container) = container
            && let Some(probe) = &container.startup_probe
            && was_killed_at_start(probe, ended, length)
        {
            return unanswered(status, container, probe);
        }
        let liveness = container.and_then(|container| container.liveness_probe.as_ref());
        let may_be_killed = liveness.is_some_and(|probe| may_be_killed(probe, ended, length));
        if may_be_killed && code != 0 {
            return killed(status, code, &log);
        }
        let own = "; give it more memory (spec.instanceType, spec.resources.limits)";
        let (cause, log, own) = match (ended.reason.as_deref(), code) {
            (Some("OOMKilled"), _) => {
                let cause = format!("OOMKilled, it needs more memory than its limit (exit code {code})");
                (cause, String::new(), own)
            }
            // Who ends well when asked to cannot be told from who ends by itself.
            (_, 0) if may_be_killed => {
                let cause =
                    "exit code 0, by itself or when it is asked to, as where its liveness probe fails";
                (cause.to_owned(), log, "")
            }
            (_, 0) => ("exit code 0, though it is meant to go on running".to_owned(), log, ""),
            _ => (format!("exit code {code}"), log, ""),
        };
        Found::new(TroubleKind::CrashLoop, what, Some(cause), &format!("{log}{}", advice(status, own)))
    }

    /// A container that runs once more after short runs has still to prove itself: until then it may be between two
    /// ends, ready or not.
    fn still_looping(self, running: &Running, last: Option<&Ended>) -> Option<Found> {
        let last = last.filter(|last| self.is_short(last))?;
        let found = self.crash_loop(Some(last));
        if found.kind == TroubleKind::ProbeFailing {
            return (self.status.started != Some(true)).then_some(found);
        }
        let proof = self.clock.length(last).map_or(PROOF, |run| PROOF.max(run * 2).min(LONG_RUN));
        let moment = self.clock.moment(started(running)?);
        let until = moment.at.checked_add(proof).ok()?;
        let is_told = self.status.restart_count > 1;
        is_told.then_some(Found { until: Some(until), moment: Some(moment), ..found })
    }

    /// A running container that does not answer its probes past their time.
    fn not_ready(self, running: &Running) -> Option<Found> {
        let status = self.status;
        let container = self.wanted().filter(|_| !status.ready)?;
        let startup = container.startup_probe.as_ref();
        let readiness = container.readiness_probe.as_ref().filter(|_| status.started == Some(true));
        let probe = readiness.or(startup)?;
        let budget = [startup, readiness].into_iter().flatten().map(budget).sum::<SignedDuration>();
        let moment = self.clock.moment(started(running)?);
        let from = moment.at.checked_add(budget).ok()?;
        Some(Found { from: Some(from), moment: Some(moment), ..unanswered(status, container, probe) })
    }

    /// The container as it is wanted.
    fn wanted(self) -> Option<&'a Container> {
        self.pod.container(&self.status.name)
    }

    fn is_short(self, run: &Ended) -> bool {
        self.clock.length(run).is_none_or(|run| run < LONG_RUN)
    }

    /// Where more is to be read.
    fn log(self) -> String {
        format!(
            "; `kubectl logs deployment/{} --container {} --previous` tells more",
            self.pod.label(labels::EGAPP).unwrap_or_default(),
            self.status.name
        )
    }

    fn of_kubelet(self, sentence: &str) -> String {
        let (name, uid) = identity(self.pod);
        words::of_kubelet(sentence, name, uid)
    }
}

fn started(running: &Running) -> Option<&Time> {
    running.started_at.as_ref()
}

//! Whether what is wanted of an app is its user's wish, or a platform change that must wait for its turn. Pure.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::time::Instant;

use super::desired::Children;
use super::memory::{Memory, Progress};
use super::names;
use super::observe::{Observed, Ownership};
use super::status::Verdict;
use super::turns::{Standing, Turn};
use super::wish::digest_of;
use crate::platform::Platform;
use egapp_api::v1alpha1::{
    ConditionStatus, ConditionType, EGApp, EGAppStatus, Environment, LastFailure, Reason,
};

/// Reasons that no pod gives.
const OF_CALLS: [Reason; 8] = [
    Reason::AdmissionDenied,
    Reason::Forbidden,
    Reason::ImageUnresolved,
    Reason::InvalidSpec,
    Reason::NameConflict,
    Reason::NamespaceTerminating,
    Reason::Overridden,
    Reason::Retrying,
];

/// Whose wish it is that a pass would bring about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Author {
    /// The user's; or there is nothing to bring about.
    #[default]
    User,
    /// The platform's, and the app waits for its turn.
    PlatformLater,
    /// The same, and meanwhile the app is kept as the platform wants it that made its pods.
    PlatformFormer,
    /// The platform's, and it is the app's turn.
    PlatformNow(Turn),
}

/// An app and a platform change.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The app.
    pub app: &'a EGApp,
    /// What exists of it.
    pub observed: &'a Observed,
    /// See [`Turns::change`](super::turns::Turns::change).
    pub change: u64,
}

impl Subject<'_> {
    /// Whose wish it is to bring `children` about; `None` where the spec cannot be mapped. `turn`: the app's, if it has
    /// one.
    ///
    /// A platform change is pending where the pod template that is wanted differs from the one that was applied last,
    /// though this generation of the EGApp was brought about before: its status says so, and no try to apply an edit is
    /// open. A new app waits for nobody, and neither does a Deployment that is gone where nobody knows what it was.
    pub fn author(&self, children: Option<&Children>, turn: Option<Turn>, memory: &mut Memory) -> Author {
        if self.is_edit(memory) {
            // Whatever else is in the way of it: its pods are as it wants them.
            memory.edit = memory.edit.filter(|_| !self.has_pods_of(children));
            return Author::User;
        }
        if let Some(turn) = turn {
            memory.change.had_turn = true;
            return Author::PlatformNow(turn);
        }
        if self.replaces_pods(children, memory) { Author::PlatformLater } else { Author::User }
    }

    /// The turn that the app has had in another process, to no effect: a call was refused, or the spec could not be mapped,
    /// so that its Deployment has no mark. Its status says so.
    #[must_use]
    pub fn vain_turn(&self, memory: &mut Memory) -> Option<Turn> {
        let failure = self.failure()?;
        let is_same = failure.platform_change.as_ref() == Some(&mark_of(self.change));
        memory.change.had_turn |= is_same;
        is_same.then_some(Turn { was_ready: true })
    }

    /// Writes down in a status that the app had its turn to no effect, or that this is over; and what it fails with, also
    /// where its pods do not say so: it hangs, or was scaled to zero since.
    pub fn sign(&self, status: &mut EGAppStatus, standing: &Standing) {
        let is_vain = matches!(standing, Standing::Failing { .. }) && !self.is_marked();
        if matches!(standing, Standing::Failing { .. }) && status.last_failure.is_none() {
            status.last_failure = self.failure().cloned().or_else(|| stuck(status));
        }
        if let Some(failure) = &mut status.last_failure {
            failure.platform_change = is_vain.then(|| mark_of(self.change));
        }
    }

    /// Whether bringing `children` about would replace pods, and the app has not had its turn for that.
    ///
    /// An edit that does not change them, as a scale does not, is brought about with the pods that are there, where it is
    /// known what made them: nobody who scales an app takes a platform change along that has not come to it.
    #[must_use]
    pub fn replaces_pods(&self, children: Option<&Children>, memory: &Memory) -> bool {
        self.observed.deployment.ownership == Ownership::Ours
            && self.app.spec.environment != Environment::Unknown
            && !self.has_pods_of(children)
            && !memory.change.had_turn
    }

    /// Whether the pods are of the template that is wanted. Either of the two digests says so: who changes one of them by
    /// hand makes no platform change of it.
    fn has_pods_of(&self, children: Option<&Children>) -> bool {
        let applied = self.observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
        match (applied, children) {
            (Some(applied), Some(children)) => {
                children.template() == Some(applied.template)
                    || digest_of(&*children.deployment) == applied.applied
            }
            (applied, children) => applied.is_none() && children.is_none(),
        }
    }

    /// Whether this generation of the app has not been brought about yet. What a status does not tell, a try that failed
    /// in this process does.
    fn is_edit(&self, memory: &mut Memory) -> bool {
        let generation = self.app.metadata.generation;
        if self.app.status.as_ref().and_then(|status| status.observed_generation) != generation {
            memory.edit = generation;
        }
        memory.edit.is_some() && memory.edit == generation
    }

    /// Marks the Deployment that a platform change reaches while its app is Ready. The mark is no part of the wish's
    /// digest; it stays while the same change is put right, and goes with the next edit that replaces the pods.
    pub fn mark(&self, children: &mut Children, author: Author, memory: &mut Memory) {
        let is_granted = matches!(author, Author::PlatformNow(Turn { was_ready: true }));
        let is_of_user = self.is_edit(memory) && !self.has_pods_of(Some(children));
        if is_granted || (self.is_marked() && !is_of_user) {
            let annotations = children.deployment.metadata.annotations.get_or_insert_default();
            annotations.insert(names::PLATFORM_CHANGE.to_owned(), mark_of(self.change));
        }
    }

    /// Whether the Deployment is gone, and `children` would make it anew with other pods than it had: who deletes one that
    /// waits for a platform change does not ask for that change.
    #[must_use]
    pub fn remakes_otherwise(&self, children: Option<&Children>, memory: &Memory) -> bool {
        let wanted = children.and_then(Children::template);
        self.observed.deployment.ownership == Ownership::Absent
            && !memory.change.had_turn
            && wanted.is_some()
            && memory.template.is_some_and(|template| wanted != Some(template))
    }

    /// Digest of the template of the app's pods, as it was applied last.
    #[must_use]
    pub fn template(&self) -> Option<u64> {
        let live = self.observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
        live.map(|live| live.template).filter(|template| *template != 0)
    }

    fn is_marked(&self) -> bool {
        let deployment = &self.observed.deployment;
        let details = deployment.live.as_ref().and_then(|live| live.details.as_ref());
        deployment.ownership == Ownership::Ours
            && details.is_some_and(|details| details.change == Some(self.change))
    }

    /// Whether the status of an app that waits stays as it is: it tells of a call that failed, and where nobody knows what
    /// made its pods, none is tried before its turn. What pods do is told meanwhile, as ever; that they could not be seen
    /// (then it is Unknown whether the app is Ready) is over.
    #[must_use]
    pub fn keeps_its_word(&self, author: Author) -> bool {
        let ready = self.app.status.as_ref().and_then(|status| status.condition(ConditionType::Ready));
        author == Author::PlatformLater
            && ready.is_some_and(|ready| {
                ready.status == ConditionStatus::False.as_str()
                    && OF_CALLS.iter().any(|reason| reason.as_str() == ready.reason)
            })
    }

    /// How the app stands to the change after a pass that came to that.
    ///
    /// An app that was Ready with the change and is scaled or drained since has still got through it; one that fails since
    /// has not. One that comes no further for too long fails, too.
    pub fn standing(&self, came: &Came<'_>, memory: &mut Memory) -> Standing {
        let Came { author, verdict, .. } = *came;
        let environment = self.app.spec.environment;
        let was_ready = match author {
            Author::PlatformLater | Author::PlatformFormer => {
                let is_ready = is_ready(&verdict.status) && !self.keeps_its_word(author);
                return Standing::Waiting { environment, is_ready };
            }
            Author::PlatformNow(Turn { was_ready }) => was_ready,
            Author::User if self.is_marked() => true,
            Author::User if verdict.is_failing && self.vain_turn(memory).is_some() => true,
            Author::User => return Standing::Apart,
        };
        if let Some(failure) = self.hidden_failure(author, verdict, memory).filter(|_| was_ready) {
            return failing(environment, &failure.reason, &failure.message);
        }
        let is_ready = is_ready(&verdict.status);
        memory.change.was_well |= is_ready;
        memory.change.has_failed &= !is_ready;
        if is_ready || self.app.spec.suspend || is_going(&verdict.status) {
            memory.change.arrive();
            return Standing::Apart;
        }
        // After a restart the status tells that the app has not been Ready since it failed.
        let has_failed = (verdict.is_failing || author == Author::User) && !came.is_early;
        let standing = match verdict.status.last_failure.as_ref().filter(|_| has_failed) {
            None if memory.change.was_well => Standing::Apart,
            None => self.rolling(was_ready, came, memory),
            Some(failure) if was_ready => failing(environment, &failure.reason, &failure.message),
            Some(_) => Standing::Apart,
        };
        memory.change.has_failed |= matches!(standing, Standing::Failing { .. });
        standing
    }

    /// An app that is neither Ready nor failing. Where it was not Ready before, it has said all when its pods are there.
    fn rolling(&self, was_ready: bool, came: &Came<'_>, memory: &mut Memory) -> Standing {
        let environment = self.app.spec.environment;
        let still = memory.change.stands_still(self.progress(&came.verdict.status), came.now);
        let is_overdue = still >= came.patience;
        let ready = came.verdict.status.condition(ConditionType::Ready).filter(|_| is_overdue);
        match ready {
            Some(ready) if was_ready => {
                let message =
                    format!("{}; it came no further for {} s", ready.message, came.patience.as_secs());
                failing(environment, &ready.reason, &message)
            }
            None if was_ready || !self.has_rolled_out(&came.verdict.status) => {
                Standing::Rolling { environment }
            }
            Some(_) | None => Standing::Apart,
        }
    }

    /// What a scale to zero hides: an app without pods is Ready, and mended by nobody.
    fn hidden_failure(&self, author: Author, verdict: &Verdict, memory: &Memory) -> Option<&LastFailure> {
        let is_at_zero = verdict.status.desired_replicas == Some(0) && !self.app.spec.suspend;
        let has_failed = memory.change.has_failed || (author == Author::User && !memory.change.was_well);
        self.failure().filter(|_| is_at_zero && has_failed && !is_going(&verdict.status))
    }

    /// Whether the Deployment has replaced every pod, and all are available.
    fn has_rolled_out(&self, status: &EGAppStatus) -> bool {
        let counts = [status.replicas, status.updated_replicas, status.available_replicas];
        self.is_acted_on() && counts.iter().all(|count| *count == status.desired_replicas)
    }

    /// Counts of a former template say nothing.
    fn progress(&self, status: &EGAppStatus) -> Progress {
        let count = |count: Option<i32>| count.unwrap_or_default();
        let pods = count(status.updated_replicas).saturating_add(count(status.available_replicas));
        Progress { template: self.template(), far: if self.is_acted_on() { pods } else { -1 } }
    }

    /// Whether the Deployment controller has acted on what was applied last.
    fn is_acted_on(&self) -> bool {
        let live = self.observed.deployment.live.as_ref().and_then(|live| live.details.as_ref());
        live.is_some_and(|live| live.state.observed_generation >= live.generation)
    }

    /// What the status told last.
    fn failure(&self) -> Option<&LastFailure> {
        self.app.status.as_ref().and_then(|status| status.last_failure.as_ref())
    }
}

/// What a pass came to.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// Whose wish it was.
    pub author: Author,
    /// What the status says of it.
    pub verdict: &'a Verdict,
    /// Whether a failure may be over with the next try.
    pub is_early: bool,
    /// When.
    pub now: Instant,
    /// So long an app that has the change may come no further.
    pub patience: Duration,
}

fn failing(environment: Environment, reason: &str, message: &str) -> Standing {
    Standing::Failing { environment, why: format!("{reason}: {message}") }
}

/// So long an app that has a platform change may come no further: twice as long as its Deployment may.
#[must_use]
pub fn patience(platform: &Platform, app: &EGApp) -> Duration {
    let policy = platform.environment(app.spec.environment);
    let deadline = policy.map_or(600, |policy| policy.progress_deadline_seconds);
    2 * Duration::from_secs(u64::try_from(deadline).unwrap_or_default())
}

fn mark_of(change: u64) -> String {
    format!("{change:016x}")
}

/// What an app fails with that is not Ready, and of which nothing else is known.
fn stuck(status: &EGAppStatus) -> Option<LastFailure> {
    let Condition { reason, message, last_transition_time, .. } =
        status.condition(ConditionType::Ready)?.clone();
    Some(LastFailure { reason, message, since: last_transition_time, platform_change: None })
}

/// Whether the app goes with its namespace, and says nothing about a change.
fn is_going(status: &EGAppStatus) -> bool {
    let failure = status.last_failure.as_ref();
    failure.is_some_and(|failure| failure.reason == Reason::NamespaceTerminating.as_str())
}

fn is_ready(status: &EGAppStatus) -> bool {
    let ready = status.condition(ConditionType::Ready);
    ready.is_some_and(|ready| ready.status == ConditionStatus::True.as_str())
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;

//! Whether what is wanted of an app is its user's wish, or a platform change that must wait for its turn. Pure.

use super::desired::Children;
use super::memory::Memory;
use super::names;
use super::observe::{Observed, Ownership};
use super::status::Verdict;
use super::turns::{Standing, Turn};
use super::wish::digest_of;
use egapp_api::v1alpha1::{ConditionStatus, ConditionType, EGApp, EGAppStatus, Environment, Reason};

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

/// An app under the platform of a revision.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The app.
    pub app: &'a EGApp,
    /// What exists of it.
    pub observed: &'a Observed,
    /// See [`Platform::revision`](crate::platform::Platform::revision).
    pub revision: u64,
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
        let failure = self.app.status.as_ref().and_then(|status| status.last_failure.as_ref())?;
        let is_same = failure.platform_change.as_ref() == Some(&mark_of(self.revision));
        memory.change.had_turn |= is_same;
        is_same.then_some(Turn { was_ready: true })
    }

    /// Writes down in a status that the app had its turn to no effect, or that this is over.
    pub fn sign(&self, status: &mut EGAppStatus, standing: &Standing) {
        let is_vain = matches!(standing, Standing::Failing { .. }) && !self.is_marked();
        if let Some(failure) = &mut status.last_failure {
            failure.platform_change = is_vain.then(|| mark_of(self.revision));
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
            annotations.insert(names::PLATFORM_CHANGE.to_owned(), mark_of(self.revision));
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
            && details.is_some_and(|details| details.change == Some(self.revision))
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

    /// How the app stands to the change after a pass of `author` that came to `verdict`. `is_early`: its failure may be
    /// over with the next try.
    ///
    /// An app that was Ready with the change and is scaled or drained since has still got through it; one that fails since
    /// has not.
    pub fn standing(
        &self,
        author: Author,
        verdict: &Verdict,
        is_early: bool,
        memory: &mut Memory,
    ) -> Standing {
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
        memory.change.was_well |= is_ready(&verdict.status);
        if is_ready(&verdict.status) || self.app.spec.suspend || is_going(&verdict.status) {
            return Standing::Apart;
        }
        // After a restart the status tells that the app has not been Ready since it failed.
        let has_failed = verdict.is_failing || author == Author::User;
        match verdict.status.last_failure.as_ref().filter(|_| has_failed && !is_early) {
            None if memory.change.was_well => Standing::Apart,
            None => Standing::Rolling { environment },
            Some(failure) if was_ready => {
                Standing::Failing { environment, why: format!("{}: {}", failure.reason, failure.message) }
            }
            Some(_) => Standing::Apart,
        }
    }
}

fn mark_of(revision: u64) -> String {
    format!("{revision:016x}")
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

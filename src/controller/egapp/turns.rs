//! Whose turn it is to get a platform change: environment after environment, a few apps at a time, and none while one
//! fails. A state machine without I/O and clock; ADR 14 has the reasons.
//!
//! Every pass over an app reports how the app stands to the change. All of that can be seen in the cluster, so that
//! another process comes to the same state: nobody has a turn before every app has been looked at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lineage::{Holding, Lineage, Recalled};
use super::notice::Notice;
use crate::controller::key::ObjectKey;
use crate::controller::scope::Area;
use crate::platform::Platform;
use crate::telemetry::ChangeMetrics;
use egapp_api::v1alpha1::Environment;

/// How an app stands to the change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It has what the platform says, or it is not concerned.
    #[default]
    Apart,
    /// It waits for its turn.
    Waiting {
        /// Where it runs.
        environment: Environment,
        /// Whether it is Ready with what it has.
        is_ready: bool,
    },
    /// It has had its turn, and is not Ready yet.
    Rolling {
        /// Where it runs.
        environment: Environment,
    },
    /// It was Ready, has had its turn, and fails.
    Failing {
        /// Where it runs.
        environment: Environment,
        /// The reason and message of its status.
        why: String,
    },
    /// Nobody can tell: pass after pass over it came to no end.
    Unclear {
        /// What is known of it.
        why: String,
    },
}

/// A turn that was given to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether the app was Ready when it waited: it then says something about the change.
    pub was_ready: bool,
}

/// What follows from a report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The apps whose turn it is now.
    pub next: Vec<ObjectKey>,
    /// What people should hear.
    pub notice: Option<Notice>,
}

/// The turns of all apps.
pub struct Turns {
    state: Mutex<State>,
    metrics: ChangeMetrics,
}

#[derive(Debug)]
struct State {
    lineage: Lineage,
    order: Vec<Environment>,
    at_a_time: usize,
    /// So many apps may fail, and the change goes on.
    max_failing: usize,
    /// Areas of which nobody knows yet which apps there are.
    unlisted: BTreeSet<Area>,
    /// Apps that have not been looked at since the platform or the view of the cluster is another.
    unseen: BTreeSet<ObjectKey>,
    /// Apps that wait, or have had their turn and are not done.
    apps: BTreeMap<ObjectKey, Member>,
    told: Told,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    environment: Environment,
    was_ready: bool,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// It has its turn, also where nothing of it can be seen yet.
    Rolling,
    Failing(String),
}

/// What people have heard last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    #[default]
    Nothing,
    Begun,
    Halted,
    /// Of a change that another one has taken the place of.
    OfFormer,
}

impl Turns {
    /// No app is known yet, in any of `areas`.
    #[must_use]
    pub fn new(platform: &Platform, areas: impl IntoIterator<Item = Area>, metrics: ChangeMetrics) -> Self {
        let mut state = State {
            lineage: Lineage::new(platform.revision()),
            order: Vec::new(),
            at_a_time: 0,
            max_failing: 0,
            unlisted: areas.into_iter().collect(),
            unseen: BTreeSet::new(),
            apps: BTreeMap::new(),
            told: Told::default(),
        };
        state.follow(platform);
        state.count(&metrics);
        Self { state: Mutex::new(state), metrics }
    }

    /// Another platform holds: all is open again until each of `apps` has been looked at.
    pub fn renew(&self, platform: &Platform, apps: Vec<ObjectKey>) {
        let mut state = self.lock();
        let former = state.lineage.now().change;
        state.follow(platform);
        state.apps.clear();
        state.unseen = apps.into_iter().collect();
        if state.told != Told::Nothing && state.lineage.now().change != former {
            state.told = Told::OfFormer;
        }
        state.count(&self.metrics);
    }

    /// Another process went before this one and has left that behind, or none did. Whether the platform that holds may be one that
    /// has been replaced: nobody has a turn then before another one comes, or [`trust`](Self::trust).
    pub fn recall(&self, recalled: Option<Recalled>) -> bool {
        let lineage = &mut self.lock().lineage;
        lineage.recall(recalled);
        lineage.is_outdated()
    }

    /// The platform that holds is meant, whatever another process knew.
    pub fn trust(&self) -> Step {
        let mut state = self.lock();
        state.lineage.trust();
        state.step(&self.metrics)
    }

    /// What holds; `None` where it may have been replaced.
    #[must_use]
    pub fn holding(&self) -> Option<Holding> {
        let state = self.lock();
        (!state.lineage.is_outdated()).then(|| state.lineage.now())
    }

    /// The change that brought the platform of that revision; 0 where the turns are not about that one.
    #[must_use]
    pub fn change(&self, revision: u64) -> u64 {
        let now = self.lock().lineage.now();
        if now.revision == Some(revision) { now.change } else { 0 }
    }

    /// The sight of an area is another: no further turn before each of its `apps` has been looked at. Nobody waits for an
    /// area that may not be seen.
    pub fn see(&self, area: &Area, apps: impl IntoIterator<Item = ObjectKey>) -> Step {
        let mut state = self.lock();
        state.unlisted.remove(area);
        state.unseen.extend(apps);
        state.step(&self.metrics)
    }

    /// The app's turn to get that change, if it has one.
    #[must_use]
    pub fn turn(&self, key: &ObjectKey, change: u64) -> Option<Turn> {
        let state = self.lock();
        let member = state.apps.get(key).filter(|member| member.stage != Stage::Waiting)?;
        (state.lineage.now().change == change).then_some(Turn { was_ready: member.was_ready })
    }

    /// A pass over the app has found this of that change. A report on one that another has taken the place of changes
    /// nothing: the app is to be looked at again.
    pub fn report(&self, key: &ObjectKey, change: u64, standing: Standing) -> Step {
        self.lock().report(key, change, standing, &self.metrics)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn follow(&mut self, platform: &Platform) {
        self.lineage.follow(platform.revision());
        self.order = platform.rollout_order().collect();
        self.at_a_time = platform.max_concurrent_rollouts();
        self.max_failing = platform.max_failing_rollouts();
    }

    fn report(&mut self, key: &ObjectKey, change: u64, standing: Standing, metrics: &ChangeMetrics) -> Step {
        if self.lineage.now().change != change {
            return Step::default();
        }
        let is_news = self.place(key, standing) | self.unseen.remove(key);
        if is_news { self.step(metrics) } else { Step::default() }
    }

    /// Nothing is decided, nor counted for each of many apps, before the last has been looked at.
    fn step(&mut self, metrics: &ChangeMetrics) -> Step {
        if !self.knows_all() || self.lineage.is_outdated() {
            return Step::default();
        }
        let notice = self.notice();
        let next = self.give_turns();
        self.count(metrics);
        Step { next, notice }
    }

    /// Whether every app has been looked at.
    fn knows_all(&self) -> bool {
        self.unlisted.is_empty() && self.unseen.is_empty()
    }

    /// Whether there is a change on its way, as far as this process can tell. Marks stay when it is complete: what fails
    /// then has another cause.
    fn is_under_way(&self) -> bool {
        self.told != Told::Nothing || !self.waiting().is_empty()
    }

    /// Whether that is another standing than the one known.
    fn place(&mut self, key: &ObjectKey, standing: Standing) -> bool {
        let former = self.apps.get(key);
        let was_ready = former.is_none_or(|former| former.was_ready);
        let member = match standing {
            Standing::Apart => return self.apps.remove(key).is_some(),
            // It was given its turn while the pass was under way: the next one will see.
            Standing::Waiting { .. } if former.is_some_and(|former| former.stage != Stage::Waiting) => {
                return false;
            }
            // Pods come and go while the cause stays: what has failed is well again when it is Ready.
            Standing::Rolling { .. }
                if former.is_some_and(|former| matches!(former.stage, Stage::Failing(_))) =>
            {
                return false;
            }
            Standing::Unclear { why } => return self.give_up(key, why),
            Standing::Waiting { environment, is_ready } => {
                Member { environment, was_ready: is_ready, stage: Stage::Waiting }
            }
            Standing::Rolling { environment } => Member { environment, was_ready, stage: Stage::Rolling },
            Standing::Failing { environment, why } => {
                Member { environment, was_ready, stage: Stage::Failing(why) }
            }
        };
        let is_news = former != Some(&member);
        self.apps.insert(key.clone(), member);
        is_news
    }

    /// Nothing can be learned of an app: it gives its turn back, as one that fails if it was Ready.
    fn give_up(&mut self, key: &ObjectKey, why: String) -> bool {
        let Some(member) = self.apps.get_mut(key).filter(|member| member.stage == Stage::Rolling) else {
            return false;
        };
        if member.was_ready {
            member.stage = Stage::Failing(why);
            return true;
        }
        self.apps.remove(key).is_some()
    }

    /// Gives the turns that are free. Those that are not Ready come first: they have nothing to lose.
    fn give_turns(&mut self) -> Vec<ObjectKey> {
        if self.halt().is_some() {
            return Vec::new();
        }
        let is_open = |member: &Member| !member.stage.is_failing();
        let in_environment = |wanted: &&Environment| {
            self.apps.values().any(|member| member.environment == **wanted && is_open(member))
        };
        let Some(wave) = self.order.iter().find(in_environment).copied() else { return Vec::new() };
        let rolling = self.apps.values().filter(|member| member.stage == Stage::Rolling).count();
        let mut waiting: Vec<_> = self
            .apps
            .iter_mut()
            .filter(|(_, member)| member.environment == wave && member.stage == Stage::Waiting)
            .collect();
        waiting.sort_by_key(|(_, member)| member.was_ready);
        waiting
            .into_iter()
            .take(self.at_a_time.saturating_sub(rolling))
            .map(|(key, member)| {
                member.stage = Stage::Rolling;
                key.clone()
            })
            .collect()
    }

    fn failing(&self) -> impl Iterator<Item = (&ObjectKey, &str)> {
        self.apps.iter().filter_map(|(key, member)| match &member.stage {
            Stage::Failing(why) => Some((key, why.as_str())),
            Stage::Waiting | Stage::Rolling => None,
        })
    }

    /// The first of the apps that fail, where there are more than may.
    fn halt(&self) -> Option<(&ObjectKey, &str)> {
        self.failing().next().filter(|_| self.failing().count() > self.max_failing)
    }

    /// What people have not heard yet.
    fn notice(&mut self) -> Option<Notice> {
        if !self.is_under_way() {
            return None;
        }
        let (waiting, failing) = (self.waiting(), self.failing().count());
        let is_done = failing == self.apps.len();
        let (told, notice) = match (self.halt(), self.told) {
            (Some((app, why)), Told::Nothing | Told::Begun | Told::OfFormer) => {
                let others = failing - 1;
                (Told::Halted, Notice::Halted { app: app.clone(), why: why.to_owned(), others, waiting })
            }
            (None, Told::Halted) if !is_done => (Told::Begun, Notice::Resumed { waiting }),
            (None, Told::Nothing | Told::OfFormer) if !waiting.is_empty() => {
                (Told::Begun, Notice::Begun { waiting, at_a_time: self.at_a_time })
            }
            (None, Told::Begun | Told::Halted | Told::OfFormer) if is_done => {
                (Told::Nothing, Notice::Complete { failing })
            }
            (Some(_), Told::Halted) | (None, Told::Nothing | Told::Begun | Told::Halted | Told::OfFormer) => {
                return None;
            }
        };
        self.told = told;
        Some(notice)
    }

    /// How many apps wait in each environment, in the order in which their turn comes.
    fn waiting(&self) -> Vec<(Environment, usize)> {
        let count = |environment: &Environment| {
            let is_counted =
                |member: &&Member| member.environment == *environment && member.stage == Stage::Waiting;
            (*environment, self.apps.values().filter(is_counted).count())
        };
        self.order.iter().map(count).filter(|(_, count)| *count > 0).collect()
    }

    fn count(&self, metrics: &ChangeMetrics) {
        let is_under_way = self.is_under_way();
        let mut counts = BTreeMap::<_, usize>::new();
        for Member { environment, stage, .. } in self.apps.values().filter(|_| is_under_way) {
            *counts.entry((*environment, stage.word())).or_default() += 1;
        }
        for environment in Environment::ALL {
            for word in Stage::WORDS {
                let count = counts.get(&(environment, word)).copied().unwrap_or_default();
                metrics.apps(environment.as_str(), word, count);
            }
        }
        metrics.halted(is_under_way && self.halt().is_some());
    }
}

impl Stage {
    const fn is_failing(&self) -> bool {
        matches!(self, Self::Failing(_))
    }

    const WORDS: [&str; 3] = ["pending", "rolling", "failing"];

    /// Its name in metrics.
    const fn word(&self) -> &'static str {
        let [pending, rolling, failing] = Self::WORDS;
        match self {
            Self::Waiting => pending,
            Self::Rolling => rolling,
            Self::Failing(_) => failing,
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;

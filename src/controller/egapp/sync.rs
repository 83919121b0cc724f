//! How much of each area has been seen: which kinds have been listed, and which may not be. No I/O beyond log lines.
//!
//! An area whose caches are incomplete has no passes: they would make a second time what has only not been listed yet.
//! One that is refused stands apart: the others work, and the process is ready, since neither a restart nor another
//! replica would see more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use crate::controller::scope::{Area, Scope};
use crate::server::{Gate, Gates};

/// So long after a list, and after the work has begun, what is seen may be what another API server, or another process,
/// has long known better.
const FRESH: Duration = Duration::from_secs(15);

/// A kind this controller watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Ours.
    Egapps,
    /// What they are made of.
    Deployments,
    /// Likewise.
    Services,
    /// Likewise.
    DisruptionBudgets,
    /// Likewise.
    Autoscalers,
    /// What Deployments are made of.
    Pods,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Egapps,
        Self::Deployments,
        Self::Services,
        Self::DisruptionBudgets,
        Self::Autoscalers,
        Self::Pods,
    ];

    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Egapps => "EGApp",
            Self::Deployments => "Deployment",
            Self::Services => "Service",
            Self::DisruptionBudgets => "PodDisruptionBudget",
            Self::Autoscalers => "HorizontalPodAutoscaler",
            Self::Pods => "Pod",
        }
    }

    /// Its plural for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Egapps => "EGApps",
            Self::Deployments => "Deployments",
            Self::Services => "Services",
            Self::DisruptionBudgets => "PodDisruptionBudgets",
            Self::Autoscalers => "HorizontalPodAutoscalers",
            Self::Pods => "pods",
        }
    }
}

/// How much of an area has been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Every kind has been listed.
    Complete,
    /// Some kind has not, and may not be: why, for people.
    Refused(Arc<str>),
    /// Some kind has not been listed yet.
    Awaited,
}

/// What has been seen of each area, and the readiness gates that say so.
pub struct Sync {
    state: Mutex<State>,
    caches: Gate,
    crd: Gate,
}

struct State {
    /// By namespace; the whole cluster's has the empty name.
    areas: BTreeMap<Arc<str>, Progress>,
    /// What serves once is not called unready for a namespace that comes or goes later.
    is_ready: bool,
}

struct Progress {
    area: Area,
    missing: BTreeSet<Kind>,
    /// The API server's last word on each kind that it does not let us see.
    refused: BTreeMap<Kind, String>,
    /// When a list was whole last, or the work began.
    fresh_since: Option<Instant>,
}

impl Sync {
    /// Nothing has been listed yet.
    #[must_use]
    pub fn new(scope: &Scope, gates: &Gates) -> Self {
        let (caches, crd) = (gates.add("caches-synced"), gates.add("crd-established"));
        crd.not_ready("EGApps have not been listed yet");
        let progress = |area: &Area| Progress {
            area: area.clone(),
            missing: BTreeSet::from(Kind::ALL),
            refused: BTreeMap::new(),
            fresh_since: None,
        };
        let areas = scope.areas().map(|area| (area.namespace().into(), progress(area))).collect();
        let sync = Self { state: Mutex::new(State { areas, is_ready: false }), caches, crd };
        sync.lock().tell(&sync.caches);
        sync
    }

    /// What has been seen of the area that a namespace is in.
    #[must_use]
    pub fn sight(&self, namespace: &str) -> Sight {
        self.lock().sight(namespace)
    }

    /// Whether what is seen of the area that a namespace is in is from a moment ago, and is not to be gone by alone.
    #[must_use]
    pub fn is_fresh(&self, namespace: &str) -> bool {
        let since = self.lock().area(namespace).and_then(|progress| progress.fresh_since);
        since.is_some_and(|since| since.elapsed() < FRESH)
    }

    /// The work begins, by what was seen so far.
    pub fn opened(&self) {
        for progress in self.lock().areas.values_mut() {
            progress.fresh_since = Some(Instant::now());
        }
    }

    /// A list of a kind is whole. Says whether the sight of its area is another now.
    pub fn listed(&self, area: &Area, kind: Kind) -> bool {
        if kind == Kind::Egapps {
            self.crd.ready();
        }
        self.change(area, |progress| {
            progress.fresh_since = Some(Instant::now());
            if progress.missing.remove(&kind) {
                info!(kind = kind.title(), namespace = area.namespace(), "listed");
            }
        })
    }

    /// The watch of a kind runs: it may be listed and watched. A list alone does not say that.
    pub fn followed(&self, area: &Area, kind: Kind) {
        self.change(area, |progress| {
            if progress.refused.remove(&kind).is_some() {
                info!(kind = kind.title(), namespace = area.namespace(), "may be listed and watched");
            }
        });
    }

    /// The API server does not let us list or watch a kind, in these words. Says whether the sight of its area is
    /// another now.
    pub fn refused(&self, area: &Area, kind: Kind, sentence: &str) -> bool {
        self.change(area, |progress| {
            let before = progress.refused.insert(kind, sentence.to_owned());
            if before.as_deref() != Some(sentence) {
                warn!(kind = kind.title(), namespace = area.namespace(), "{}", told(area, kind, sentence));
            }
        })
    }

    /// The CRD is not there.
    pub fn no_crd(&self, reason: &str) {
        self.crd.not_ready(reason);
    }

    fn change(&self, area: &Area, change: impl FnOnce(&mut Progress)) -> bool {
        let mut state = self.lock();
        let Some(progress) = state.areas.get_mut(area.namespace()) else { return false };
        let before = progress.sight();
        change(progress);
        let is_news = progress.sight() != before;
        state.tell(&self.caches);
        is_news
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn area(&self, namespace: &str) -> Option<&Progress> {
        self.areas.get(namespace).or_else(|| self.areas.get(""))
    }

    fn sight(&self, namespace: &str) -> Sight {
        self.area(namespace).map_or(Sight::Awaited, Progress::sight)
    }

    /// Ready is who sees some area wholly and waits for none: what is refused may stay so for ever.
    fn tell(&mut self, gate: &Gate) {
        let sights: Vec<_> = self.areas.values().map(Progress::sight).collect();
        self.is_ready |= sights.contains(&Sight::Complete) && !sights.contains(&Sight::Awaited);
        let lacks: Vec<_> = self.areas.values().filter_map(Progress::lack).collect();
        match (self.is_ready, lacks.is_empty()) {
            (false, _) => gate.not_ready(lacks.join("; ")),
            (true, false) => gate.degraded(lacks.join("; ")),
            (true, true) => gate.ready(),
        }
    }
}

impl Progress {
    fn sight(&self) -> Sight {
        match self.refused.iter().find(|(kind, _)| self.missing.contains(kind)) {
            _ if self.missing.is_empty() => Sight::Complete,
            Some((kind, sentence)) => Sight::Refused(told(&self.area, *kind, sentence).into()),
            None => Sight::Awaited,
        }
    }

    /// What is not seen, for the gate.
    fn lack(&self) -> Option<String> {
        let titles = |kinds: &mut dyn Iterator<Item = &Kind>| {
            kinds.map(|kind| kind.title()).collect::<Vec<_>>().join(", ")
        };
        let refused = titles(&mut self.refused.keys());
        let missing = titles(&mut self.missing.iter().filter(|kind| !self.refused.contains_key(kind)));
        let parts = [("not allowed to list or watch", refused), ("not listed yet", missing)];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, titles)| !titles.is_empty())
            .map(|(what, titles)| format!("{what}: {titles}"))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: {}", self.area, parts.join("; ")))
    }
}

fn told(area: &Area, kind: Kind, sentence: &str) -> String {
    format!(
        "the operator may not list or watch {} in {area}: {sentence}; grant it that right (config/rbac/role.yaml lists \
         all it needs)",
        kind.title()
    )
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;

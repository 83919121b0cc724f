//! What must be true before the process calls itself ready. No I/O beyond a log line per change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::info;

/// The state of a gate that nobody has reported on.
const SILENT: &str = "nothing is known yet";

/// Named readiness gates, served under `/readyz` and `/readyz/<name>`. Clones share their gates.
#[derive(Clone, Default)]
pub struct Gates(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    gates: BTreeMap<&'static str, Position>,
    stopping: bool,
}

/// How a gate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Open,
    /// Open, though not all is well: what is amiss.
    Degraded(String),
    /// Why.
    Shut(String),
}

/// The gates at one moment.
pub(super) struct Snapshot {
    pub(super) gates: BTreeMap<&'static str, Position>,
    /// The process has begun to stop.
    pub(super) stopping: bool,
}

impl Gates {
    /// A new gate, shut until it reports. The name becomes a path: lower case and dashes, e.g. `caches-synced`.
    #[must_use = "a gate stays shut until its handle reports"]
    pub fn add(&self, name: &'static str) -> Gate {
        self.add_at(name, Position::Shut(SILENT.to_owned()))
    }

    /// The same for what is well until it reports otherwise.
    #[must_use = "nobody reports on it without its handle"]
    pub fn add_open(&self, name: &'static str) -> Gate {
        self.add_at(name, Position::Open)
    }

    fn add_at(&self, name: &'static str, position: Position) -> Gate {
        self.with(|state| state.gates.insert(name, position));
        Gate { name, gates: self.clone() }
    }

    /// Makes the process unready for good: it is about to stop.
    pub fn stop(&self) {
        self.with(|state| state.stopping = true);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.with(|state| Snapshot { gates: state.gates.clone(), stopping: state.stopping })
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The handle of one gate; clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    name: &'static str,
    gates: Gates,
}

impl Gate {
    /// Opens the gate.
    pub fn ready(&self) {
        self.open(Position::Open);
    }

    /// Opens the gate; `note` tells who asks for it what is amiss all the same.
    pub fn degraded(&self, note: impl Into<String>) {
        self.open(Position::Degraded(note.into()));
    }

    /// Shuts the gate; `reason` tells people what is awaited and, where they can, what to do.
    pub fn not_ready(&self, reason: impl Into<String>) {
        let reason = reason.into();
        let shut = Position::Shut(reason.clone());
        if self.set(shut.clone()).as_ref() != Some(&shut) {
            info!(gate = self.name, reason, "readiness gate shut");
        }
    }

    fn open(&self, position: Position) {
        if matches!(self.set(position), Some(Position::Shut(_))) {
            info!(gate = self.name, "readiness gate opened");
        }
    }

    /// The former position.
    fn set(&self, position: Position) -> Option<Position> {
        self.gates.with(|state| state.gates.insert(self.name, position))
    }
}

//! What people hear of a platform change on its way to the apps. Pure.

use tracing::{info, warn};

use crate::controller::events::{News, Type};
use crate::controller::key::ObjectKey;
use egapp_api::v1alpha1::Environment;

/// News of the change as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Apps wait for their turn.
    Begun {
        /// How many in each environment, in the order of their turns.
        waiting: Vec<(Environment, usize)>,
        /// How many get it at a time.
        at_a_time: usize,
    },
    /// An app fails with the change.
    Halted {
        /// Which one.
        app: ObjectKey,
        /// The reason and message of its status.
        why: String,
        /// How many more do.
        others: usize,
        /// The apps that wait.
        waiting: Vec<(Environment, usize)>,
    },
    /// It does no longer.
    Resumed {
        /// The apps that wait.
        waiting: Vec<(Environment, usize)>,
    },
    /// Every app has it.
    Complete {
        /// How many fail with it, as the platform file allows.
        failing: usize,
    },
}

impl Notice {
    /// The notice as an event. It is logged, too.
    #[must_use]
    pub fn news(&self) -> News {
        let (type_, reason, note) = match self {
            Self::Begun { waiting, at_a_time } => {
                let (all, each) = (total(waiting), list(waiting));
                let note = format!(
                    "a platform change replaces the pods of {all} running apps in turn ({each}), at most {at_a_time} \
                     apps at a time"
                );
                (Type::Normal, "PlatformChangeBegun", note)
            }
            Self::Halted { app, why, others, waiting } => {
                let more = if *others == 0 { String::new() } else { format!("; and so do {others} more") };
                let note = format!(
                    "EGApp {app} was Ready, and fails since it got the platform change ({why}){more}; no other app gets \
                     it until what fails is Ready, suspended, deleted or given other pods by an edit, or the platform \
                     file is another, or allows for it by rollout.maxFailing; waiting: {}",
                    list(waiting)
                );
                (Type::Warning, "PlatformChangeHalted", note)
            }
            Self::Resumed { waiting } => {
                let note = format!("the platform change goes on; waiting: {}", list(waiting));
                (Type::Normal, "PlatformChangeResumed", note)
            }
            Self::Complete { failing } => {
                let failing = match failing {
                    0 => String::new(),
                    some => format!("; of them {some} fail with it, which rollout.maxFailing allows"),
                };
                let note = format!("every running app has what the platform says{failing}");
                (Type::Normal, "PlatformChangeComplete", note)
            }
        };
        News { type_, reason: reason.to_owned(), action: "RollingOut", note }
    }

    /// Writes it to the log.
    pub fn log(&self) {
        let News { type_, note, .. } = self.news();
        match type_ {
            Type::Normal => info!("{note}"),
            Type::Warning => warn!("{note}"),
        }
    }
}

fn total(waiting: &[(Environment, usize)]) -> usize {
    waiting.iter().map(|(_, count)| count).sum()
}

fn list(waiting: &[(Environment, usize)]) -> String {
    if waiting.is_empty() {
        return "none".to_owned();
    }
    waiting.iter().map(|(environment, count)| format!("{environment} {count}")).collect::<Vec<_>>().join(", ")
}

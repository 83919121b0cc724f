//! What can go wrong with one EGApp, and what follows from it. Pure.

use std::time::Duration;

use thiserror::Error;

use super::refusal::{self, Refusal};
use super::validate::SpecError;
use crate::controller::backoff::Backoff;
use crate::controller::key::ObjectKey;
use egapp_api::v1alpha1::Reason;

/// Between two tries of something that may pass by itself.
pub const RETRY: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) };

/// After an error whose end may not be visible to any of our watches.
pub const RECHECK: Duration = Duration::from_mins(10);

/// Why a pass over an EGApp did not reach its end.
#[derive(Debug, Error)]
pub enum Error {
    /// The spec cannot be mapped.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The child's name is taken.
    #[error("the name of {kind} {key} is taken: it {}; delete or rename it, or give the EGApp another name",
        .owner.as_ref().map_or_else(|| "belongs to no EGApp".to_owned(), |owner| format!("belongs to {owner}")))]
    NameConflict {
        /// Its kind.
        kind: &'static str,
        /// The child.
        key: ObjectKey,
        /// Kind and name of its controller.
        owner: Option<Box<str>>,
    },
    /// Something in the cluster changed what was applied, in the very same request.
    #[error(
        "{kind} {key} does not keep {field} as it was applied: an admission policy or webhook of the cluster \
             changes it; it is applied again when it or the EGApp changes, else every ten minutes"
    )]
    Overridden {
        /// Its kind.
        kind: &'static str,
        /// The child.
        key: ObjectKey,
        /// Path of the first field that differs.
        field: String,
    },
    /// Somebody else changes a field back as often as it is put right.
    #[error(
        "{kind} {key}: somebody else keeps changing {field} back; it is put right again with growing pauses; \
             `kubectl get {kind} {} --show-managed-fields -o yaml` shows who", key.name()
    )]
    Contested {
        /// Its kind.
        kind: &'static str,
        /// The child.
        key: ObjectKey,
        /// Path of the field.
        field: String,
        /// Until it is put right again.
        wait: Duration,
    },
    /// The namespace takes nothing new.
    #[error("nothing new can be made in namespace {namespace} because it is being terminated")]
    NamespaceEnding {
        /// Its name.
        namespace: String,
    },
    /// Somebody else changed the child between our look and our change.
    #[error("{kind} {key} was changed while it was being repaired; it is looked at again")]
    Moved {
        /// Its kind.
        kind: &'static str,
        /// The child.
        key: ObjectKey,
    },
    /// The API server said no, or could not be reached.
    #[error("cannot {call}")]
    Call {
        /// What was tried.
        call: Call,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// The API server did not answer.
    #[error("cannot {call}: no answer from the API server in {} s", after.as_secs())]
    NoAnswer {
        /// What was tried.
        call: Call,
        /// How long it was waited for.
        after: Duration,
    },
}

/// A request to the API server, for people.
#[derive(Clone, Debug, Error)]
#[error("{verb} {object} {key}")]
pub struct Call {
    verb: &'static str,
    object: &'static str,
    key: ObjectKey,
}

impl Call {
    /// `verb` and `object` as they read in a sentence: "apply", "Deployment".
    #[must_use]
    pub fn new(verb: &'static str, object: &'static str, key: &ObjectKey) -> Self {
        Self { verb, object, key: key.clone() }
    }
}

/// What follows from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Nothing helps but an edit of the EGApp, which triggers by itself.
    TerminalSpec,
    /// A person must change something else, which we may not see: look again after [`RECHECK`].
    TerminalCluster,
    /// Somebody else works against us: again after a pause that grows each time.
    Contested {
        /// The pause.
        after: Duration,
    },
    /// A right, a quota or a namespace is missing: retried with growing pauses.
    Blocked,
    /// It may pass by itself: retried with growing pauses, none shorter than the server asked for.
    Transient {
        /// The server's `Retry-After`.
        at_least: Duration,
    },
    /// The object does not exist any more.
    Gone,
    /// The operator itself is at fault: looked at again after [`RECHECK`].
    Defect,
}

impl Disposition {
    /// The word in metrics.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::TerminalSpec => "terminal_spec",
            Self::TerminalCluster => "terminal_cluster",
            Self::Contested { .. } => "contested",
            Self::Blocked => "blocked",
            Self::Transient { .. } => "transient",
            Self::Gone => "gone",
            Self::Defect => "defect",
        }
    }

    /// Every word that [`class`](Self::class) gives.
    pub const CLASSES: [&'static str; 7] =
        ["terminal_spec", "terminal_cluster", "contested", "blocked", "transient", "gone", "defect"];

    /// Whether nothing moves on without a person.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::TerminalSpec | Self::TerminalCluster | Self::Contested { .. } | Self::Defect)
    }

    /// How long to wait after `failures` failures in a row; `None` = until the object changes.
    #[must_use]
    pub fn requeue(self, failures: u32, seed: &str) -> Option<Duration> {
        match self {
            Self::TerminalSpec | Self::Gone => None,
            Self::TerminalCluster | Self::Defect => {
                Some(RECHECK + crate::controller::backoff::jitter(RECHECK / 5, seed, failures))
            }
            Self::Contested { after } => Some(after),
            Self::Blocked => Some(RETRY.delay(failures, seed)),
            Self::Transient { at_least } => Some(RETRY.delay(failures, seed).max(at_least)),
        }
    }
}

impl Error {
    /// What follows from the error.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Spec(_) => Disposition::TerminalSpec,
            Self::NameConflict { .. } | Self::Overridden { .. } => Disposition::TerminalCluster,
            Self::Contested { wait, .. } => Disposition::Contested { after: *wait },
            Self::NamespaceEnding { .. } => Disposition::Blocked,
            Self::Call { source, .. } => refusal::classify(source).disposition,
            Self::NoAnswer { .. } | Self::Moved { .. } => Disposition::Transient { at_least: Duration::ZERO },
        }
    }

    /// Whether the API server found the request invalid (422).
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Call { source, .. } if matches!(&**source, kube::Error::Api(status) if status.code == 422))
    }

    /// Whether the API server found the request to conflict with somebody else's (409).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Call { source, .. } if matches!(&**source, kube::Error::Api(status) if status.code == 409))
    }

    /// Whether the API server refused it since the namespace is being deleted.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.reason() == Reason::NamespaceTerminating && self.disposition() == Disposition::Blocked
    }

    /// See [`refusal::undeclared_fields`].
    #[must_use]
    pub fn undeclared_fields(&self) -> Vec<String> {
        if let Self::Call { source, .. } = self { refusal::undeclared_fields(source) } else { Vec::new() }
    }

    /// Whether finding out again costs a request to the API server, and must therefore wait its time.
    #[must_use]
    pub fn costs_a_request(&self) -> bool {
        match self {
            Self::Call { .. } | Self::NoAnswer { .. } | Self::Moved { .. } => true,
            Self::Spec(_)
            | Self::NameConflict { .. }
            | Self::Overridden { .. }
            | Self::Contested { .. }
            | Self::NamespaceEnding { .. } => false,
        }
    }

    /// The reason to put into the conditions.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Spec(SpecError::ImageUnresolved(_)) => Reason::ImageUnresolved,
            Self::Spec(_) => Reason::InvalidSpec,
            Self::NameConflict { .. } => Reason::NameConflict,
            Self::Overridden { .. } | Self::Contested { .. } => Reason::Overridden,
            Self::NamespaceEnding { .. } => Reason::NamespaceTerminating,
            Self::Call { source, .. } => refusal::classify(source).reason,
            Self::NoAnswer { .. } | Self::Moved { .. } => Reason::Retrying,
        }
    }

    /// The whole story in one sentence, the same for as long as the cause is the same.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Call { call, .. } if self.is_ending() => {
                Self::NamespaceEnding { namespace: call.key.namespace().to_owned() }.to_string()
            }
            Self::Call { source, .. } => {
                let Refusal { sentence, advice, .. } = refusal::classify(source);
                format!("{self}: {sentence}{advice}")
            }
            Self::Spec(_)
            | Self::NameConflict { .. }
            | Self::Overridden { .. }
            | Self::Contested { .. }
            | Self::NamespaceEnding { .. }
            | Self::Moved { .. }
            | Self::NoAnswer { .. } => self.to_string(),
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;

//! Where the operator looks: the whole cluster, or some namespaces and nothing else. Pure.
//!
//! The variable and its form are those of kubebuilder's and operator-sdk's projects.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use thiserror::Error;

use crate::dns::is_label;

/// Names the namespaces, separated by commas; unset or empty means the whole cluster.
pub const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";

/// What is watched by itself: with a Role for each namespace there is no request that covers two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// All namespaces at once.
    Cluster,
    /// One namespace.
    Namespace(Arc<str>),
}

impl Area {
    /// The namespace's name; empty for the whole cluster.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Cluster => "",
            Self::Namespace(name) => name,
        }
    }

    /// Where the objects of one kind in this area are listed and watched.
    #[must_use]
    pub fn api<K>(&self, client: Client) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match self {
            Self::Cluster => Api::all(client),
            Self::Namespace(name) => Api::namespaced(client, name),
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("the whole cluster"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
        }
    }
}

/// The areas the operator watches: the whole cluster alone, or at least one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(BTreeSet<Area>);

/// An entry of [`WATCH_NAMESPACE`] that cannot be watched.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ScopeError {
    /// Two commas, or one at an end.
    #[error(
        "{WATCH_NAMESPACE}={value:?} has an empty entry; leave out the comma, or the whole variable to watch every \
         namespace"
    )]
    Empty {
        /// The variable's value.
        value: String,
    },
    /// Not the name of any namespace.
    #[error(
        "{WATCH_NAMESPACE}={value:?}: {entry:?} is no name of a namespace; use at most 63 lower-case letters, digits \
         and inner dashes, and commas without spaces between names"
    )]
    NoName {
        /// The variable's value.
        value: String,
        /// The entry.
        entry: String,
    },
    /// Named more than once.
    #[error("{WATCH_NAMESPACE}={value:?} names {entry:?} twice")]
    Twice {
        /// The variable's value.
        value: String,
        /// The entry.
        entry: String,
    },
}

impl Scope {
    /// Every namespace, those that are still to be made included.
    #[must_use]
    pub fn cluster() -> Self {
        Self(BTreeSet::from([Area::Cluster]))
    }

    /// Reads the value of [`WATCH_NAMESPACE`].
    ///
    /// # Errors
    /// [`ScopeError`] for the first entry that is empty, no namespace's name, or there twice.
    pub fn parse(value: &str) -> Result<Self, ScopeError> {
        if value.is_empty() {
            return Ok(Self::cluster());
        }
        let mut areas = BTreeSet::new();
        for entry in value.split(',') {
            let (value, name) = (value.to_owned(), entry.to_owned());
            if entry.is_empty() {
                return Err(ScopeError::Empty { value });
            }
            if !is_label(entry) {
                return Err(ScopeError::NoName { value, entry: name });
            }
            if !areas.insert(Area::Namespace(entry.into())) {
                return Err(ScopeError::Twice { value, entry: name });
            }
        }
        Ok(Self(areas))
    }

    /// What is to be watched by itself.
    pub fn areas(&self) -> impl Iterator<Item = &Area> {
        self.0.iter()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let areas: Vec<_> = self.areas().map(ToString::to_string).collect();
        f.write_str(&areas.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: &str) -> String {
        Scope::parse(value).unwrap_err().to_string()
    }

    #[test]
    fn nothing_means_the_whole_cluster() {
        assert_eq!(Scope::parse(""), Ok(Scope::cluster()));
        assert_eq!(Scope::cluster().to_string(), "the whole cluster");
    }

    #[test]
    fn names_mean_those_namespaces_alone() {
        let scope = Scope::parse("team-b,team-a,0").unwrap();
        assert_eq!(scope.to_string(), "namespace 0, namespace team-a, namespace team-b");
        assert_eq!(scope.areas().map(Area::namespace).collect::<Vec<_>>(), ["0", "team-a", "team-b"]);
    }

    #[test]
    fn an_entry_that_is_no_name_is_named_together_with_the_variable() {
        let long = "a".repeat(64);
        for entry in ["Team", "-a", "a-", "a.b", "a b", "*", "ä", " ", &long] {
            for value in [entry.to_owned(), format!("ok,{entry}")] {
                let said = said(&value);
                let start = format!("WATCH_NAMESPACE={value:?}: {entry:?} is no name of a namespace");
                assert!(said.starts_with(&start), "{said}");
            }
        }
        assert!(said("a, b").contains("\" b\" is no name") && said("a, b").contains("without spaces"));
        assert!(Scope::parse(&"a".repeat(63)).is_ok());
    }

    #[test]
    fn empty_and_repeated_entries_are_refused() {
        for value in [",", "a,", ",a", "a,,b"] {
            assert!(
                said(value).starts_with(&format!("WATCH_NAMESPACE={value:?} has an empty entry")),
                "{value}"
            );
        }
        assert_eq!(said("a,b,a"), "WATCH_NAMESPACE=\"a,b,a\" names \"a\" twice");
    }
}

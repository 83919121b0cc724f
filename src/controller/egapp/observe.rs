//! Step `observe`: what the local copies say about one EGApp. No I/O: the copies are complete before the first
//! reconcile, so the healthy path reads nothing from the API server.

use std::sync::Arc;

use super::cluster::{Caches, LiveDeployment};
use crate::controller::key::ObjectKey;

/// What exists of an EGApp.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Deployment of the EGApp's name, whoever it belongs to.
    pub deployment: Option<Arc<LiveDeployment>>,
    /// Whose that Deployment is.
    pub ownership: Ownership,
    /// Names of the live pods, sorted; none while the Deployment is somebody else's.
    pub pods: Vec<Box<str>>,
}

/// How the Deployment of an EGApp's name relates to the EGApp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// There is none.
    Absent,
    /// The EGApp controls it.
    Ours,
    /// It is ours, and being deleted: there will be another when it is gone.
    Terminating,
    /// Nobody controls it, and it carries our label and selector: `kubectl delete egapp --cascade=orphan` left it.
    Orphan,
    /// An earlier EGApp of the same name controls it: the garbage collector is about to delete it.
    Predecessor,
    /// It is somebody else's, named where there is a controller.
    Foreign(Option<Box<str>>),
}

/// Looks up everything that belongs to the EGApp with that name and uid.
#[must_use]
pub fn observe(caches: &Caches, key: &ObjectKey, uid: &str) -> Observed {
    let deployment = caches.deployments.get(key);
    let ownership = ownership(deployment.as_deref(), uid);
    let pods = match ownership {
        Ownership::Predecessor | Ownership::Foreign(_) => Vec::new(),
        Ownership::Absent | Ownership::Ours | Ownership::Terminating | Ownership::Orphan => {
            caches.pods.names(key)
        }
    };
    Observed { deployment, ownership, pods }
}

fn ownership(deployment: Option<&LiveDeployment>, uid: &str) -> Ownership {
    let Some(deployment) = deployment else { return Ownership::Absent };
    let is_terminating = deployment.details.as_ref().is_some_and(|details| details.is_terminating);
    let has_our_selector = deployment.details.as_ref().is_some_and(|details| details.has_our_selector);
    match &deployment.controller {
        Some(owner) if &*owner.uid == uid && is_terminating => Ownership::Terminating,
        Some(owner) if &*owner.uid == uid => Ownership::Ours,
        Some(owner) if owner.is_namesake => Ownership::Predecessor,
        Some(owner) => Ownership::Foreign(Some(owner.title.clone())),
        None if has_our_selector && is_terminating => Ownership::Terminating,
        None if has_our_selector => Ownership::Orphan,
        None => Ownership::Foreign(None),
    }
}

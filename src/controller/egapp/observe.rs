//! Step `observe`: what the local copies say about one EGApp. No I/O: the copies are complete before the first
//! reconcile, so the healthy path reads nothing from the API server.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::cluster::{Caches, ChildKind, Live, Made, Target, Trouble};
use super::names;
use crate::controller::key::ObjectKey;

/// What exists of an EGApp.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Runs the pods.
    pub deployment: Seen<Deployment>,
    /// Leads to them.
    pub service: Seen<Service>,
    /// Limits their voluntary disruption.
    pub disruption_budget: Seen<PodDisruptionBudget>,
    /// Decides on the number of pods.
    pub autoscaler: Seen<HorizontalPodAutoscaler>,
    /// Names of other autoscalers that scale the Deployment.
    pub scaled_by: Vec<Box<str>>,
    /// Names of autoscalers that scale the EGApp itself.
    pub app_scaled_by: Vec<Box<str>>,
    /// Names of other PodDisruptionBudgets that select the pods, sorted.
    pub budgeted_by: Vec<Box<str>>,
    /// Whether the replicas are those of an autoscaler that has only just gone: see [`Reign`](super::replicas::Reign).
    pub is_in_grace: bool,
    /// Names of the live pods, sorted; none while the Deployment is somebody else's.
    pub pods: Vec<Box<str>>,
    /// What troubles them.
    pub troubles: Vec<Arc<Trouble>>,
    /// What they were given.
    pub made: Vec<Arc<Made>>,
}

/// The object of an EGApp's name, whoever it belongs to.
#[derive(Clone, Debug)]
pub struct Seen<K: ChildKind> {
    /// The object, if there is one.
    pub live: Option<Arc<Live<K>>>,
    /// Whose it is.
    pub ownership: Ownership,
}

/// How an object of an EGApp's name relates to the EGApp.
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
    let deployment = Seen::find(caches, key, uid);
    let (pods, troubles, made) = match deployment.ownership {
        Ownership::Predecessor | Ownership::Foreign(_) => (Vec::new(), Vec::new(), Vec::new()),
        Ownership::Absent | Ownership::Ours | Ownership::Terminating | Ownership::Orphan => {
            (caches.pods.names(key), caches.pods.troubles(key), caches.pods.made(key))
        }
    };
    let (service, disruption_budget) = (Seen::find(caches, key, uid), Seen::find(caches, key, uid));
    let autoscaler: Seen<HorizontalPodAutoscaler> = Seen::find(caches, key, uid);
    let is_foreign = matches!(autoscaler.ownership, Ownership::Foreign(_));
    let mut scaled_by = caches.aims.of(Target::Deployment, key);
    scaled_by.retain(|name| is_foreign || **name != *key.name());
    let app_scaled_by = caches.aims.of(Target::EGApp, key);
    let budgeted_by = others_over(caches, key, &deployment, &disruption_budget.ownership);
    Observed {
        deployment,
        service,
        disruption_budget,
        autoscaler,
        scaled_by,
        app_scaled_by,
        budgeted_by,
        is_in_grace: false,
        pods,
        troubles,
        made,
    }
}

/// Names of the PodDisruptionBudgets, the app's own aside, that select pods of our Deployment. One that is being deleted
/// counts: evictions are refused for it until it is gone.
fn others_over(
    caches: &Caches,
    key: &ObjectKey,
    deployment: &Seen<Deployment>,
    own: &Ownership,
) -> Vec<Box<str>> {
    let is_ours = matches!(deployment.ownership, Ownership::Ours | Ownership::Orphan);
    let live = deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_ref());
    let Some(live) = live else { return Vec::new() };
    // Of a Deployment whose text is not kept, no more is known than how it finds its pods.
    let labels = || Some(live.pod_labels()).filter(|labels| !labels.is_empty());
    let labels = || labels().unwrap_or_else(|| names::selector(key.name()));
    let mut others = caches.budgets.over(key.namespace(), labels);
    others.retain(|name| matches!(own, Ownership::Foreign(_)) || **name != *key.name());
    others
}

impl Observed {
    /// Whether there is an autoscaler, the app's own or another one, that may scale the Deployment.
    #[must_use]
    pub fn is_autoscaled(&self) -> bool {
        match self.autoscaler.ownership {
            Ownership::Absent | Ownership::Foreign(_) => !self.scaled_by.is_empty(),
            Ownership::Ours | Ownership::Terminating | Ownership::Orphan | Ownership::Predecessor => true,
        }
    }

    /// When the app's pods were told to restart last, as their template says.
    #[must_use]
    pub fn restarted_at(&self) -> Option<String> {
        let is_kept = matches!(self.deployment.ownership, Ownership::Ours | Ownership::Orphan);
        let live = self.deployment.live.as_ref().filter(|_| is_kept)?;
        live.details.as_ref()?.restarted_at()
    }

    /// A number for each kind that changes with every field of the live object that may be compared.
    #[must_use]
    pub fn digests(&self) -> [u64; 4] {
        [
            self.deployment.digest(),
            self.service.digest(),
            self.disruption_budget.digest(),
            self.autoscaler.digest(),
        ]
    }
}

impl<K: ChildKind> Seen<K> {
    fn find(caches: &Caches, key: &ObjectKey, uid: &str) -> Self {
        let live = K::store(caches).get(key);
        let ownership = ownership(live.as_deref(), uid);
        Self { live, ownership }
    }

    /// See [`Live::digest`]; 0 where there is no object.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.live.as_ref().map_or(0, |live| live.digest())
    }
}

fn ownership<K: ChildKind>(live: Option<&Live<K>>, uid: &str) -> Ownership {
    let Some(live) = live else { return Ownership::Absent };
    let is_terminating = live.details.as_ref().is_some_and(|details| details.is_terminating);
    let is_orphan = live.details.as_ref().is_some_and(|details| details.is_orphan);
    match &live.controller {
        Some(owner) if &*owner.uid == uid && is_terminating => Ownership::Terminating,
        Some(owner) if &*owner.uid == uid => Ownership::Ours,
        Some(owner) if owner.is_namesake => Ownership::Predecessor,
        Some(owner) => Ownership::Foreign(Some(owner.title.clone())),
        None if is_orphan && is_terminating => Ownership::Terminating,
        None if is_orphan => Ownership::Orphan,
        None => Ownership::Foreign(None),
    }
}

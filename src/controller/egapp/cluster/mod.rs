//! The controller's view of the cluster: local copies to read from, and the client to write with.

mod apps;
mod autoscalers;
mod budgets;
mod children;
mod kinds;
mod managers;
mod pod_view;
mod pods;
mod trouble;
mod words;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::ObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::{Call, Disposition, Error};
use super::names;
use super::refusal::missing_right;
use crate::controller::key::ObjectKey;
use crate::controller::scope::{Area, Scope};
use crate::controller::store::Store;
use crate::telemetry::DenialMetrics;

pub use apps::{AppEntry, AppView, Undecodable};
pub use autoscalers::{Aim, Autoscalers, Target};
pub use budgets::{Budgets, Selection};
pub use children::{ChildKind, Controller, Details, Live, View};
pub use kinds::DeploymentState;
pub use managers::Lost;
pub use pod_view::PodView;
pub use pods::{Made, PodIndex};
pub use trouble::{Trouble, TroubleKind};
pub(super) use words::without_pod_names;

/// No single request takes longer; the client itself would wait for ever on a connection that died silently.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Local copies of what the controller reads in one area.
#[derive(Default)]
pub struct Caches {
    /// Every EGApp.
    pub apps: Store<AppEntry>,
    /// Every Deployment; of foreign ones only the identity.
    pub deployments: Store<Live<Deployment>>,
    /// Every Service, likewise.
    pub services: Store<Live<Service>>,
    /// Every PodDisruptionBudget, likewise.
    pub disruption_budgets: Store<Live<PodDisruptionBudget>>,
    /// Every HorizontalPodAutoscaler, likewise.
    pub autoscalers: Store<Live<HorizontalPodAutoscaler>>,
    /// What each of those scales.
    pub aims: Autoscalers,
    /// What PodDisruptionBudgets select that are no app's own.
    pub budgets: Budgets,
    /// The live pods of every EGApp.
    pub pods: PodIndex,
}

/// Local copies to read from, and the client to write with.
pub struct Cluster {
    /// Of each namespace that is watched by itself: a list of one replaces nothing of another.
    namespaces: BTreeMap<Arc<str>, Caches>,
    /// Of all others: the whole cluster's, or for ever empty.
    rest: Caches,
    client: Client,
    denials: DenialMetrics,
}

impl Cluster {
    /// A view with empty copies.
    #[must_use]
    pub fn new(client: Client, scope: &Scope, denials: DenialMetrics) -> Self {
        let names = scope.areas().filter(|area| **area != Area::Cluster).map(Area::namespace);
        let namespaces = names.map(|name| (name.into(), Caches::default())).collect();
        Self { namespaces, rest: Caches::default(), client, denials }
    }

    /// The local copies of what is in that namespace; complete before the first pass over an EGApp in it.
    #[must_use]
    pub fn caches(&self, namespace: &str) -> &Caches {
        self.namespaces.get(namespace).unwrap_or(&self.rest)
    }

    /// All local copies.
    pub fn all_caches(&self) -> impl Iterator<Item = &Caches> {
        self.namespaces.values().chain([&self.rest])
    }

    /// The client behind the view.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Server-side applies a child, takes the reply into the local copy and returns it.
    ///
    /// A child that exists is ours, and our fields are forced onto it. One that is not there is applied without force:
    /// where somebody has just made an object of that name, the API server says so instead of handing it over.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn apply_child<K: ChildKind + Serialize>(
        &self,
        key: &ObjectKey,
        wanted: &K,
        exists: bool,
    ) -> Result<Live<K>, Error> {
        let params = PatchParams { force: exists, ..apply_params() };
        self.patch_child(Call::new("apply", K::TITLE, key), key, &params, &Patch::Apply(wanted)).await
    }

    /// Sends a JSON Patch, takes the reply into the local copy and returns it.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn repair_child<K: ChildKind>(
        &self,
        key: &ObjectKey,
        operations: Value,
    ) -> Result<Live<K>, Error> {
        let params =
            PatchParams { field_manager: Some(names::REPAIRER.to_owned()), ..PatchParams::default() };
        let call = Call::new("repair", K::TITLE, key);
        match serde_json::from_value(operations) {
            Ok(operations) => self.patch_child(call, key, &params, &Patch::<()>::Json(operations)).await,
            Err(source) => Err(Error::Call { call, source: Box::new(kube::Error::SerdeError(source)) }),
        }
    }

    /// Makes [`names::HANDOVER`] an owner of a child's replicas, `replicas` of which there are. Not forced: where somebody
    /// else has changed them since, they have an owner.
    ///
    /// # Errors
    /// When the API server refuses for another reason, or does not answer.
    pub async fn hand_over<K: ChildKind>(
        &self,
        key: &ObjectKey,
        child: &Live<K>,
        replicas: i32,
    ) -> Result<(), Error> {
        let object = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": { "uid": &*child.uid },
            "spec": { "replicas": replicas },
        });
        let (call, params) = (Call::new("hand over", K::TITLE, key), PatchParams::apply(names::HANDOVER));
        match self.patch_child::<K, _>(call, key, &params, &Patch::Apply(object)).await {
            Err(error) if !error.is_conflict() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn patch_child<K: ChildKind, P: Serialize + Debug>(
        &self,
        call: Call,
        key: &ObjectKey,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Live<K>, Error> {
        let api: Api<View<K>> = Api::namespaced(self.client(), key.namespace());
        let store = K::store(self.caches(key.namespace()));
        let ticket = store.ticket();
        let live = Live::from(self.timed(call, api.patch(key.name(), params, patch)).await?);
        store.learn(ticket, live.clone().kept());
        Ok(live)
    }

    /// Reads a child from the API server, all of it, and takes it into the local copy. `None` where there is none.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn read_child<K: ChildKind>(&self, key: &ObjectKey) -> Result<Option<Live<K>>, Error> {
        let api: Api<View<K>> = Api::namespaced(self.client(), key.namespace());
        let store = K::store(self.caches(key.namespace()));
        let ticket = store.ticket();
        // The right to list is there anyway; to get one would be one more.
        let params = ListParams::default().fields(&format!("metadata.name={}", key.name()));
        let reply = self.timed(Call::new("read", K::TITLE, key), api.list(&params)).await?;
        let live = reply.items.into_iter().next().map(Live::from);
        if let Some(live) = &live {
            store.learn(ticket, live.clone().kept());
        }
        Ok(live)
    }

    /// Deletes a child, takes that into the local copy, and returns whether the child is gone: a finalizer may hold it.
    /// One that is gone already is no error.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn delete_child<K: ChildKind>(&self, key: &ObjectKey, child: &Live<K>) -> Result<bool, Error> {
        let api: Api<View<K>> = Api::namespaced(self.client(), key.namespace());
        let uid = Preconditions { uid: Some(child.uid.to_string()), resource_version: None };
        let params = DeleteParams { preconditions: Some(uid), ..DeleteParams::default() };
        let store = K::store(self.caches(key.namespace()));
        let ticket = store.ticket();
        let left = match self.timed(Call::new("delete", K::TITLE, key), api.delete(key.name(), &params)).await
        {
            Err(error) if error.disposition() != Disposition::Gone => return Err(error),
            reply => reply.ok().and_then(|reply| reply.left().filter(|left| is_held(left.meta()))),
        };
        let is_gone = left.is_none();
        match left {
            Some(left) => store.learn(ticket, Live::from(left).kept()),
            None => store.forget(child),
        }
        Ok(is_gone)
    }

    /// Server-side applies an EGApp's status and takes the reply into the local copy.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn apply_status(&self, key: &ObjectKey, object: &Value) -> Result<AppEntry, Error> {
        self.patch_status(key, &apply_params(), &Patch::Apply(object)).await
    }

    /// Merges into an EGApp's status, for where a server-side apply does not do: it removes nothing that somebody else
    /// has written, and answers 500 for an object with a field of a wrong type, wherever that field is.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn merge_status(&self, key: &ObjectKey, object: &Value) -> Result<AppEntry, Error> {
        let params =
            PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        self.patch_status(key, &params, &Patch::Merge(object)).await
    }

    async fn patch_status(
        &self,
        key: &ObjectKey,
        params: &PatchParams,
        patch: &Patch<&Value>,
    ) -> Result<AppEntry, Error> {
        let apps = &self.caches(key.namespace()).apps;
        let (ticket, api) = (apps.ticket(), self.apps_of(key));
        let call = Call::new("apply", "the status of EGApp", key);
        let entry = AppEntry::from(self.timed(call, api.patch_status(key.name(), params, patch)).await?);
        apps.learn(ticket, entry.clone());
        Ok(entry)
    }

    /// Reads an EGApp from the API server, and takes it into the local copy. `None` where there is none.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn read_app(&self, key: &ObjectKey) -> Result<Option<AppEntry>, Error> {
        let apps = &self.caches(key.namespace()).apps;
        let (ticket, api) = (apps.ticket(), self.apps_of(key));
        let reply = self.timed(Call::new("get", "EGApp", key), api.get_opt(key.name())).await?;
        let entry = reply.map(AppEntry::from);
        if let Some(entry) = &entry {
            apps.learn(ticket, entry.clone());
        }
        Ok(entry)
    }

    /// Reads from the API server which autoscalers scale the Deployment of that name, and which the EGApp itself; sorted.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn read_autoscalers(&self, key: &ObjectKey) -> Result<[Vec<Box<str>>; 2], Error> {
        let api: Api<View<HorizontalPodAutoscaler>> = Api::namespaced(self.client(), key.namespace());
        let call = Call::new("list", "the HorizontalPodAutoscalers beside EGApp", key);
        let reply = self.timed(call, api.list(&ListParams::default())).await?;
        let aims = Autoscalers::default();
        for autoscaler in reply {
            aims.handle(Event::Apply(autoscaler.aim()));
        }
        Ok([Target::Deployment, Target::EGApp].map(|target| aims.of(target, key)))
    }

    fn apps_of(&self, key: &ObjectKey) -> Api<AppView> {
        Api::namespaced(self.client(), key.namespace())
    }

    async fn timed<T>(
        &self,
        call: Call,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(CALL_TIMEOUT, request).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(source)) => {
                if let Some(right) = missing_right(&source) {
                    self.denials.denied(right.verb, right.resource, right.namespace);
                }
                Err(Error::Call { call, source: Box::new(source) })
            }
            Err(_) => Err(Error::NoAnswer { call, after: CALL_TIMEOUT }),
        }
    }
}

/// Whether an object that was just deleted is still there. Of some kinds the answer holds the object also where it is
/// gone.
fn is_held(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some() && metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty())
}

/// Forced: fields we mean are ours, whoever wrote them last.
fn apply_params() -> PatchParams {
    PatchParams::apply(names::FIELD_MANAGER).force()
}

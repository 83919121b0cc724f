//! The cluster, as the user may see it. I/O.

use egapp_api::v1alpha1::EGApp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DynamicObject, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::runtime::watcher::Event;
use kube::{Api, Client, Config};
use pe_app::controller::egapp::cluster::{Caches, ChildKind, Live, View};
use pe_app::controller::egapp::names;
use pe_app::controller::egapp::observe::{Observed, observe};
use pe_app::controller::egapp::replicas::Scaling;
use pe_app::controller::key::ObjectKey;
use pe_app::platform::Platform;
use pe_app::telemetry::Chain;

use crate::args::{ClusterChoice, PlatformSource};
use crate::error::Error;
use crate::output;

/// The ConfigMap that `config/manager` makes, and its key.
const PLATFORM: (&str, &str) = ("pe-app-platform", "platform.yaml");

/// A cluster, and the namespace that is meant in it.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// Finds the cluster where kubectl finds it. Sends nothing yet.
    pub(crate) async fn find(choice: &ClusterChoice) -> Result<Self, Error> {
        let options = KubeConfigOptions { context: choice.context.clone(), ..KubeConfigOptions::default() };
        let mut config = match &choice.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).map_err(broken)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(broken)?
            }
            None if choice.context.is_some() => Config::from_kubeconfig(&options).await.map_err(broken)?,
            None => Config::infer().await.map_err(broken)?,
        };
        if let Some(user) = &choice.as_user {
            config.auth_info.impersonate = Some(user.clone());
            config.auth_info.impersonate_groups = Some(choice.as_group.clone());
        }
        let namespace = choice.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(broken)?;
        Ok(Self { client, namespace })
    }

    /// The EGApp of that name.
    pub(crate) async fn app(&self, name: &str) -> Result<EGApp, Error> {
        let found = Api::<EGApp>::namespaced(self.client.clone(), &self.namespace).get_opt(name).await;
        let found = found.map_err(Error::call(format!("read EGApp {}/{name}", self.namespace)))?;
        found.ok_or_else(|| Error::NoSuchApp { namespace: self.namespace.clone(), name: name.to_owned() })
    }

    /// The platform that the operator goes by; `None`, with a note, where that cannot be seen.
    pub(crate) async fn platform(&self, source: &PlatformSource) -> Result<Option<Platform>, Error> {
        if let Some(path) = &source.platform_config {
            return Ok(Some(Platform::load(Some(path))?));
        }
        let (namespace, (name, key)) = (&source.operator_namespace, PLATFORM);
        let map = Api::<ConfigMap>::namespaced(self.client.clone(), namespace).get_opt(name).await;
        let why = match map {
            Ok(Some(map)) => match map.data.unwrap_or_default().get(key) {
                Some(text) => match Platform::from_yaml(text) {
                    Ok(platform) => return Ok(Some(platform)),
                    // The operator goes by the last good one.
                    Err(findings) => {
                        let all: Vec<_> = findings.iter().map(ToString::to_string).collect();
                        format!("cannot be used ({})", all.join("; "))
                    }
                },
                None => format!("has no {key}"),
            },
            Ok(None) => "does not exist".to_owned(),
            Err(error) if is_forbidden(&error) => "may not be read by you".to_owned(),
            Err(error) => {
                return Err(Error::call(format!("read ConfigMap {namespace}/{name}"))(error));
            }
        };
        output::note(&format!(
            "built-in values are assumed: ConfigMap {namespace}/{name} {why}; --platform-config FILE gives others"
        ));
        Ok(None)
    }

    /// What exists of the EGApp. What the user may not see counts as absent, and is noted.
    pub(crate) async fn observed(&self, app: &EGApp) -> Result<Observed, Error> {
        let (key, caches) = (ObjectKey::of(&app.metadata), Caches::default());
        self.look::<Deployment>(&key, &caches).await?;
        self.look::<Service>(&key, &caches).await?;
        self.look::<PodDisruptionBudget>(&key, &caches).await?;
        let api = Api::<View<HorizontalPodAutoscaler>>::namespaced(self.client.clone(), key.namespace());
        for view in
            seen(api.list(&ListParams::default()).await, "HorizontalPodAutoscalers")?.into_iter().flatten()
        {
            caches.aims.handle(Event::Apply(view.aim()));
            caches.autoscalers.handle(Event::Apply(Live::from(view)));
        }
        Ok(observe(&caches, &key, app.metadata.uid.as_deref().unwrap_or_default()))
    }

    /// The HorizontalPodAutoscaler that decides on the replicas of the EGApp, if there is one.
    pub(crate) async fn decider(
        &self,
        app: &EGApp,
        observed: &Observed,
    ) -> Result<Option<HorizontalPodAutoscaler>, Error> {
        let key = ObjectKey::of(&app.metadata);
        let Some(name) = Scaling::of(&app.spec, observed).decider(key.name(), observed) else {
            return Ok(None);
        };
        let api = Api::<HorizontalPodAutoscaler>::namespaced(self.client.clone(), key.namespace());
        Ok(seen(api.get_opt(name).await, "HorizontalPodAutoscalers")?.flatten())
    }

    /// When the pods of an app were told to restart last; `None` also where that cannot be seen.
    pub(crate) async fn restarted_at(&self, name: &str) -> Option<String> {
        let deployments = Api::<Deployment>::namespaced(self.client.clone(), &self.namespace);
        let template = deployments.get_opt(name).await.ok()??.spec.template;
        template.metadata?.annotations?.remove(names::RESTARTED_AT)
    }

    async fn look<K: ChildKind>(&self, key: &ObjectKey, caches: &Caches) -> Result<(), Error> {
        let api = Api::<View<K>>::namespaced(self.client.clone(), key.namespace());
        if let Some(view) = seen(api.get_opt(key.name()).await, K::TITLE)?.flatten() {
            K::store(caches).handle(Event::Apply(Live::from(view)));
        }
        Ok(())
    }

    /// Objects of a kind of child.
    pub(crate) fn objects(&self, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, resource)
    }
}

fn broken(error: impl std::error::Error + 'static) -> Error {
    Error::Kubeconfig { problem: Chain(&error).to_string() }
}

fn seen<T>(answer: Result<T, kube::Error>, what: &str) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_forbidden(&error) => {
            output::note(&format!("you may not read {what}: what there is of it counts as absent"));
            Ok(None)
        }
        Err(error) => Err(Error::call(format!("read {what}"))(error)),
    }
}

/// Whether the API server refuses it for want of a right.
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

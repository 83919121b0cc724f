//! EGApps on an API server that has the schema and nothing else, and what it answers.

use std::error::Error;

use cluster::{Cluster, Options, Shared};
use egapp_api::v1alpha1::EGApp;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::{Client, Config};
use serde_json::{Value, json};

static CLUSTER: Shared =
    Shared::new(|| Options::api().manifest(concat!(env!("CARGO_MANIFEST_DIR"), "/config/crd/bases")));

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// EGApps of one namespace, untyped: the schema is under test, not our types.
pub(crate) struct Egapps {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) api: Api<DynamicObject>,
}

/// What became of an object: as the API server keeps it, or the fields at fault, each with its message.
pub(crate) type Answer = Result<Value, Vec<(String, String)>>;

impl Egapps {
    pub(crate) async fn of_a_new_namespace() -> Outcome<Self> {
        let cluster = CLUSTER.get().await?;
        let namespace = cluster.namespace("schema").await?;
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let api =
            Api::namespaced_with(Client::try_from(config)?, &namespace, &ApiResource::erase::<EGApp>(&()));
        Ok(Self { cluster, namespace, api })
    }

    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> cluster::Result<String> {
        self.cluster.kubectl(["--namespace", &self.namespace].iter().chain(arguments)).await
    }

    /// Asks for an object of that name with these further top-level fields; nothing is kept.
    pub(crate) async fn try_object(&self, name: &str, fields: Value) -> Outcome<Answer> {
        self.create(name, fields, PostParams { dry_run: true, ..PostParams::default() }).await
    }

    /// Asks for an app whose spec is the least possible with `fields` on top; nothing is kept.
    pub(crate) async fn try_spec(&self, fields: Value) -> Outcome<Answer> {
        self.try_object("web", json!({ "spec": with(least(), fields) })).await
    }

    /// Creates the least possible app.
    pub(crate) async fn create_least(&self, name: &str) -> Outcome<Value> {
        let answer = self.create(name, json!({ "spec": least() }), PostParams::default()).await?;
        answer.map_err(|causes| format!("{name} is refused: {causes:?}").into())
    }

    /// Asserts that each of these specs is refused, with that field at fault and a message that holds the words.
    pub(crate) async fn refuses<'a>(&self, cases: impl IntoIterator<Item = (Value, &'a str, &'a str)>) {
        for (fields, field, words) in cases {
            let answer = self.try_spec(fields.clone()).await.unwrap();
            assert!(is_refused(&answer, field, words), "{fields}: {field} {words:?}: {answer:?}");
        }
    }

    /// Asserts that each of these specs is accepted, and nothing in it dropped or changed.
    pub(crate) async fn keeps(&self, cases: impl IntoIterator<Item = Value>) {
        for fields in cases {
            let app = self.try_spec(fields.clone()).await.unwrap();
            let app = app.unwrap_or_else(|causes| panic!("{fields} is refused: {causes:?}"));
            for (field, value) in fields.as_object().unwrap() {
                assert_eq!(&app["spec"][field], value, "spec.{field}");
            }
        }
    }

    async fn create(&self, name: &str, fields: Value, params: PostParams) -> Outcome<Answer> {
        let identity = json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp", "metadata": { "name": name },
        });
        let object = serde_json::from_value(with(identity, fields))?;
        answer(self.api.create(&params, &object).await)
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> Outcome<Answer> {
        answer(self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await)
    }

    pub(crate) async fn patch_status(&self, name: &str, status: Value) -> Outcome<Answer> {
        let patch = Patch::Merge(json!({ "status": status }));
        answer(self.api.patch_status(name, &PatchParams::default(), &patch).await)
    }
}

pub(crate) fn least() -> Value {
    json!({ "framework": "go", "environment": "dev" })
}

/// `base` with the fields of `more` set.
pub(crate) fn with(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}

/// A refusal of the object is an answer; every other error is a failure of the test.
fn answer(result: kube::Result<DynamicObject>) -> Outcome<Answer> {
    match result {
        Ok(object) => Ok(Ok(serde_json::to_value(object)?)),
        Err(kube::Error::Api(status)) if status.reason == "Invalid" => {
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            Ok(Err(causes.into_iter().map(|cause| (cause.field, cause.message)).collect()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the object was refused with that field at fault and a message that holds `words`.
pub(crate) fn is_refused(answer: &Answer, field: &str, words: &str) -> bool {
    let Err(causes) = answer else { return false };
    causes.iter().any(|(at, message)| at == field && message.contains(words))
}

//! What the API server does with an EGApp, by the schema alone: no operator runs. Each refusal is asserted by the
//! field it names and the words a person reads.

#![cfg(test)]

use std::error::Error;

use cluster::{Cluster, Options, Shared};
use egapp_api::v1alpha1::{EGApp, Environment, Framework, InstanceType};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::{Client, Config};
use serde_json::{Value, json};

static CLUSTER: Shared =
    Shared::new(|| Options::api().manifest(concat!(env!("CARGO_MANIFEST_DIR"), "/config/crd/bases")));

type Outcome<T> = Result<T, Box<dyn Error>>;

/// EGApps of one namespace, untyped: the schema is under test, not our types.
struct Egapps {
    cluster: &'static Cluster,
    namespace: String,
    api: Api<DynamicObject>,
}

/// What became of an object: as the API server keeps it, or the fields at fault, each with its message.
type Answer = Result<Value, Vec<(String, String)>>;

impl Egapps {
    async fn of_a_new_namespace() -> Outcome<Self> {
        let cluster = CLUSTER.get().await?;
        let namespace = cluster.namespace("schema").await?;
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let api =
            Api::namespaced_with(Client::try_from(config)?, &namespace, &ApiResource::erase::<EGApp>(&()));
        Ok(Self { cluster, namespace, api })
    }

    async fn kubectl(&self, arguments: &[&str]) -> cluster::Result<String> {
        self.cluster.kubectl(["--namespace", &self.namespace].iter().chain(arguments)).await
    }

    /// Asks for an object of that name with these further top-level fields; nothing is kept.
    async fn try_object(&self, name: &str, fields: Value) -> Outcome<Answer> {
        self.create(name, fields, PostParams { dry_run: true, ..PostParams::default() }).await
    }

    /// Asks for an app whose spec is the least possible with `fields` on top; nothing is kept.
    async fn try_spec(&self, fields: Value) -> Outcome<Answer> {
        self.try_object("web", json!({ "spec": with(least(), fields) })).await
    }

    /// Creates the least possible app.
    async fn create_least(&self, name: &str) -> Outcome<Value> {
        let answer = self.create(name, json!({ "spec": least() }), PostParams::default()).await?;
        answer.map_err(|causes| format!("{name} is refused: {causes:?}").into())
    }

    async fn create(&self, name: &str, fields: Value, params: PostParams) -> Outcome<Answer> {
        let identity = json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp", "metadata": { "name": name },
        });
        let object = serde_json::from_value(with(identity, fields))?;
        answer(self.api.create(&params, &object).await)
    }

    async fn patch(&self, name: &str, patch: Value) -> Outcome<Answer> {
        answer(self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await)
    }

    async fn patch_status(&self, name: &str, status: Value) -> Outcome<Answer> {
        let patch = Patch::Merge(json!({ "status": status }));
        answer(self.api.patch_status(name, &PatchParams::default(), &patch).await)
    }
}

fn least() -> Value {
    json!({ "framework": "go", "environment": "dev" })
}

/// `base` with the fields of `more` set.
fn with(mut base: Value, more: Value) -> Value {
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
fn is_refused(answer: &Answer, field: &str, words: &str) -> bool {
    let Err(causes) = answer else { return false };
    causes.iter().any(|(at, message)| at == field && message.contains(words))
}

#[tokio::test]
async fn framework_and_environment_alone_are_enough_and_the_rest_is_defaulted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let app = apps.create_least("web").await.unwrap();
    let spec = json!({
        "framework": "go", "environment": "dev", "instanceType": "lowMem", "replicaCount": 1, "suspend": false,
    });
    assert_eq!(app["spec"], spec);
    assert_eq!(app["status"], json!({ "observedGeneration": -1 }), "as if it were finished already");
}

#[tokio::test]
async fn null_means_unset() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let nulls =
        json!({ "instanceType": null, "replicaCount": null, "suspend": null, "image": null, "appId": null });
    let app = apps.try_spec(nulls).await.unwrap().unwrap();
    let bare = apps.try_spec(json!({})).await.unwrap().unwrap();
    assert_eq!(app["spec"], bare["spec"]);

    apps.create_least("web").await.unwrap();
    apps.patch("web", json!({ "spec": { "replicaCount": 3 } })).await.unwrap().unwrap();
    let app = apps.patch("web", json!({ "spec": { "replicaCount": null } })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["replicaCount"], 1);
}

#[tokio::test]
async fn missing_spec_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for fields in [json!({}), json!({ "spec": null })] {
        let answer = apps.try_object("web", fields).await.unwrap();
        assert!(is_refused(&answer, "spec", "Required value"), "{answer:?}");
    }
    apps.create_least("web").await.unwrap();
    let answer = apps.patch("web", json!({ "spec": null })).await.unwrap();
    assert!(is_refused(&answer, "spec", "Required value"), "{answer:?}");
}

#[tokio::test]
async fn missing_framework_and_environment_are_refused_by_name() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let answer = apps.try_object("web", json!({ "spec": {} })).await.unwrap();
    for field in ["spec.framework", "spec.environment"] {
        assert!(is_refused(&answer, field, "Required value"), "{field}: {answer:?}");
    }
}

#[tokio::test]
async fn unknown_words_are_refused_and_the_known_ones_named() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let cases = [
        ("framework", "cobol", r#""cobol": supported values: "java", "python", "go""#),
        ("framework", "unknown", r#""unknown": supported values: "java", "python", "go""#),
        ("framework", "", r#""": supported values: "java", "python", "go""#),
        ("environment", "moon", r#""moon": supported values: "dev", "stage", "prod""#),
        (
            "instanceType",
            "lowmem",
            r#""lowmem": supported values: "lowMem", "highMem", "highCPU", "balanced""#,
        ),
    ];
    for (field, word, message) in cases {
        let answer = apps.try_spec(json!({ field: word })).await.unwrap();
        assert!(is_refused(&answer, &format!("spec.{field}"), message), "{field}: {answer:?}");
    }
}

#[tokio::test]
async fn every_word_of_the_types_is_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for (field, words) in [
        ("framework", json!(Framework::ALL)),
        ("environment", json!(Environment::ALL)),
        ("instanceType", json!(InstanceType::ALL)),
    ] {
        for word in words.as_array().unwrap() {
            let app = apps.try_spec(json!({ field: word })).await.unwrap().unwrap();
            assert_eq!(&app["spec"][field], word);
        }
    }
}

#[tokio::test]
async fn negative_replicas_are_refused_and_zero_is_not() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let answer = apps.try_spec(json!({ "replicaCount": -1 })).await.unwrap();
    assert!(is_refused(&answer, "spec.replicaCount", "should be greater than or equal to 0"), "{answer:?}");
    let app = apps.try_spec(json!({ "replicaCount": 0 })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["replicaCount"], 0);
}

#[tokio::test]
async fn names_that_fit_no_service_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let shape = "must consist of lower-case letters, digits and '-', start with a letter and end with a letter or digit, \
                 like the name of a Service";
    let length = "must have no more than 63 characters, like the name of a Service";
    let too_long = "n".repeat(64);
    for (name, message) in [("web.v2", shape), ("2048", shape), ("0web", shape), (&too_long, length)] {
        let answer = apps.try_object(name, json!({ "spec": least() })).await.unwrap();
        assert!(is_refused(&answer, "metadata.name", message), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn names_that_fit_a_service_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for name in ["w", "web-2", &"n".repeat(63)] {
        let answer = apps.try_object(name, json!({ "spec": least() })).await.unwrap();
        assert!(answer.is_ok(), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn images_that_name_nothing_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let one = "must be one image reference without white space, control or non-ASCII characters";
    let long = "a".repeat(513);
    for (image, message) in [
        ("", "must not be empty; name an image such as"),
        ("web 1", one),
        ("web:1\n", one),
        ("web\u{a0}:1", one),
        (&long, "Too long: may not be more than 512"),
    ] {
        let answer = apps.try_spec(json!({ "image": image })).await.unwrap();
        assert!(is_refused(&answer, "spec.image", message), "{image:?}: {answer:?}");
    }
}

#[tokio::test]
async fn images_with_port_and_digest_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let image = format!("registry.example.com:5000/team/web_app:1.4-rc.2@sha256:{}", "0f".repeat(32));
    let app = apps.try_spec(json!({ "image": image })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["image"], image);
}

#[tokio::test]
async fn app_id_is_empty_or_fit_for_a_label() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let shape = "must be empty or consist of letters, digits, '-', '_' and '.'";
    let (longest, too_long) = ("i".repeat(63), "i".repeat(64));
    for (id, message) in [
        ("-cart", shape),
        ("cart.", shape),
        ("shopping cart", shape),
        ("cart/1", shape),
        (&too_long, "Too long: may not be more than 63"),
    ] {
        let answer = apps.try_spec(json!({ "appId": id })).await.unwrap();
        assert!(is_refused(&answer, "spec.appId", message), "{id}: {answer:?}");
    }
    for id in ["", "c", "Cart_1.x-y", &longest] {
        let answer = apps.try_spec(json!({ "appId": id })).await.unwrap();
        assert!(answer.is_ok(), "{id}: {answer:?}");
    }
}

#[tokio::test]
async fn misspelt_field_is_refused_by_kubectl() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let manifest = json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "web", "namespace": apps.namespace }, "spec": with(least(), json!({ "replicas": 3 })),
    });
    let admin = apps.cluster.admin();
    let refusal = admin.run_with_input(["create", "-f", "-"], &manifest.to_string()).await.unwrap_err();
    assert!(refusal.to_string().contains(r#"unknown field "spec.replicas""#), "{refusal}");
}

#[tokio::test]
async fn status_of_nothing_but_conditions_is_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let condition = json!({
        "type": "Ready", "status": "True", "reason": "Available", "message": "", "observedGeneration": 1,
        "lastTransitionTime": "2024-05-06T07:08:09Z",
    });
    let app = apps.patch_status("web", json!({ "conditions": [condition] })).await.unwrap().unwrap();
    assert_eq!(app["status"], json!({ "conditions": [condition], "observedGeneration": -1 }));
}

#[tokio::test]
async fn malformed_condition_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let condition = json!({
        "type": "Ready", "status": "Maybe", "reason": "no reason", "message": "", "observedGeneration": -1,
        "lastTransitionTime": "2024-05-06T07:08:09Z",
    });
    let answer = apps.patch_status("web", json!({ "conditions": [condition] })).await.unwrap();
    for (field, message) in [
        ("status", r#"supported values: "True", "False", "Unknown""#),
        ("reason", "should match"),
        ("observedGeneration", "should be greater than or equal to 0"),
    ] {
        assert!(
            is_refused(&answer, &format!("status.conditions[0].{field}"), message),
            "{field}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn conditions_of_two_writers_stand_side_by_side() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    for (writer, type_) in [("one", "Ready"), ("other", "Audited")] {
        let object = json!({
            "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
            "status": { "conditions": [{
                "type": type_, "status": "True", "reason": "R", "message": "",
                "lastTransitionTime": "2024-05-06T07:08:09Z",
            }] },
        });
        apps.api.patch_status("web", &PatchParams::apply(writer), &Patch::Apply(object)).await.unwrap();
    }
    let app = serde_json::to_value(apps.api.get("web").await.unwrap()).unwrap();
    let conditions = app["status"]["conditions"].as_array().unwrap();
    let types: Vec<_> = conditions.iter().map(|condition| condition["type"].as_str()).collect();
    assert_eq!(types, [Some("Ready"), Some("Audited")]);
}

#[tokio::test]
async fn scale_reads_and_writes_the_replicas() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let status = json!({ "replicas": 7, "selector": "app=web" });
    apps.patch_status("web", status).await.unwrap().unwrap();
    apps.kubectl(&["scale", "egapp/web", "--replicas=3"]).await.unwrap();
    let scale = serde_json::to_value(apps.api.get_scale("web").await.unwrap()).unwrap();
    assert_eq!(scale["spec"], json!({ "replicas": 3 }));
    assert_eq!(scale["status"], json!({ "replicas": 7, "selector": "app=web" }));
    let app = apps.api.get("web").await.unwrap();
    assert_eq!(app.data["spec"]["replicaCount"], 3);
}

#[tokio::test]
async fn table_shows_the_app_at_a_glance() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.create_least("web").await.unwrap();
    let ready = json!({
        "type": "Ready", "status": "False", "reason": "RollingOut", "message": "half-way",
        "lastTransitionTime": "2024-05-06T07:08:09Z",
    });
    let status =
        json!({ "desiredReplicas": 2, "readyReplicas": 1, "image": "nginx:1", "conditions": [ready] });
    apps.patch_status("web", status).await.unwrap().unwrap();

    for words in [["get", "ega"], ["get", "egplatform"]] {
        let table = apps.kubectl(&words).await.unwrap();
        let rows: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["NAME", "FRAMEWORK", "SIZE", "ENV", "DESIRED", "READY", "STATUS", "AGE"]);
        assert_eq!(rows[1][..7], ["web", "go", "lowMem", "dev", "2", "1", "RollingOut"]);
    }
    let wide = apps.kubectl(&["get", "ega", "--output=wide"]).await.unwrap();
    for word in ["IMAGE", "MESSAGE", "nginx:1", "half-way"] {
        assert!(wide.contains(word), "{word} in {wide}");
    }
    assert!(
        apps.kubectl(&["get", "all"])
            .await
            .unwrap()
            .contains("egapp.egplatform.platform.evillgenius.com/web")
    );
}

#[tokio::test]
async fn explain_says_what_a_field_is() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let text = apps.kubectl(&["explain", "egapp.spec.framework"]).await.unwrap();
    for words in ["framework <string>", "java\n    python\n    go\n", "What the application is written in"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let spec = apps.kubectl(&["explain", "egapp.spec"]).await.unwrap();
    assert!(spec.contains("Default: 1."), "{spec}");
    assert!(spec.lines().all(|line| line.len() <= 80), "a line of our own is broken again: {spec}");
}

//! How long texts and lists may be.

use serde_json::{Value, json};

use crate::egapps::Egapps;

/// A spec that holds this text in one place.
type Holding = fn(&str) -> Value;

fn from(source: &Value) -> Value {
    json!({ "env": [{ "name": "A", "valueFrom": source }] })
}

const TEXTS: [(&str, usize, Holding); 15] = [
    ("spec.env[0].name", 253, |text| json!({ "env": [{ "name": text }] })),
    ("spec.env[0].value", 32000, |text| json!({ "env": [{ "name": "A", "value": text }] })),
    ("spec.env[0].valueFrom.fieldRef.fieldPath", 253, |text| {
        from(&json!({ "fieldRef": { "fieldPath": text } }))
    }),
    ("spec.env[0].valueFrom.configMapKeyRef.name", 253, |text| {
        from(&json!({ "configMapKeyRef": { "name": text, "key": "k" } }))
    }),
    ("spec.env[0].valueFrom.configMapKeyRef.key", 253, |text| {
        from(&json!({ "configMapKeyRef": { "name": "c", "key": text } }))
    }),
    ("spec.env[0].valueFrom.secretKeyRef.name", 253, |text| {
        from(&json!({ "secretKeyRef": { "name": text, "key": "k" } }))
    }),
    ("spec.env[0].valueFrom.secretKeyRef.key", 253, |text| {
        from(&json!({ "secretKeyRef": { "name": "s", "key": text } }))
    }),
    (
        "spec.envFrom[0].prefix",
        253,
        |text| json!({ "envFrom": [{ "secretRef": { "name": "s" }, "prefix": text }] }),
    ),
    (
        "spec.envFrom[0].configMapRef.name",
        253,
        |text| json!({ "envFrom": [{ "configMapRef": { "name": text } }] }),
    ),
    ("spec.envFrom[0].secretRef.name", 253, |text| json!({ "envFrom": [{ "secretRef": { "name": text } }] })),
    ("spec.imagePullSecrets[0].name", 253, |text| json!({ "imagePullSecrets": [{ "name": text }] })),
    (
        "spec.readinessProbe.exec.command[0]",
        4096,
        |text| json!({ "readinessProbe": { "exec": { "command": [text] } } }),
    ),
    (
        "spec.readinessProbe.grpc.service",
        256,
        |text| json!({ "readinessProbe": { "grpc": { "service": text } } }),
    ),
    (
        "spec.readinessProbe.httpGet.httpHeaders[0].name",
        256,
        |text| json!({ "readinessProbe": { "httpGet": { "httpHeaders": [{ "name": text, "value": "" }] } } }),
    ),
    (
        "spec.readinessProbe.httpGet.httpHeaders[0].value",
        1024,
        |text| json!({ "readinessProbe": { "httpGet": { "httpHeaders": [{ "name": "A", "value": text }] } } }),
    ),
];

/// A spec that holds a list of so many entries.
type OfLength = fn(usize) -> Value;

fn named(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({ "name": format!("n{n}") })).collect()
}

const LISTS: [(&str, usize, OfLength); 5] = [
    ("spec.env", 256, |count| json!({ "env": named(count) })),
    ("spec.envFrom", 32, |count| json!({ "envFrom": vec![json!({ "secretRef": { "name": "s" } }); count] })),
    ("spec.imagePullSecrets", 16, |count| json!({ "imagePullSecrets": named(count) })),
    ("spec.livenessProbe.httpGet.httpHeaders", 16, |count| {
        let headers = vec![json!({ "name": "A", "value": "" }); count];
        json!({ "livenessProbe": { "httpGet": { "httpHeaders": headers } } })
    }),
    (
        "spec.startupProbe.exec.command",
        256,
        |count| json!({ "startupProbe": { "exec": { "command": vec!["a"; count] } } }),
    ),
];

#[tokio::test]
async fn texts_of_the_greatest_length_are_accepted_and_longer_ones_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for (field, most, holding) in TEXTS {
        if !field.ends_with("fieldPath") {
            apps.keeps([holding(&"a".repeat(most))]).await;
        }
        let words = format!("Too long: may not be more than {most}");
        apps.refuses([(holding(&"a".repeat(most + 1)), field, words.as_str())]).await;
    }
}

#[tokio::test]
async fn lists_of_the_greatest_length_are_accepted_and_longer_ones_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for (field, most, of_length) in LISTS {
        apps.keeps([of_length(most)]).await;
        let words = format!("Too many: {}: must have at most {most} items", most + 1);
        apps.refuses([(of_length(most + 1), field, words.as_str())]).await;
    }
}

#[tokio::test]
async fn what_a_probe_says_is_bounded_as_a_whole() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let headers = |length: usize| {
        let headers = vec![json!({ "name": "A", "value": "a".repeat(length) }); 4];
        json!({ "livenessProbe": { "httpGet": { "httpHeaders": headers } } })
    };
    apps.keeps([headers(1023)]).await;
    let at = "spec.livenessProbe.httpGet.httpHeaders";
    apps.refuses([(headers(1024), at, "must have no more than 4096 characters in all names and values")])
        .await;
    let command = |count: usize| json!({ "livenessProbe": { "exec": { "command": ["a", "\u{1F980}".repeat(count)] } } });
    apps.keeps([command(1023)]).await;
    let at = "spec.livenessProbe.exec.command";
    apps.refuses([(command(1024), at, "must have no more than 4096 bytes together")]).await;
}

#[tokio::test]
async fn paths_of_the_greatest_length_are_accepted_and_longer_ones_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let path = |length: usize| json!({ "livenessProbe": { "httpGet": { "path": format!("/{}", "a".repeat(length - 1)) } } });
    apps.keeps([path(2048)]).await;
    let at = "spec.livenessProbe.httpGet.path";
    apps.refuses([(path(2049), at, "Too long: may not be more than 2048")]).await;
}

#[tokio::test]
async fn amounts_of_the_greatest_length_are_accepted_and_longer_ones_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let resources =
        |part: &str, resource: &str, amount: String| json!({ "resources": { part: { resource: amount } } });
    for part in ["requests", "limits"] {
        for (resource, suffix) in [("cpu", "1m"), ("memory", "1Mi"), ("ephemeral-storage", "1Mi")] {
            let of_length = |length: usize| format!("{suffix:0>length$}");
            let field = format!("spec.resources.{part}.{resource}");
            apps.keeps([resources(part, resource, of_length(32))]).await;
            let words = "Too long: may not be more than 32";
            apps.refuses([(resources(part, resource, of_length(33)), field.as_str(), words)]).await;
        }
    }
}

//! `spec.env` and `spec.envFrom`.

use serde_json::{Value, json};

use crate::egapps::Egapps;

/// A spec with one variable that takes its value from there.
fn from(source: Value) -> Value {
    json!({ "env": [{ "name": "A", "valueFrom": source }] })
}

#[tokio::test]
async fn every_source_of_a_variable_is_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let fields = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        "metadata.labels['app.kubernetes.io/name']",
        "metadata.annotations['a']",
    ];
    let amounts = [
        json!({ "resource": "limits.memory" }),
        json!({ "resource": "limits.cpu", "divisor": "1m" }),
        json!({ "resource": "requests.cpu", "divisor": 1 }),
        json!({ "resource": "requests.memory", "divisor": "0" }),
        json!({ "resource": "requests.ephemeral-storage", "divisor": "1Mi" }),
        json!({ "resource": "limits.ephemeral-storage", "divisor": "1k" }),
    ];
    let entry = json!({ "name": "shop.config", "key": "Key_1.txt", "optional": true });
    let sources = fields
        .map(|path| json!({ "fieldRef": { "fieldPath": path } }))
        .into_iter()
        .chain(amounts.map(|amount| json!({ "resourceFieldRef": amount })))
        .chain([json!({ "configMapKeyRef": entry }), json!({ "secretKeyRef": entry })]);
    apps.keeps(sources.map(from)).await;
}

#[tokio::test]
async fn names_and_values_that_kubernetes_takes_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let variables = [
        json!({ "name": "A" }),
        json!({ "name": "a.b-c/d e", "value": "" }),
        json!({ "name": "_", "value": "$(A)\n\t\u{1F980}" }),
    ];
    apps.keeps([json!({ "env": variables })]).await;
}

#[tokio::test]
async fn names_that_no_process_can_have_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let printable = "must be the name of a variable: one or more printable ASCII characters except '='";
    let names = ["", "A=B", "É", "A\n", "A\u{7f}"];
    apps.refuses(names.map(|name| (json!({ "env": [{ "name": name }] }), "spec.env[0].name", printable)))
        .await;
    let nameless = json!({ "env": [{ "value": "v" }] });
    apps.refuses([(nameless, "spec.env[0].name", "Required value")]).await;
}

#[tokio::test]
async fn two_variables_of_one_name_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let twice =
        json!({ "env": [{ "name": "A", "value": "1" }, { "name": "B" }, { "name": "A", "value": "2" }] });
    apps.refuses([(twice, "spec.env[2]", "Duplicate value")]).await;
}

#[tokio::test]
async fn values_that_are_no_text_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let value = |value: Value| json!({ "env": [{ "name": "A", "value": value }] });
    apps.refuses([
        (value(json!(8080)), "spec.env[0].value", "must be of type string"),
        (value(json!(true)), "spec.env[0].value", "must be of type string"),
        (value(json!("a\0b")), "spec.env[0].value", "must not contain the character NUL"),
    ])
    .await;
}

#[tokio::test]
async fn variables_are_bounded_as_a_whole_in_bytes() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let entry = |source: &str, key: usize| {
        let from = json!({ source: { "name": "c".repeat(253), "key": "k".repeat(key) } });
        let list: Vec<_> =
            (0..64).map(|n| json!({ "name": format!("V{n:02}"), "valueFrom": from })).collect();
        json!({ "env": list })
    };
    let values = |value: &str| json!({ "env": [{ "name": "A" }, { "name": "B", "value": value }] });
    let crabs = |count: usize| values(&"\u{1F980}".repeat(count));
    apps.keeps([entry("configMapKeyRef", 253), entry("secretKeyRef", 253), crabs(8191)]).await;
    let words = "must have no more than 32768 bytes in all names, values and references together";
    let mut more = entry("configMapKeyRef", 253);
    more["env"].as_array_mut().unwrap().push(json!({ "name": "W".repeat(193) }));
    let halves = ["A", "B"].map(|name| json!({ "name": name, "value": "v".repeat(16_384) }));
    apps.refuses([crabs(8192), json!({ "env": halves }), more].map(|spec| (spec, "spec.env", words))).await;
}

#[tokio::test]
async fn a_variable_has_one_value_from_one_source() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let field = json!({ "fieldPath": "metadata.name" });
    let entry = json!({ "name": "c", "key": "k" });
    let one = "must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef";
    apps.refuses([
        (
            json!({ "env": [{ "name": "A", "value": "", "valueFrom": { "fieldRef": field } }] }),
            "spec.env[0]",
            "must have either value or valueFrom, not both",
        ),
        (from(json!({})), "spec.env[0].valueFrom", one),
        (from(json!({ "fieldRef": null })), "spec.env[0].valueFrom", one),
        (from(json!({ "fileKeyRef": { "path": "p" } })), "spec.env[0].valueFrom", one),
        (from(json!({ "fieldRef": field, "secretKeyRef": entry })), "spec.env[0].valueFrom", one),
        (from(json!({ "configMapKeyRef": entry, "secretKeyRef": entry })), "spec.env[0].valueFrom", one),
    ])
    .await;
}

#[tokio::test]
async fn fields_that_no_variable_can_take_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for path in [
        "",
        "status.phase",
        "metadata.labels",
        "metadata.labels['']",
        "metadata.labels['a/b/c']",
        "metadata.labels['-a']",
        "metadata.annotations['Up.per/a']",
        "metadata.name ",
        "metadata.labels['a'] ",
    ] {
        let at = "spec.env[0].valueFrom.fieldRef.fieldPath";
        apps.refuses([(
            from(json!({ "fieldRef": { "fieldPath": path } })),
            at,
            "must be one of metadata.name,",
        )])
        .await;
    }
    let missing = from(json!({ "fieldRef": {} }));
    apps.refuses([(missing, "spec.env[0].valueFrom.fieldRef.fieldPath", "Required value")]).await;
}

#[tokio::test]
async fn amounts_in_a_unit_of_something_else_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let at = "spec.env[0].valueFrom.resourceFieldRef.divisor";
    let unit = "must be 1 or 1m for CPU, and 1 or a power of 1000 or 1024 such as 1Mi for bytes";
    let amount = |resource: &str, divisor: Value| {
        from(json!({ "resourceFieldRef": { "resource": resource, "divisor": divisor } }))
    };
    apps.refuses([
        (amount("limits.cpu", json!("1Mi")), at, unit),
        (amount("requests.memory", json!("1m")), at, unit),
        (amount("limits.memory", json!("3")), at, "Unsupported value: \"3\""),
        (amount("limits.memory", json!(2)), at, "Unsupported value: 2"),
        (
            amount("limits.gpu", json!(1)),
            "spec.env[0].valueFrom.resourceFieldRef.resource",
            r#""limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu""#,
        ),
        (
            from(json!({ "resourceFieldRef": { "divisor": 1 } })),
            "spec.env[0].valueFrom.resourceFieldRef.resource",
            "Required value",
        ),
    ])
    .await;
}

#[tokio::test]
async fn entries_that_cannot_exist_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let (name, key) =
        ("must be the name of an object: lower-case letters", "must be the key of an entry: letters");
    for source in ["configMapKeyRef", "secretKeyRef"] {
        let at = |field: &str| format!("spec.env[0].valueFrom.{source}.{field}");
        let entry = |name: &str, key: &str| from(json!({ source: { "name": name, "key": key } }));
        for bad in ["", "Upper", "under_score", "-a", "a..b", "a/b"] {
            apps.refuses([(entry(bad, "k"), at("name").as_str(), name)]).await;
        }
        for bad in ["", "a b", ".", "..", "..a", "é", "a/b"] {
            apps.refuses([(entry("c", bad), at("key").as_str(), key)]).await;
        }
        let missing = from(json!({ source: {} }));
        apps.refuses([(missing.clone(), at("name").as_str(), "Required value")]).await;
        apps.refuses([(missing, at("key").as_str(), "Required value")]).await;
    }
}

#[tokio::test]
async fn whole_config_maps_and_secrets_keep_their_order() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let sources = json!([
        { "secretRef": { "name": "b", "optional": true }, "prefix": "B_" },
        { "configMapRef": { "name": "a" }, "prefix": "" },
        { "configMapRef": { "name": "a" } },
    ]);
    apps.keeps([json!({ "envFrom": sources })]).await;
}

#[tokio::test]
async fn whole_objects_need_one_name_each() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let from = |source: Value| json!({ "envFrom": [source] });
    let one = "must have exactly one of configMapRef and secretRef";
    apps.refuses([
        (from(json!({})), "spec.envFrom[0]", one),
        (
            from(json!({ "configMapRef": { "name": "a" }, "secretRef": { "name": "a" } })),
            "spec.envFrom[0]",
            one,
        ),
        (from(json!({ "secretRef": {} })), "spec.envFrom[0].secretRef.name", "Required value"),
        (from(json!({ "configMapRef": {} })), "spec.envFrom[0].configMapRef.name", "Required value"),
        (
            from(json!({ "configMapRef": { "name": "A" } })),
            "spec.envFrom[0].configMapRef.name",
            "must be the name of an object",
        ),
        (
            from(json!({ "secretRef": { "name": "a" }, "prefix": "A=" })),
            "spec.envFrom[0].prefix",
            "must be the start of the name of a variable: printable ASCII characters except '='",
        ),
    ])
    .await;
}

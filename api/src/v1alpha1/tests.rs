//! What the types promise without an API server: the wire format, and the schema that they generate.

use kube::{CustomResourceExt, Resource};
use serde_json::{Value, json};

use super::*;
use crate::GROUP;

fn post_manifest() -> Value {
    json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1",
        "kind": "EGApp",
        "metadata": { "name": "shop" },
        "spec": { "appId": "cart", "framework": "python", "instanceType": "highCPU", "environment": "stage", "replicaCount": 3 },
    })
}

/// The fields that the blog post does not have.
fn further_fields() -> Value {
    let timing =
        json!({ "periodSeconds": 5, "timeoutSeconds": 2, "successThreshold": 1, "failureThreshold": 4 });
    let probe = |handler: &str, action: Value| {
        let mut probe = timing.clone();
        probe[handler] = action;
        probe["initialDelaySeconds"] = json!(0);
        probe
    };
    json!({
        "image": "registry.example.com/team/shop:1",
        "command": ["shop"], "args": ["--port", "9000"], "port": 9000,
        "env": [
            { "name": "PLAIN", "value": "" },
            { "name": "FIELD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            { "name": "AMOUNT", "valueFrom": { "resourceFieldRef": { "resource": "limits.memory", "divisor": "1Mi" } } },
            { "name": "ENTRY", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "k", "optional": true } } },
            { "name": "SECRET", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
        ],
        "envFrom": [{ "configMapRef": { "name": "c" } }, { "secretRef": { "name": "s", "optional": true }, "prefix": "S_" }],
        "resources": {
            "requests": { "cpu": "1", "memory": "1Gi" }, "limits": { "memory": "2Gi", "ephemeral-storage": "1Gi" },
        },
        "livenessProbe": probe("grpc", json!({ "port": 9001, "service": "shop" })),
        "readinessProbe": probe("httpGet", json!({
            "path": "/ready", "port": 9002, "scheme": "HTTPS", "httpHeaders": [{ "name": "Host", "value": "shop" }],
        })),
        "startupProbe": probe("exec", json!({ "command": ["true"] })),
        "imagePullSecrets": [{ "name": "registry" }], "serviceAccountName": "shop", "runAsUser": 1000,
        "service": { "enabled": false, "port": 8080 }, "restartedAt": "2024-05-06T07:08:09Z", "suspend": true,
    })
}

fn schema() -> Value {
    let crd = serde_json::to_value(EGApp::crd()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn spec_property(name: &str) -> Value {
    schema()["properties"]["spec"]["properties"][name].clone()
}

#[test]
fn blog_post_fields_decode() {
    let app: EGApp = serde_json::from_value(post_manifest()).unwrap();
    let EGAppSpec { app_id, framework, instance_type, environment, replica_count, .. } = app.spec;
    assert_eq!(
        (app_id.as_deref(), framework, instance_type, environment, replica_count),
        (Some("cart"), Framework::Python, InstanceType::HighCpu, Environment::Stage, 3)
    );
    assert_eq!(app.status, None);
}

#[test]
fn full_object_survives_a_round_trip() {
    let mut full = post_manifest();
    full["spec"].as_object_mut().unwrap().extend(further_fields().as_object().unwrap().clone());
    full["status"] = json!({
        "observedGeneration": 4,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Available", "message": "3 of 3 replicas are available",
            "observedGeneration": 4, "lastTransitionTime": "2024-05-06T07:08:09Z",
        }],
        "desiredReplicas": 3, "replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2,
        "selector": "egplatform.platform.evillgenius.com/egapp=shop",
        "pods": ["shop-a", "shop-b"], "podsOmitted": 1, "image": "registry.example.com/team/shop:1",
        "resources": { "requests": { "cpu": "2", "memory": "1Gi" }, "limits": { "memory": "1Gi" } },
    });
    let app: EGApp = serde_json::from_value(full.clone()).unwrap();
    assert_eq!(serde_json::to_value(&app).unwrap(), full);
}

#[test]
fn empty_status_writes_no_field() {
    assert_eq!(serde_json::to_value(EGAppStatus::default()).unwrap(), json!({}));
}

#[test]
fn stored_word_of_another_version_decodes_as_unknown() {
    let mut future = post_manifest();
    future["spec"]["framework"] = json!("cobol");
    future["spec"]["instanceType"] = json!("gpu");
    future["spec"]["environment"] = json!("moon");
    let spec = serde_json::from_value::<EGApp>(future).unwrap().spec;
    assert_eq!(
        (spec.framework, spec.instance_type, spec.environment),
        (Framework::Unknown, InstanceType::Unknown, Environment::Unknown)
    );
}

#[test]
fn unknown_word_is_never_written_back() {
    assert!(serde_json::to_value(Framework::Unknown).is_err());
    assert!(serde_json::to_value(InstanceType::Unknown).is_err());
    assert!(serde_json::to_value(Environment::Unknown).is_err());
}

#[test]
fn empty_text_decodes_as_unset() {
    let mut app = post_manifest();
    app["spec"]["appId"] = json!("");
    app["spec"]["image"] = json!("");
    let spec = serde_json::from_value::<EGApp>(app).unwrap().spec;
    assert_eq!((spec.app_id, spec.image), (None, None));
}

#[test]
fn quantities_written_as_numbers_decode_as_their_texts() {
    let amounts: ResourceAmounts =
        serde_json::from_value(json!({ "cpu": 2, "memory": 1_073_741_824, "ephemeral-storage": "1Gi" }))
            .unwrap();
    assert_eq!(
        (amounts.cpu.as_deref(), amounts.memory.as_deref(), amounts.ephemeral_storage.as_deref()),
        (Some("2"), Some("1073741824"), Some("1Gi"))
    );
    let nothing: ResourceAmounts = serde_json::from_value(json!({ "cpu": null })).unwrap();
    assert_eq!(nothing, ResourceAmounts::default());
}

#[test]
fn stored_parts_of_another_version_decode_as_nothing() {
    let mut future = post_manifest();
    future["spec"]["env"] = json!([{ "name": "A", "valueFrom": { "vaultRef": { "path": "p" } } }]);
    future["spec"]["envFrom"] = json!([{ "vaultRef": { "path": "p" } }]);
    future["spec"]["readinessProbe"] = json!({ "quic": { "port": 1 } });
    future["spec"]["resources"] = json!({ "requests": { "gpu": "1" }, "claims": [] });
    let spec = serde_json::from_value::<EGApp>(future).unwrap().spec;
    assert_eq!(spec.env[0].value_from, Some(EnvVarSource::default()));
    assert_eq!((&spec.env_from[0].config_map_ref, &spec.env_from[0].secret_ref), (&None, &None));
    assert_eq!(spec.readiness_probe, Some(Probe::default()));
    assert_eq!(spec.resources.unwrap().requests, Some(ResourceAmounts::default()));
}

#[test]
fn missing_framework_or_environment_does_not_decode() {
    for field in ["framework", "environment"] {
        let mut app = post_manifest();
        app["spec"].as_object_mut().unwrap().remove(field);
        let error = serde_json::from_value::<EGApp>(app).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn decoding_agrees_with_the_defaults_of_the_schema() {
    let least: EGAppSpec =
        serde_json::from_value(json!({ "framework": "go", "environment": "dev" })).unwrap();
    let written = serde_json::to_value(&least).unwrap();
    // The API server fills the default of `service` in with those of its fields.
    let defaults = [
        ("instanceType", json!("lowMem"), json!("lowMem")),
        ("replicaCount", json!(1), json!(1)),
        ("suspend", json!(false), json!(false)),
        ("service", json!({}), json!({ "enabled": true, "port": 80 })),
    ];
    for (field, default, decoded) in &defaults {
        assert_eq!(&spec_property(field)["default"], default, "{field} in the schema");
        assert_eq!(&written[*field], decoded, "{field} decoded");
    }
    for (field, schema) in spec_property("service")["properties"].as_object().unwrap() {
        assert_eq!(schema["default"], written["service"][field], "service.{field}");
    }
    let properties = schema()["properties"]["spec"]["properties"].clone();
    let with_default =
        properties.as_object().unwrap().values().filter(|property| property.get("default").is_some()).count();
    assert_eq!(with_default, defaults.len(), "a default that no test knows");
}

#[test]
fn words_of_the_schema_are_the_words_of_the_types() {
    let words = |name: &str| spec_property(name)["enum"].clone();
    assert_eq!(words("framework"), json!(Framework::ALL.map(Framework::as_str)));
    assert_eq!(words("instanceType"), json!(InstanceType::ALL.map(InstanceType::as_str)));
    assert_eq!(words("environment"), json!(Environment::ALL.map(Environment::as_str)));
    assert_eq!(json!(Framework::ALL), words("framework"));
    assert_eq!(json!(InstanceType::ALL), words("instanceType"));
    assert_eq!(json!(Environment::ALL), words("environment"));
}

#[test]
fn constants_name_what_the_derive_names() {
    assert_eq!(EGApp::group(&()), GROUP);
    assert_eq!(EGApp::version(&()), VERSION);
    assert_eq!(EGApp::kind(&()), "EGApp");
    assert_eq!(EGApp::plural(&()), "egapps");
}

#[test]
fn every_reason_is_one_that_the_api_server_accepts() {
    for reason in Reason::ALL {
        let word = reason.as_str();
        assert!(word.starts_with(|c: char| c.is_ascii_uppercase()), "{word}");
        assert!(word.chars().all(|c| c.is_ascii_alphanumeric()) && word.len() <= 1024, "{word}");
    }
}

#[test]
fn statuses_are_those_of_the_condition_schema() {
    let condition = schema()["properties"]["status"]["properties"]["conditions"]["items"].clone();
    let words: Vec<_> = ConditionStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(condition["properties"]["status"]["enum"], json!(words));
}

#[test]
fn condition_is_found_by_its_type() {
    let app: EGAppStatus = serde_json::from_value(json!({ "conditions": [
        { "type": "Stalled", "status": "True", "reason": "Forbidden", "message": "", "lastTransitionTime": "2024-05-06T07:08:09Z" },
        { "type": "Ready", "status": "False", "reason": "Forbidden", "message": "", "lastTransitionTime": "2024-05-06T07:08:09Z" },
    ] }))
    .unwrap();
    assert_eq!(app.condition(ConditionType::Ready).map(|condition| condition.status.as_str()), Some("False"));
    assert_eq!(app.condition(ConditionType::Available), None);
}

/// Every schema below spec and status, with its path.
fn all_schemas() -> Vec<(String, Value)> {
    fn collect(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        found.push((path.to_owned(), schema.clone()));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            collect(&format!("{path}.{name}"), property, found);
        }
        for (inner, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
            if let Some(schema) = schema.get(inner) {
                collect(&format!("{path}{mark}"), schema, found);
            }
        }
    }
    let (schema, mut found) = (schema(), Vec::new());
    for part in ["spec", "status"] {
        collect(part, &schema["properties"][part], &mut found);
    }
    assert!(found.len() > 100, "only {} schemas", found.len());
    found
}

#[test]
fn every_field_is_described() {
    for (path, schema) in all_schemas() {
        let text = schema["description"].as_str().unwrap_or_default();
        let is_entry = path.ends_with("[]") || path.ends_with("{}");
        assert!(is_entry || text.len() > 20, "{path}: {text:?}");
    }
}

#[test]
fn every_list_map_and_free_text_is_bounded() {
    for (path, schema) in all_schemas() {
        let has = |bounds: &[&str]| bounds.iter().any(|bound| schema.get(bound).is_some());
        let is_bounded = match schema["type"].as_str() {
            // A time has one form, up to the digits of its fraction.
            Some("string") if path.ends_with("lastTransitionTime") || path.ends_with("lastFailure.since") => {
                has(&["format"])
            }
            Some("string") => has(&["maxLength", "enum"]),
            Some("array") => has(&["maxItems"]),
            Some("object") => has(&["properties", "maxProperties"]),
            Some(_) => true,
            None => has(&["x-kubernetes-int-or-string"]) && has(&["maxLength", "enum"]),
        };
        assert!(is_bounded, "{path} has no bound: {schema}");
    }
}

#[test]
fn every_list_says_how_two_writers_share_it() {
    for (path, schema) in all_schemas().iter().filter(|(_, schema)| schema["type"] == "array") {
        let keys = &schema["x-kubernetes-list-map-keys"];
        match schema["x-kubernetes-list-type"].as_str() {
            Some("atomic") => {}
            Some("map") => assert!(keys.is_array(), "{path}: {schema}"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn every_rule_has_a_message_for_people() {
    for (path, schema) in all_schemas() {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let message = rule["message"].as_str().unwrap_or_default();
            assert!(message.starts_with("must ") && !message.contains("  "), "{path}: {rule}");
        }
    }
}

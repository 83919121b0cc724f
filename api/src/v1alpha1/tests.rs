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
    full["spec"]["image"] = json!("registry.example.com/team/shop:1");
    full["spec"]["suspend"] = json!(true);
    full["status"] = json!({
        "observedGeneration": 4,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Available", "message": "3 of 3 replicas are available",
            "observedGeneration": 4, "lastTransitionTime": "2024-05-06T07:08:09Z",
        }],
        "desiredReplicas": 3, "replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2,
        "selector": "egplatform.platform.evillgenius.com/egapp=shop",
        "pods": ["shop-a", "shop-b"], "podsOmitted": 1, "image": "registry.example.com/team/shop:1",
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
    let defaults = [("instanceType", json!("lowMem")), ("replicaCount", json!(1)), ("suspend", json!(false))];
    for (field, default) in &defaults {
        assert_eq!(&spec_property(field)["default"], default, "{field} in the schema");
        assert_eq!(&written[*field], default, "{field} decoded");
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

#[test]
fn every_field_is_described() {
    let schema = schema();
    for part in ["spec", "status"] {
        assert!(schema["properties"][part]["description"].is_string(), "{part}");
        for (name, property) in schema["properties"][part]["properties"].as_object().unwrap() {
            let text = property["description"].as_str().unwrap_or_default();
            assert!(text.len() > 20, "{part}.{name}: {text:?}");
        }
    }
}

#[test]
fn every_list_and_every_free_text_is_bounded() {
    fn check(path: &str, schema: &Value) {
        let bounded = match schema["type"].as_str() {
            Some("string") => ["maxLength", "enum", "format"].iter().any(|bound| schema.get(bound).is_some()),
            Some("array") => schema.get("maxItems").is_some(),
            _ => true,
        };
        assert!(bounded, "{path} has no bound");
        check_inner(path, schema);
    }
    fn check_inner(path: &str, schema: &Value) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            check(&format!("{path}.{name}"), property);
        }
        if let Some(items) = schema.get("items") {
            check(&format!("{path}[]"), items);
        }
    }
    for part in ["spec", "status"] {
        check(part, &schema()["properties"][part]);
    }
}

//! The status subresource.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::egapps::{Egapps, is_refused};

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

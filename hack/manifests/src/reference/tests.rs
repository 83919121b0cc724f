//! The page of small schemas of its own, and that of the kind itself.

use egapp_api::v1alpha1::EGApp;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use super::*;

/// The page of a kind whose spec has these properties.
fn page_of(properties: &Value) -> String {
    let spec = json!({ "type": "object", "required": ["must"], "properties": properties });
    let root = json!({ "description": "A test.", "type": "object", "properties": { "spec": spec } });
    let stored =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": root } });
    let crd = json!({
        "metadata": { "name": "tests.example.com" },
        "spec": {
            "group": "example.com", "names": { "kind": "Test", "plural": "tests" }, "scope": "Namespaced",
            "versions": [{ "name": "v0", "served": true, "storage": false }, stored],
        },
    });
    page(&serde_json::from_value(crd).unwrap())
}

#[test]
fn page_names_the_stored_version_and_says_what_the_kind_is() {
    let page = page_of(&json!({}));
    assert!(page.contains("# Test\n\n`apiVersion: example.com/v1`, `kind: Test`\n\nA test.\n"), "{page}");
    assert!(page.contains("| [`spec`](#spec) | object |  |"), "{page}");
}

#[test]
fn row_has_type_bounds_default_text_and_rules() {
    let rules = json!([
        { "rule": "self > 1", "message": "must be odd | even" },
        { "rule": "self.a > 1", "message": "must be a", "fieldPath": ".a" },
    ]);
    let page = page_of(&json!({
        "must": { "type": "string", "maxLength": 5, "enum": ["a", "b"] },
        "number": {
            "type": "integer", "format": "int32", "minimum": 1, "maximum": 9, "default": 3,
            "description": "A\nnumber.\n\nReally.", "x-kubernetes-validations": rules,
        },
        "either": { "x-kubernetes-int-or-string": true },
        "words": { "type": "array", "minItems": 1, "items": {
            "type": "string", "x-kubernetes-validations": [{ "rule": "true", "message": "must be a word" }],
        } },
        "map": { "type": "object", "maxProperties": 2, "additionalProperties": { "type": "boolean" } },
    }));
    for row in [
        "| `must` | string, one of `a` `b`, at most 5 characters | **required** |  |",
        "| `number` | integer (int32), 1 to 9 | `3` | A number.<br>Really.<br>• must be odd \\| even<br>• `a` must be a |",
        "| `either` | integer or string |  |  |",
        "| `words` | list, at least 1 entries, each entry: string |  | • each entry must be a word |",
        "| `map` | map, at most 2 entries, each entry: boolean |  |  |",
    ] {
        assert!(page.lines().any(|line| line == row), "{row}\n{page}");
    }
}

#[test]
fn objects_of_the_same_form_share_a_section() {
    let form = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
    let list = json!({ "type": "array", "items": form, "x-kubernetes-list-map-keys": ["x"] });
    let page = page_of(&json!({ "one": form, "two": form, "list": list }));
    assert_eq!(page.matches("\n## `spec.").count(), 1, "{page}");
    assert!(page.contains("\n## `spec.list[]`\n\nLikewise `spec.one`, `spec.two`.\n"), "{page}");
    assert!(page.contains("| [`list`](#speclist) | list, unique by `x`"), "{page}");
    assert!(page.contains("| [`two`](#speclist) | object |"), "{page}");
}

#[test]
fn every_field_of_the_kind_has_a_row() {
    fn check(page: &str, schema: &Value) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            assert!(page.contains(&format!("`{name}`")), "{name}");
            check(page, field);
            check(page, &field["items"]);
        }
    }
    let crd = EGApp::crd();
    let page = page(&crd);
    check(&page, &serde_json::to_value(&crd).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    assert!(page.contains("## `spec.env[].valueFrom`"), "{page}");
    assert!(page.lines().filter(|line| line.starts_with('|')).all(|line| line.ends_with('|')), "{page}");
}

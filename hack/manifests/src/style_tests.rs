//! The style pass on small schemas of its own.

use serde_json::{Value, json};

use super::*;

/// The schema after the pass, of a CRD whose derived schema is `schema`.
fn restyled(schema: &Value) -> Value {
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let crd = serde_json::from_value(json!({
        "metadata": { "name": "tests.example.com" },
        "spec": {
            "group": "example.com", "names": { "kind": "Test", "plural": "tests" }, "scope": "Namespaced",
            "versions": [version],
        },
    }));
    let crd = serde_json::to_value(controller_gen(crd.unwrap())).unwrap();
    assert_eq!(crd["spec"]["names"]["listKind"], "TestList");
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn null_is_allowed_nowhere() {
    let leaf = json!({ "type": "string", "nullable": true, "enum": ["a", null] });
    let schema = restyled(&json!({ "properties": {
        "spec": { "nullable": true, "properties": { "field": leaf } },
        "list": { "items": leaf },
        "map": { "additionalProperties": leaf },
    } }));
    let clean = json!({ "type": "string", "enum": ["a"] });
    assert_eq!(schema["properties"]["spec"], json!({ "properties": { "field": clean } }));
    assert_eq!(schema["properties"]["list"]["items"], clean);
    assert_eq!(schema["properties"]["map"]["additionalProperties"], clean);
}

#[test]
fn fields_with_the_name_of_a_keyword_stay() {
    let fields = json!({ "title": { "type": "string" }, "nullable": { "type": "boolean" } });
    let schema = restyled(&json!({ "title": "Test", "properties": { "spec": { "properties": fields } } }));
    assert_eq!(schema["properties"]["spec"]["properties"], fields);
    assert_eq!(schema.get("title"), None);
}

#[test]
fn root_requires_the_spec_and_declares_the_type_and_the_metadata() {
    let schema = restyled(&json!({ "properties": { "spec": { "type": "object" } } }));
    assert_eq!(schema["required"], json!(["spec"]));
    assert_eq!(schema["properties"]["metadata"], json!({ "type": "object" }));
    for field in ["apiVersion", "kind"] {
        assert_eq!(schema["properties"][field]["type"], "string");
    }
}

#[test]
fn name_is_declared_where_a_rule_points_at_it() {
    let rule = json!([{ "rule": "self.metadata.name != 'x'", "fieldPath": ".metadata.name" }]);
    let schema = restyled(&json!({ "x-kubernetes-validations": rule }));
    let declared = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    assert_eq!(schema["properties"]["metadata"], declared);
}

#[test]
fn paragraphs_stay_and_their_lines_are_wrapped_anew() {
    assert_eq!(wrap("One\ntwo.\n\nThree\n  four."), "One two.\n\nThree four.");
}

#[test]
fn lines_are_as_full_as_the_width_allows() {
    let full = format!("{} {}", "a".repeat(37), "b".repeat(38));
    assert_eq!(wrap(&format!("{full} c")), format!("{full}\nc"));
    assert_eq!(wrap(&format!("{full}b c")), format!("{}\n{}b c", "a".repeat(37), "b".repeat(38)));
    let long = "l".repeat(TEXT_WIDTH + 1);
    assert_eq!(wrap(&format!("a {long} b")), format!("a\n{long}\nb"));
}

use serde_json::json;

use super::*;
use egapp_api::labels::APP_ID;

fn deployment(digest: &str, labels: &Value, env: &Value) -> Value {
    json!({
        "metadata": { "labels": labels, "annotations": { names::APPLIED_DIGEST: digest, names::APPLIED_TEMPLATE: digest } },
        "spec": { "template": { "spec": { "containers": [{ "name": "app", "env": env }, { "name": "proxy", "image": "p" }] } } },
    })
}

fn env(claimed: &Value) -> Vec<&str> {
    let env = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"app\"}/f:env";
    claimed.pointer(env).unwrap().as_object().unwrap().keys().map(String::as_str).collect()
}

fn labels(claimed: &Value) -> Vec<&str> {
    claimed.pointer("/f:metadata/f:labels").unwrap().as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn of_what_was_applied_last_exactly_that_is_claimed() {
    let wanted = deployment("1", &json!({ "a": "1" }), &json!([{ "name": "A", "value": "1" }]));
    let live = deployment(
        "1",
        &json!({ "a": "1", "b": "2" }),
        &json!([{ "name": "A", "value": "1" }, { "name": "B" }]),
    );
    let claimed = claim(&wanted, &live);
    assert_eq!((env(&claimed), labels(&claimed)), (vec!["k:{\"name\":\"A\"}"], vec!["f:a"]));
    let variable = claimed.to_string();
    assert!(variable.contains(r#""k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}"#), "{variable}");
}

#[test]
fn of_another_wish_all_is_claimed_that_may_have_been_ours() {
    let wanted = deployment("2", &json!({}), &json!([{ "name": "A", "value": "1" }]));
    let all = json!({ "app.kubernetes.io/part-of": "cart", APP_ID: "cart", "catalogue/id": "cart", "team/cost": "1" });
    let live = deployment("1", &all, &json!([{ "name": "A", "value": "1" }, { "name": "B" }]));
    let claimed = claim(&wanted, &live);
    assert_eq!(env(&claimed).len(), 2);
    let id = format!("f:{APP_ID}");
    assert_eq!(labels(&claimed), ["f:app.kubernetes.io/part-of", "f:catalogue/id", id.as_str()]);
    let entry = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"proxy\"}";
    let wanted_alone = json!({ ".": {}, "f:image": {}, "f:name": {} });
    assert_eq!(claimed.pointer(entry), Some(&wanted_alone), "it is in the wish of this test");
}

#[test]
fn pods_of_the_same_template_keep_what_is_not_known_to_be_ours() {
    let mut wanted = deployment("1", &json!({}), &json!([{ "name": "A" }]));
    wanted["metadata"]["annotations"][names::APPLIED_DIGEST] = json!("2");
    let live = deployment("1", &json!({}), &json!([{ "name": "A" }, { "name": "B" }]));
    assert_eq!(env(&claim(&wanted, &live)).len(), 1);
}

#[test]
fn an_entry_is_named_by_its_keys() {
    let ports = json!([{ "port": 80, "name": "http" }]);
    assert_eq!(
        fields(&ports, "ports"),
        json!({ "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {}, "f:port": {} } })
    );
    assert_eq!(fields(&json!({ "args": ["a"] }), ""), json!({ "f:args": {} }));
}

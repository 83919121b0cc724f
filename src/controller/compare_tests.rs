use serde_json::{Value, json};

use super::{differences, first_difference};

fn assert_same(desired: &Value, live: &Value) {
    assert_eq!(first_difference(desired, live), None, "{desired} in {live}");
}

fn assert_differs(path: &str, desired: &Value, live: &Value) {
    assert_eq!(first_difference(desired, live).as_deref(), Some(path), "{desired} in {live}");
}

fn containers(entries: &Value) -> Value {
    json!({ "containers": entries })
}

#[test]
fn what_others_added_is_no_difference() {
    assert_same(&json!({ "a": { "b": 1 } }), &json!({ "a": { "b": 1, "default": true }, "foreign": [] }));
}

#[test]
fn a_missing_or_other_value_is_named_by_its_path() {
    assert_differs(
        "spec.replicas",
        &json!({ "spec": { "replicas": 3 } }),
        &json!({ "spec": { "replicas": 2 } }),
    );
    assert_differs(
        "spec.strategy",
        &json!({ "spec": { "strategy": { "type": "R" } } }),
        &json!({ "spec": {} }),
    );
    assert_differs("a", &json!({ "a": "1" }), &json!({ "a": 1 }));
    assert_differs("a", &json!({ "a": {"b": 1} }), &json!({ "a": "text" }));
}

#[test]
fn all_differences_are_named() {
    let wanted = json!({ "replicas": 1, "template": { "containers": [{ "name": "app", "image": "good", "tty": false }] } });
    let live = json!({ "replicas": 5, "template": { "containers": [{ "name": "app", "image": "evil" }] } });
    let found = differences(&wanted, &live);
    let paths: Vec<_> = found.iter().map(|difference| difference.path.as_str()).collect();
    assert_eq!(paths, ["replicas", "template.containers[app].image"]);
    assert_eq!((&found[1].wanted, &found[1].found), (&json!("good"), &json!("evil")));
    assert!(differences(&wanted, &wanted).is_empty());
}

#[test]
fn zero_values_read_back_absent() {
    let zeros = json!({ "paused": false, "minReadySeconds": 0, "value": "", "args": [], "labels": {}, "nested": { "x": null } });
    assert_same(&zeros, &json!({}));
    assert_differs("paused", &zeros, &json!({ "paused": true }));
    assert_differs("minReadySeconds", &zeros, &json!({ "minReadySeconds": 5 }));
}

#[test]
fn a_flag_that_counts_as_true_where_it_is_absent_differs() {
    for flag in ["allowPrivilegeEscalation", "automountServiceAccountToken", "enableServiceLinks"] {
        assert_same(&json!({ flag: false }), &json!({ flag: false }));
        assert_differs(flag, &json!({ flag: false }), &json!({}));
    }
}

#[test]
fn quantities_are_compared_by_value_and_only_where_quantities_stand() {
    let resources = |cpu: &str| json!({ "resources": { "requests": { "cpu": cpu } } });
    assert_same(&resources("0.5"), &resources("500m"));
    assert_same(&json!({ "limits": { "memory": "1024Mi" } }), &json!({ "limits": { "memory": "1Gi" } }));
    assert_differs("resources.requests.cpu", &resources("0.5"), &resources("501m"));
    assert_differs(
        "labels.size",
        &json!({ "labels": { "size": "0.5" } }),
        &json!({ "labels": { "size": "500m" } }),
    );
}

#[test]
fn no_name_of_a_variable_or_a_label_makes_its_value_a_quantity() {
    for name in ["a.limits[", "limits", "requests", ".requests", "x.limits.y"] {
        let env = |value: &str| json!({ "env": [{ "name": name, "value": value }] });
        assert_differs(&format!("env[{name}].value"), &env("1"), &env("1000m"));
        let labels = |value: &str| json!({ "labels": { name: value } });
        assert_differs(&format!("labels.{name}"), &labels("1"), &labels("1000m"));
    }
}

#[test]
fn a_sidecar_and_its_place_are_no_difference() {
    let desired = containers(&json!([{ "name": "app", "image": "a" }]));
    assert_same(
        &desired,
        &containers(&json!([{ "name": "proxy", "image": "p" }, { "name": "app", "image": "a" }])),
    );
    assert_differs("containers[app].image", &desired, &containers(&json!([{ "name": "app", "image": "b" }])));
    assert_differs("containers[app]", &desired, &containers(&json!([{ "name": "main", "image": "a" }])));
}

#[test]
fn ports_are_found_by_number_and_protocol_which_is_tcp_unless_told() {
    let desired = json!({ "ports": [{ "containerPort": 80, "name": "http" }] });
    let udp = json!({ "containerPort": 80, "protocol": "UDP", "name": "dns" });
    let tcp = json!({ "containerPort": 80, "protocol": "TCP", "name": "http" });
    assert_same(&desired, &json!({ "ports": [udp, tcp] }));
    assert_differs("ports[80]", &desired, &json!({ "ports": [udp] }));
}

#[test]
fn our_variables_stay_in_order_among_those_of_others() {
    let env = |names: &[&str]| json!({ "env": names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() });
    let desired = env(&["A", "B"]);
    assert_same(&desired, &env(&["X", "A", "Y", "B"]));
    assert_differs("env[B]", &desired, &env(&["B", "A"]));
}

#[test]
fn lists_without_keys_are_compared_as_a_whole() {
    let drop = |names: &[&str]| json!({ "drop": names });
    assert_same(&drop(&["ALL"]), &drop(&["ALL"]));
    assert_differs("drop[0]", &drop(&["ALL"]), &drop(&["NET_RAW"]));
    assert_differs("drop", &drop(&["ALL"]), &drop(&["ALL", "NET_RAW"]));
    assert_differs("drop", &drop(&["ALL"]), &json!({}));
}

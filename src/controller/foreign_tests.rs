use serde_json::{Value, json};

use super::removals;

fn pod(container: &Value) -> Value {
    let mut container = container.clone();
    container["name"] = json!("app");
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "sidecar", "ports": [{ "containerPort": 1 }] }, container] } } } })
}

fn removed(desired: &Value, live: &Value) -> Vec<String> {
    removals(&pod(desired), &pod(live), "app")
        .iter()
        .map(|operation| operation["path"].as_str().unwrap().replace("/spec/template/spec/containers/1", ""))
        .collect()
}

#[test]
fn what_contradicts_nothing_stays() {
    let desired = json!({ "env": [{ "name": "A", "value": "1" }], "ports": [{ "containerPort": 8080 }] });
    let mut live = desired.clone();
    live["env"] = json!([{ "name": "FOREIGN", "valueFrom": { "x": 1 } }, { "name": "A", "value": "1" }]);
    live["ports"][0]["protocol"] = json!("TCP");
    live["volumeMounts"] = json!([{ "mountPath": "/x" }]);
    live["terminationMessagePath"] = json!("/dev/termination-log");
    assert!(removed(&desired, &live).is_empty());
}

#[test]
fn a_probe_with_another_handler_is_taken_out() {
    let desired = json!({ "readinessProbe": { "tcpSocket": { "port": 1 } } });
    let live = json!({ "readinessProbe": { "httpGet": { "port": 1 } }, "livenessProbe": { "exec": { "command": ["x"] } } });
    assert_eq!(removed(&desired, &live), ["/readinessProbe", "/livenessProbe"]);
}

#[test]
fn another_source_of_our_variable_is_taken_out() {
    let desired = json!({ "env": [{ "name": "A", "value": "1" }] });
    let live =
        json!({ "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }] });
    assert_eq!(removed(&desired, &live), ["/env/0/valueFrom"]);
}

#[test]
fn foreign_ports_are_taken_out_from_the_last_to_the_first() {
    let desired = json!({ "ports": [{ "containerPort": 8080 }] });
    let live = json!({ "ports": [{ "containerPort": 81 }, { "containerPort": 8080, "protocol": "TCP" }, { "containerPort": 82 }] });
    assert_eq!(removed(&desired, &live), ["/ports/2", "/ports/0"]);
    assert_eq!(removed(&json!({}), &live), ["/ports/2", "/ports/1", "/ports/0"], "a worker has none");
}

#[test]
fn privileges_that_we_do_not_give_are_taken_out() {
    let desired = json!({ "securityContext": { "capabilities": { "drop": ["ALL"] }, "privileged": false } });
    let live = json!({ "securityContext": {
        "capabilities": { "drop": ["ALL"], "add": ["SYS_ADMIN"] }, "runAsUser": 0, "privileged": true, "procMount": "Default",
    } });
    assert_eq!(removed(&desired, &live), ["/securityContext/runAsUser", "/securityContext/capabilities/add"]);
}

#[test]
fn foreign_ports_of_a_service_are_replaced_at_once() {
    let desired = json!({ "spec": { "ports": [{ "port": 80, "protocol": "TCP" }] } });
    let live = json!({ "spec": { "ports": [{ "port": 81, "protocol": "TCP" }] } });
    let operations = removals(&desired, &live, "app");
    assert_eq!(
        operations,
        [json!({ "op": "replace", "path": "/spec/ports", "value": desired["spec"]["ports"] })]
    );
    assert!(removals(&desired, &desired, "app").is_empty());
}

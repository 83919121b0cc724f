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

/// Paths below the pod's spec that go.
fn removed_from_pod(desired: &Value, live: &Value) -> Vec<String> {
    let object = |pod: &Value| json!({ "spec": { "template": { "spec": pod } } });
    removals(&object(desired), &object(live), "app")
        .iter()
        .map(|operation| operation["path"].as_str().unwrap().replace("/spec/template/spec", ""))
        .collect()
}

#[test]
fn amounts_that_contradict_ours_are_taken_out_and_others_stay() {
    let desired = json!({ "resources": {
        "requests": { "cpu": "500m", "memory": "1Gi" }, "limits": { "memory": "1Gi", "ephemeral-storage": "1Gi" },
    } });
    let live =
        |requests: Value, limits: Value| json!({ "resources": { "requests": requests, "limits": limits } });
    let low = live(json!({ "ephemeral-storage": "1025Mi" }), json!({ "cpu": "0.4", "memory": "1Mi" }));
    assert_eq!(
        removed(&desired, &low),
        ["/resources/requests/ephemeral-storage", "/resources/limits/cpu"],
        "the limit of memory is ours, and applied"
    );
    let high = live(json!({ "ephemeral-storage": "1Gi", "example.com/gpu": "1" }), json!({ "cpu": "0.5" }));
    assert!(removed(&desired, &high).is_empty());
}

#[test]
fn another_seccomp_profile_amounts_of_the_whole_pod_and_options_of_windows_are_taken_out() {
    let context = |profile: Value| json!({ "securityContext": { "seccompProfile": profile } });
    let desired = context(json!({ "type": "RuntimeDefault" }));
    let mut live = context(json!({ "type": "Localhost", "localhostProfile": "p" }));
    live["securityContext"]["windowsOptions"] = json!({ "hostProcess": true });
    live["securityContext"]["fsGroup"] = json!(1);
    live["resources"] = json!({ "limits": { "cpu": "1" } });
    assert_eq!(
        removed_from_pod(&desired, &live),
        ["/securityContext/windowsOptions", "/securityContext/seccompProfile", "/resources"]
    );
}

#[test]
fn an_account_that_we_do_not_name_is_taken_out_under_both_names() {
    let live = json!({ "serviceAccountName": "admin", "serviceAccount": "admin" });
    assert_eq!(removed_from_pod(&json!({}), &live), ["/serviceAccountName", "/serviceAccount"]);
    assert!(removed_from_pod(&json!({ "serviceAccountName": "robot" }), &live).is_empty(), "ours is applied");
}

#[test]
fn a_foreign_hook_that_outsleeps_our_grace_period_is_taken_out() {
    let pod = |hook: Value| json!({ "terminationGracePeriodSeconds": 30, "containers": [{ "name": "app", "lifecycle": hook }] });
    let sleep = |seconds: i64| json!({ "sleep": { "seconds": seconds } });
    let removed = |ours: Value, theirs: Value| removed_from_pod(&pod(ours), &pod(theirs));
    let long = json!({ "preStop": sleep(30), "postStart": sleep(31) });
    let path = "/containers/0/lifecycle";
    assert_eq!(removed(json!({}), long), [format!("{path}/preStop"), format!("{path}/postStart")]);
    assert!(removed(json!({}), json!({ "preStop": sleep(29), "postStart": { "exec": {} } })).is_empty());
    let ours = json!({ "preStop": sleep(5) });
    assert!(removed(ours.clone(), json!({ "preStop": sleep(60) })).is_empty(), "ours is applied");
    assert_eq!(removed(ours, json!({ "preStop": { "exec": {} } })), [format!("{path}/preStop")]);
}

#[test]
fn foreign_members_of_our_own_port_and_spread_are_taken_out() {
    let desired = json!({ "ports": [{ "containerPort": 8080, "protocol": "TCP" }] });
    let live = json!({ "ports": [{ "containerPort": 8080, "protocol": "TCP", "hostPort": 80 }] });
    assert_eq!(removed(&desired, &live), ["/ports/0/hostPort"]);
    let spread = |more: Value| {
        let mut entry = json!({ "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": { "matchLabels": { "a": "b" } } });
        entry["labelSelector"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "topologySpreadConstraints": [entry] })
    };
    assert_eq!(
        removed_from_pod(&spread(json!({})), &spread(json!({ "matchExpressions": [{ "key": "c" }] }))),
        ["/topologySpreadConstraints/0/labelSelector/matchExpressions"]
    );
}

#[test]
fn a_budget_says_what_we_say_and_nothing_else() {
    let desired = json!({ "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "a": "b" } } } });
    let mut live = desired.clone();
    live["spec"]["minAvailable"] = json!(1);
    live["spec"]["selector"]["matchLabels"]["x/y"] = json!("c");
    let removed: Vec<_> =
        removals(&desired, &live, "app").iter().map(|removal| removal["path"].clone()).collect();
    assert_eq!(removed, ["/spec/selector/matchLabels/x~1y", "/spec/minAvailable"]);
}

#[test]
fn what_makes_a_service_lead_nowhere_or_of_another_type_is_taken_out() {
    let desired =
        json!({ "spec": { "ports": [{ "port": 80 }], "selector": { "a": "b" }, "type": "ClusterIP" } });
    let mut live = desired.clone();
    live["spec"]["selector"]["x"] = json!("y");
    live["spec"]["loadBalancerSourceRanges"] = json!(["10.0.0.0/8"]);
    live["spec"]["sessionAffinity"] = json!("ClientIP");
    let removed: Vec<_> =
        removals(&desired, &live, "app").iter().map(|removal| removal["path"].clone()).collect();
    assert_eq!(removed, ["/spec/loadBalancerSourceRanges", "/spec/selector/x"]);
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

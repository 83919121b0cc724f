//! Fake nodes: big, labelled as a cloud labels them, played by kwok. Pure.

use serde_json::{Value, json};

/// kwok manages the nodes with this annotation.
pub(crate) const ANNOTATION: &str = "kwok.x-k8s.io/node";

const ZONES: [(&str, &str); 3] =
    [("fake-node-a", "zone-a"), ("fake-node-b", "zone-b"), ("fake-node-c", "zone-c")];

/// How many there are.
pub(crate) const COUNT: usize = ZONES.len();

/// All fake nodes as one list.
pub(crate) fn manifest() -> String {
    let nodes: Vec<Value> = ZONES.iter().map(|(name, zone)| node(name, zone)).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": nodes}).to_string()
}

fn node(name: &str, zone: &str) -> Value {
    let size = json!({"cpu": "1000", "memory": "4Ti", "ephemeral-storage": "10Ti", "pods": "5000"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": "region-a",
                "topology.kubernetes.io/zone": zone,
            },
        },
        "status": {"capacity": size, "allocatable": size},
    })
}

/// Whether pods can run: every node is ready and carries no taint. `list` is what `kubectl get nodes` answers.
pub(crate) fn are_ready(list: &Value) -> bool {
    let nodes = list.pointer("/items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    nodes.len() >= COUNT && nodes.iter().all(is_ready)
}

fn is_ready(node: &Value) -> bool {
    let untainted = node.pointer("/spec/taints").is_none();
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().any(|condition| {
        condition.get("type").is_some_and(|kind| kind == "Ready")
            && condition.get("status").is_some_and(|status| status == "True")
    });
    untainted && ready
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize, status: &str, taints: &Value) -> Value {
        let node = json!({
            "spec": if taints.is_null() { json!({}) } else { json!({"taints": taints}) },
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        });
        json!({"items": vec![node; count]})
    }

    #[test]
    fn nodes_are_ready_when_all_are_there_ready_and_untainted() {
        let tainted = json!([{"key": "node.kubernetes.io/not-ready"}]);
        assert!(are_ready(&nodes(COUNT, "True", &Value::Null)));
        assert!(!are_ready(&nodes(COUNT - 1, "True", &Value::Null)));
        assert!(!are_ready(&nodes(COUNT, "False", &Value::Null)));
        assert!(!are_ready(&nodes(COUNT, "True", &tainted)));
    }
}

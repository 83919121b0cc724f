//! The CRD beside what controller-gen writes for Go types with the same fields (`testdata/controller-gen-crd.yaml`,
//! controller-gen 0.23). Whatever differs stands in [`DIFFERENCES`] with its reason.

use std::collections::BTreeSet;

use manifests::manifests;
use serde_json::Value;

/// `spec.versions[0].schema.openAPIV3Schema.properties`, in short.
const FIELDS: &str = "@";

/// Every path that may differ, and why. One that no longer differs has to go.
const DIFFERENCES: &[(&str, &str)] = &[
    ("metadata.annotations", "names the tool that wrote the file, which is another one"),
    ("spec.names.categories", "`kubectl get all` and `kubectl get egplatform` list EGApps"),
    ("spec.versions[0].additionalPrinterColumns", "our columns; the oracle has its own"),
    ("spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations", "a name must fit the app's Service"),
    ("@.metadata.properties", "lets those rules name the field"),
    ("@.spec.properties.appId.maxLength", "it becomes a label value"),
    ("@.spec.properties.appId.x-kubernetes-validations", "it becomes a label value"),
    ("@.spec.properties.replicaCount.maximum", "what no cluster can run is a slip of the keyboard"),
    ("@.spec.properties.autoscaling", "a field of ours"),
    ("@.spec.properties.image", "a field of ours"),
    ("@.spec.properties.command", "a field of ours"),
    ("@.spec.properties.args", "a field of ours"),
    ("@.spec.properties.port", "a field of ours"),
    ("@.spec.properties.env", "a field of ours"),
    ("@.spec.properties.envFrom", "a field of ours"),
    ("@.spec.properties.resources", "a field of ours"),
    ("@.spec.properties.livenessProbe", "a field of ours"),
    ("@.spec.properties.readinessProbe", "a field of ours"),
    ("@.spec.properties.startupProbe", "a field of ours"),
    ("@.spec.properties.imagePullSecrets", "a field of ours"),
    ("@.spec.properties.serviceAccountName", "a field of ours"),
    ("@.spec.properties.runAsUser", "a field of ours"),
    ("@.spec.properties.service", "a field of ours"),
    ("@.spec.properties.restartedAt", "a field of ours"),
    ("@.spec.properties.suspend", "a field of ours"),
    ("@.status.default", "kstatus must not take a brand-new app for a finished one"),
    ("@.status.properties.conditions.maxItems", "every list is bounded"),
    ("@.status.properties.desiredReplicas", "a field of ours"),
    ("@.status.properties.updatedReplicas", "a field of ours"),
    ("@.status.properties.availableReplicas", "a field of ours"),
    ("@.status.properties.image", "a field of ours"),
    ("@.status.properties.resources", "a field of ours"),
    ("@.status.properties.podsOmitted", "a field of ours"),
    ("@.status.properties.lastFailure", "a field of ours"),
    ("@.status.properties.pods.maxItems", "every list is bounded"),
    ("@.status.properties.pods.items.maxLength", "every text is bounded"),
    ("@.status.properties.selector.maxLength", "every text is bounded"),
];

#[test]
fn crd_differs_from_controller_gen_only_where_it_is_meant_to() {
    let oracle = serde_saphyr::from_str(include_str!("testdata/controller-gen-crd.yaml")).unwrap();
    let manifests = manifests().unwrap();
    let ours = manifests.iter().find(|manifest| manifest.path.starts_with("config/crd/bases/")).unwrap();
    let mut found = BTreeSet::new();
    differences("", &oracle, &serde_saphyr::from_str(&ours.text).unwrap(), &mut found);

    let allowed: BTreeSet<_> = DIFFERENCES.iter().map(|(path, _)| full(path)).collect();
    let unexpected: Vec<_> = found.difference(&allowed).collect();
    let stale: Vec<_> = allowed.difference(&found).collect();
    assert!(unexpected.is_empty(), "differs from controller-gen without a reason: {unexpected:#?}");
    assert!(stale.is_empty(), "listed, but does not differ: {stale:#?}");
}

#[test]
fn every_kind_of_difference_is_found() {
    let left = serde_json::json!({ "same": 1, "gone": 1, "type": 1, "list": [1, 2], "enum": ["a", "b"], "in": [{ "x": 1 }] });
    let right = serde_json::json!({ "same": 1, "new": 1, "type": 1.0, "list": [2, 1], "enum": ["b", "a"], "in": [{ "x": 2 }] });
    let mut found = BTreeSet::new();
    differences("", &left, &right, &mut found);
    assert_eq!(found, ["gone", "new", "type", "list[0]", "list[1]", "in[0].x"].map(String::from).into());
}

fn full(path: &str) -> String {
    path.replace(FIELDS, "spec.versions[0].schema.openAPIV3Schema.properties")
}

/// Adds the paths at which two values differ. A description is ours to word, so only its presence counts; the order
/// of a list that means a set does not count.
fn differences(path: &str, left: &Value, right: &Value, found: &mut BTreeSet<String>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (a.get(key), b.get(key)) {
                    (Some(Value::String(_)), Some(Value::String(_))) if key == "description" => {}
                    (Some(a), Some(b)) if is_set(key) && same_set(a, b) => {}
                    (Some(a), Some(b)) => differences(&path, a, b, found),
                    _ => {
                        found.insert(path);
                    }
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{index}]"), a, b, found);
            }
        }
        (a, b) if a == b => {}
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn is_set(key: &str) -> bool {
    ["required", "enum", "shortNames", "categories"].contains(&key)
}

fn same_set(left: &Value, right: &Value) -> bool {
    let sorted = |value: &Value| {
        let mut items: Vec<_> = value.as_array()?.iter().map(Value::to_string).collect();
        items.sort();
        Some(items)
    };
    left.is_array() && sorted(left) == sorted(right)
}

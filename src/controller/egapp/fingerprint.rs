//! What this build of the operator makes of EGApps, as one number: two builds of one version may differ, and two versions
//! may not. Pure.

use serde_json::json;

use super::desired::desired;
use super::replicas::Replicas;
use super::validate::validate;
use crate::hash::fnv1a;
use crate::platform::Platform;
use egapp_api::v1alpha1::{EGApp, Environment, Framework};

/// A number that differs where another build makes other pods of an EGApp, as far as a few of them show that.
#[must_use]
pub fn fingerprint() -> u64 {
    let platform = Platform::built_in();
    let pairs = Framework::ALL
        .into_iter()
        .flat_map(|framework| Environment::ALL.into_iter().map(move |environment| (framework, environment)));
    let templates = pairs.flat_map(|(framework, environment)| {
        [json!({}), full()].map(|spec| {
            let app = app(framework, environment, spec)?;
            let children = desired(&validate(&app, &platform).ok()?, Replicas::Ours(1));
            children.template()
        })
    });
    fnv1a(format!("{:x?}", templates.collect::<Vec<_>>()).as_bytes())
}

fn app(framework: Framework, environment: Environment, mut spec: serde_json::Value) -> Option<EGApp> {
    let fields = spec.as_object_mut()?;
    fields.insert("framework".to_owned(), framework.as_str().into());
    fields.insert("environment".to_owned(), environment.as_str().into());
    serde_json::from_value(json!({
        "apiVersion": "egplatform.platform.evillgenius.com/v1alpha1", "kind": "EGApp",
        "metadata": { "name": "a", "namespace": "n", "uid": "u" }, "spec": spec,
    }))
    .ok()
}

/// With every kind of field.
fn full() -> serde_json::Value {
    let probe = json!({ "httpGet": { "path": "/" } });
    json!({
        "appId": "cart", "instanceType": "balanced", "image": "registry.example.com/team/cart:1", "command": ["run"],
        "args": ["all"], "port": 8000, "env": [{ "name": "LEVEL", "value": "debug" }],
        "envFrom": [{ "configMapRef": { "name": "cart" } }], "resources": { "cpu": "1", "memory": "1Gi" },
        "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe,
        "imagePullSecrets": [{ "name": "pull" }], "serviceAccountName": "cart", "runAsUser": 1000,
        "restartedAt": "2024-05-06T07:08:09Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_an_egapp_that_the_operator_can_make_pods_of() {
        let platform = Platform::built_in();
        for framework in Framework::ALL {
            let app = app(framework, Environment::Prod, full()).unwrap();
            assert!(validate(&app, &platform).is_ok());
        }
        assert_eq!(fingerprint(), fingerprint());
    }
}

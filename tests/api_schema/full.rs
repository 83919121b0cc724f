//! Specs that hold every field there is.

use serde_json::{Value, json};

/// As many as a probe has ways to ask, so that each way is in each probe once.
pub(crate) fn full_specs() -> [Value; 4] {
    [0, 1, 2, 3].map(|turn| {
        let [liveness, readiness, startup] = [0, 1, 2].map(|probe| {
            let mut actions = actions();
            actions.rotate_left((turn + probe) % 4);
            let [(handler, action), ..] = actions;
            json!({
                handler: action, "initialDelaySeconds": 1, "periodSeconds": 2, "timeoutSeconds": 3, "successThreshold": 1,
                "failureThreshold": 4,
            })
        });
        json!({
            "appId": "shop", "framework": "java", "instanceType": "balanced", "environment": "prod", "replicaCount": 2,
            "image": "registry.example.com/shop:1", "command": ["sh", "-c"], "args": ["sleep 5"], "port": 9000,
            "env": env(),
            "envFrom": [
                { "configMapRef": { "name": "c", "optional": true }, "prefix": "C_" },
                { "secretRef": { "name": "s", "optional": false }, "prefix": "S_" },
            ],
            "resources": {
                "requests": { "cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi" },
                "limits": { "cpu": 2, "memory": "2Gi", "ephemeral-storage": "2Gi" },
            },
            "livenessProbe": liveness, "readinessProbe": readiness, "startupProbe": startup,
            "imagePullSecrets": [{ "name": "registry" }], "serviceAccountName": "shop", "runAsUser": 1000,
            "service": { "enabled": false, "port": 8080 },
            "autoscaling": { "minReplicas": 2, "maxReplicas": 9, "targetCPUUtilizationPercentage": 70 },
            "restartedAt": "2024-05-06T07:08:09Z", "suspend": true,
        })
    })
}

fn actions() -> [(&'static str, Value); 4] {
    let header = json!({ "name": "Host", "value": "shop" });
    [
        ("httpGet", json!({ "path": "/ready", "port": 9001, "scheme": "HTTP", "httpHeaders": [header] })),
        ("tcpSocket", json!({ "port": 9002 })),
        ("exec", json!({ "command": ["true"] })),
        ("grpc", json!({ "port": 9003, "service": "shop" })),
    ]
}

fn env() -> Value {
    json!([
        { "name": "PLAIN", "value": "text" },
        { "name": "FIELD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        { "name": "AMOUNT", "valueFrom": { "resourceFieldRef": { "resource": "limits.memory", "divisor": "1Mi" } } },
        { "name": "ENTRY", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "k", "optional": true } } },
        { "name": "SECRET", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k", "optional": false } } },
    ])
}

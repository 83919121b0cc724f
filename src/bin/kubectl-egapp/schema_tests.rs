//! What a file says, and what is made of it.

use serde_json::{Value, json};

use super::schema::{complete, spec};

fn completed(mut value: Value) -> Result<Value, Vec<String>> {
    let mut problems = Vec::new();
    complete(&mut value, &spec(), "spec", &mut problems);
    if problems.is_empty() { Ok(value) } else { Err(problems) }
}

#[test]
fn defaults_are_those_of_the_crd() {
    let app =
        completed(json!({ "framework": "go", "environment": "dev", "autoscaling": { "maxReplicas": 3 } }))
            .unwrap();
    assert_eq!(
        app,
        json!({
            "framework": "go", "environment": "dev", "instanceType": "lowMem", "replicaCount": 1, "suspend": false,
            "service": { "enabled": true, "port": 80 },
            "autoscaling": { "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 80 },
        })
    );
}

#[test]
fn everything_that_is_wrong_is_named_with_its_path() {
    let problems = completed(json!({
        "framework": "cobol", "replicaCount": -1, "imagee": "a", "env": [{ "name": "A", "valu": "b" }], "suspend": "yes",
    }))
    .unwrap_err();
    let starts = [
        "spec.environment is missing",
        "spec.env[0].valu is not a field; allowed here: name, value, valueFrom",
        "spec.framework is \"cobol\"; use one of java, python, go",
        "spec.imagee is not a field; allowed here: appId, args,",
        "spec.replicaCount is -1; it must be 0 or more",
        "spec.suspend is \"yes\"; it must be of type boolean",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}, not {start}");
    }
}

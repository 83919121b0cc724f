//! `spec.resources`.

use serde_json::{Value, json};

use crate::egapps::Egapps;

fn requests(resource: &str, amount: Value) -> Value {
    json!({ "resources": { "requests": { resource: amount } } })
}

fn limits(resource: &str, amount: Value) -> Value {
    json!({ "resources": { "limits": { resource: amount } } })
}

#[tokio::test]
async fn quantities_of_kubernetes_are_accepted() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let cpu = ["0", "1m", "250m", "0.5", ".5", "2.", "+2", "1e3", "100n", "1M"].map(|amount| json!(amount));
    let bytes = ["0", "256Mi", "1.5Gi", "1e9", "123456789", "1Pi", "0.1Ki"].map(|amount| json!(amount));
    apps.keeps(cpu.into_iter().chain([json!(0), json!(2)]).map(|amount| requests("cpu", amount))).await;
    for resource in ["memory", "ephemeral-storage"] {
        let amounts = bytes.clone().into_iter().chain([json!(1_073_741_824)]);
        apps.keeps(amounts.map(|amount| requests(resource, amount))).await;
    }
    apps.keeps([json!({ "resources": {} }), json!({ "resources": { "limits": {}, "requests": {} } })]).await;
}

#[tokio::test]
async fn what_is_no_amount_of_cpu_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let words = "must be a number of CPUs from 0 to 1M (a million), such as 250m, 0.5 or 2";
    let amounts =
        ["", " ", "two", "1 ", "-1", "-100m", "1..2", "1mi", "1e", "0x10", "1e99", "2M", "٣", "NaN"];
    apps.refuses(
        amounts.map(|amount| (requests("cpu", json!(amount)), "spec.resources.requests.cpu", words)),
    )
    .await;
    apps.refuses([
        (limits("cpu", json!(-1)), "spec.resources.limits.cpu", words),
        (limits("cpu", json!(i64::MAX)), "spec.resources.limits.cpu", words),
        (limits("cpu", json!(0.5)), "spec.resources.limits.cpu", "must be of type integer,string"),
        (
            limits("cpu", json!("1".repeat(33))),
            "spec.resources.limits.cpu",
            "Too long: may not be more than 32",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_is_no_number_of_bytes_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let words = "must be a number of bytes from 0 to 1Pi, such as 256Mi or 2Gi; the suffix m would mean";
    for resource in ["memory", "ephemeral-storage"] {
        let at = format!("spec.resources.requests.{resource}");
        let amounts =
            ["", "256MB", "1Gb", "128m", "5u", "5n", "-1Gi", "1 Gi", "2Pi", "1e30", "999999999999999999999"];
        apps.refuses(amounts.map(|amount| (requests(resource, json!(amount)), at.as_str(), words))).await;
    }
}

#[tokio::test]
async fn a_request_above_its_limit_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let both = |resource: &str, request: Value, limit: Value| json!({ "resources": { "requests": { resource: request }, "limits": { resource: limit } } });
    apps.refuses([
        (
            both("cpu", json!(2), json!("1999m")),
            "spec.resources.requests.cpu",
            "must not be more than limits.cpu",
        ),
        (
            both("memory", json!("1025Mi"), json!("1Gi")),
            "spec.resources.requests.memory",
            "must not be more than limits.memory",
        ),
        (
            both("ephemeral-storage", json!("1Gi"), json!("1G")),
            "spec.resources.requests.ephemeral-storage",
            "must not be more than limits.ephemeral-storage",
        ),
    ])
    .await;
    apps.keeps([
        both("cpu", json!("1000m"), json!(1)),
        both("memory", json!("1024Mi"), json!("1Gi")),
        json!({ "resources": { "requests": { "cpu": "4" }, "limits": { "memory": "1Gi" } } }),
    ])
    .await;
}

#[tokio::test]
async fn a_limit_that_means_none_or_starts_nothing_is_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.refuses([
        (limits("cpu", json!(0)), "spec.resources.limits.cpu", "must be 1m or more"),
        (limits("memory", json!("0")), "spec.resources.limits.memory", "must be 1Mi or more"),
        (limits("memory", json!(512)), "spec.resources.limits.memory", "must be 1Mi or more"),
        (
            limits("ephemeral-storage", json!("1023Ki")),
            "spec.resources.limits.ephemeral-storage",
            "must be 1Mi or more",
        ),
    ])
    .await;
    apps.keeps([limits("cpu", json!("1m")), limits("memory", json!("1Mi"))]).await;
}

#[tokio::test]
async fn other_resources_are_dropped() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let fields = json!({ "limits": { "example.com/gpu": 1, "cpu": "1" }, "claims": [{ "name": "c" }] });
    let app = apps.try_spec(json!({ "resources": fields })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["resources"], json!({ "limits": { "cpu": "1" } }));
}

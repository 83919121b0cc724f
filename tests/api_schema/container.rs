//! What else describes the container, the pod and the Service.

use serde_json::{Value, json};

use crate::egapps::Egapps;

#[tokio::test]
async fn commands_and_arguments_are_kept_as_they_are() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.keeps([
        json!({ "command": [], "args": [] }),
        json!({ "command": ["sh", "-c", "echo \"$(POD_NAME)\"\n"], "args": ["", " ", "\u{1F980}", "same", "same"] }),
        json!({ "args": vec!["a".repeat(64); 256] }),
        json!({ "args": ["a".repeat(16_384)], "command": ["\u{1F980}".repeat(4096)] }),
    ])
    .await;
}

#[tokio::test]
async fn commands_that_start_nothing_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.refuses([
        (json!({ "command": [""] }), "spec.command", "must start with the name of a program"),
        (json!({ "command": ["", "a"] }), "spec.command", "must start with the name of a program"),
        (json!({ "command": "sleep 5" }), "spec.command", "must be of type array"),
    ])
    .await;
    for field in ["command", "args"] {
        let (list, entry) = (format!("spec.{field}"), format!("spec.{field}[1]"));
        apps.refuses([
            (json!({ field: ["a", "\0"] }), entry.as_str(), "must not contain the character NUL"),
            (
                json!({ field: ["a", "a".repeat(16_385)] }),
                entry.as_str(),
                "Too long: may not be more than 16384",
            ),
            (json!({ field: ["a", 1] }), entry.as_str(), "must be of type string"),
            (json!({ field: vec!["a"; 257] }), list.as_str(), "Too many: 257: must have at most 256 items"),
            (
                json!({ field: vec!["a".repeat(65); 256] }),
                list.as_str(),
                "must have no more than 16384 bytes together",
            ),
            (
                json!({ field: ["a", "\u{1F980}".repeat(4096)] }),
                list.as_str(),
                "must have no more than 16384 bytes together",
            ),
        ])
        .await;
    }
}

#[tokio::test]
async fn ports_are_numbers_of_ports() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let port = |value: Value| json!({ "port": value });
    apps.keeps([port(json!(1)), port(json!(65535))]).await;
    apps.refuses([
        (port(json!(0)), "spec.port", "should be greater than or equal to 1"),
        (port(json!(65536)), "spec.port", "should be less than or equal to 65535"),
        (port(json!("http")), "spec.port", "must be of type integer"),
        (port(json!(80.5)), "spec.port", "must be of type int32"),
    ])
    .await;
}

#[tokio::test]
async fn root_is_no_user() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    apps.keeps([json!({ "runAsUser": 1 }), json!({ "runAsUser": i32::MAX })]).await;
    apps.refuses([
        (json!({ "runAsUser": 0 }), "spec.runAsUser", "should be greater than or equal to 1"),
        (json!({ "runAsUser": -1 }), "spec.runAsUser", "should be greater than or equal to 1"),
        (
            json!({ "runAsUser": 2_147_483_648_i64 }),
            "spec.runAsUser",
            "should be less than or equal to 2147483647",
        ),
        (json!({ "runAsUser": "nobody" }), "spec.runAsUser", "must be of type integer"),
    ])
    .await;
}

#[tokio::test]
async fn pull_secrets_are_named_once_each() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let secrets = |names: &[&str]| json!({ "imagePullSecrets": names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() });
    apps.keeps([secrets(&["b", "a.registry"]), secrets(&[])]).await;
    apps.refuses([
        (secrets(&["a", "b", "a"]), "spec.imagePullSecrets[2]", "Duplicate value"),
        (
            secrets(&["A"]),
            "spec.imagePullSecrets[0].name",
            "must be the name of an object: lower-case letters",
        ),
        (secrets(&[""]), "spec.imagePullSecrets[0].name", "must be the name of an object"),
        (json!({ "imagePullSecrets": [{}] }), "spec.imagePullSecrets[0].name", "Required value"),
        (json!({ "imagePullSecrets": ["a"] }), "spec.imagePullSecrets[0]", "must be of type object"),
    ])
    .await;
}

#[tokio::test]
async fn service_account_is_empty_or_the_name_of_one() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let account = |name: &str| json!({ "serviceAccountName": name });
    let (longest, too_long) = ("a".repeat(253), "a".repeat(254));
    apps.keeps(["", "shop", "shop.v2", &longest].map(account)).await;
    let words = "must be empty or the name of an object: lower-case letters";
    apps.refuses(
        ["Shop", "a_b", "a/b", " ", "é"].map(|name| (account(name), "spec.serviceAccountName", words)),
    )
    .await;
    apps.refuses([(account(&too_long), "spec.serviceAccountName", "Too long: may not be more than 253")])
        .await;
}

#[tokio::test]
async fn half_a_service_is_filled_in() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for (given, stored) in [
        (json!({}), json!({ "enabled": true, "port": 80 })),
        (json!(null), json!({ "enabled": true, "port": 80 })),
        (json!({ "port": 8080 }), json!({ "enabled": true, "port": 8080 })),
        (json!({ "enabled": false }), json!({ "enabled": false, "port": 80 })),
        (json!({ "enabled": null, "port": null }), json!({ "enabled": true, "port": 80 })),
    ] {
        let app = apps.try_spec(json!({ "service": given })).await.unwrap().unwrap();
        assert_eq!(app["spec"]["service"], stored, "{given}");
    }
    apps.refuses([
        (json!({ "service": { "port": 0 } }), "spec.service.port", "should be greater than or equal to 1"),
        (
            json!({ "service": { "port": 65536 } }),
            "spec.service.port",
            "should be less than or equal to 65535",
        ),
        (json!({ "service": { "port": "http" } }), "spec.service.port", "must be of type integer"),
        (json!({ "service": { "enabled": "no" } }), "spec.service.enabled", "must be of type boolean"),
        (json!({ "service": false }), "spec.service", "must be of type object"),
    ])
    .await;
}

#[tokio::test]
async fn restart_is_asked_for_by_a_time() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let at = |time: &str| json!({ "restartedAt": time });
    apps.keeps(["2024-05-06T07:08:09Z", "2024-05-06T07:08:09.123456+02:00"].map(at)).await;
    let words = "must be a time such as 2026-02-03T04:05:06Z";
    let times = ["", "now", "2024-05-06", "1714979289", "2024-13-06T07:08:09Z", "2024-05-06t07:08:09z"];
    apps.refuses(times.map(|time| (at(time), "spec.restartedAt", words))).await;
    apps.refuses([(json!({ "restartedAt": [] }), "spec.restartedAt", "must be of type string")]).await;
    let long = format!("2024-05-06T07:08:09.{}Z", "0".repeat(64));
    apps.refuses([(at(&long), "spec.restartedAt", "Too long: may not be more than 64")]).await;
}

//! The three probes.

use serde_json::{Value, json};

use crate::egapps::Egapps;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

#[tokio::test]
async fn every_way_to_ask_is_accepted_in_every_probe() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let probes = [
        json!({ "httpGet": {} }),
        json!({ "httpGet": {
            "path": "/healthz?full=%20", "port": 8081, "scheme": "HTTPS",
            "httpHeaders": [{ "name": "X-Probe", "value": "" }, { "name": "X-Probe", "value": "a b" }],
        } }),
        json!({ "tcpSocket": {}, "initialDelaySeconds": 0, "periodSeconds": 1, "timeoutSeconds": 1 }),
        json!({ "exec": { "command": ["sh", "-c", ""] }, "failureThreshold": 1, "successThreshold": 1 }),
        json!({ "grpc": { "port": 1, "service": "shop.v1.Cart" } }),
        json!({ "grpc": {}, "periodSeconds": i32::MAX, "failureThreshold": i32::MAX }),
    ];
    for probe in PROBES {
        apps.keeps(probes.iter().map(|value| json!({ probe: value }))).await;
    }
    apps.keeps([json!({ "readinessProbe": { "tcpSocket": {}, "successThreshold": 3 } })]).await;
}

#[tokio::test]
async fn a_probe_asks_in_exactly_one_way() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let one = "must have exactly one of httpGet, tcpSocket, exec and grpc";
    for probe in PROBES {
        let at = format!("spec.{probe}");
        let cases = [
            json!({}),
            json!({ "periodSeconds": 5 }),
            json!({ "httpGet": null }),
            json!({ "sleep": { "seconds": 1 } }),
            json!({ "tcpSocket": {}, "httpGet": {} }),
            json!({ "grpc": {}, "exec": { "command": ["a"] } }),
            json!({ "tcpSocket": {}, "httpGet": {}, "grpc": {} }),
        ];
        apps.refuses(cases.map(|value| (json!({ probe: value }), at.as_str(), one))).await;
    }
}

#[tokio::test]
async fn seconds_and_thresholds_are_bounded() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for probe in PROBES {
        let case = |field: &str, value: Value| {
            (json!({ probe: { "tcpSocket": {}, field: value } }), format!("spec.{probe}.{field}"))
        };
        let mut cases =
            vec![(case("initialDelaySeconds", json!(-1)), "should be greater than or equal to 0")];
        for field in ["periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold"] {
            cases.push((case(field, json!(0)), "should be greater than or equal to 1"));
            cases.push((case(field, json!("5")), "must be of type integer"));
        }
        apps.refuses(cases.iter().map(|((fields, at), words)| (fields.clone(), at.as_str(), *words))).await;
        // The server names the field in the message only.
        let too_large = case("periodSeconds", json!(2_147_483_648_i64)).0;
        apps.refuses([(too_large, "<nil>", "must be of type integer with format int32 in spec.")]).await;
    }
}

#[tokio::test]
async fn only_readiness_may_need_several_successes() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for probe in ["livenessProbe", "startupProbe"] {
        let fields = json!({ probe: { "tcpSocket": {}, "successThreshold": 2 } });
        let at = format!("spec.{probe}.successThreshold");
        apps.refuses([(fields, at.as_str(), "must be 1, or left out: more is for readinessProbe only")])
            .await;
    }
}

#[tokio::test]
async fn questions_that_cannot_be_asked_are_refused() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let path = "must start with '/' and have no white space, control or non-ASCII characters";
    let header =
        |name: &str, value: &str| json!({ "httpGet": { "httpHeaders": [{ "name": name, "value": value }] } });
    let cases = [
        (json!({ "httpGet": { "path": "" } }), ".httpGet.path", path),
        (json!({ "httpGet": { "path": "healthz" } }), ".httpGet.path", path),
        (json!({ "httpGet": { "path": "http://elsewhere/" } }), ".httpGet.path", path),
        (json!({ "httpGet": { "path": "/a b" } }), ".httpGet.path", path),
        (json!({ "httpGet": { "path": "/é" } }), ".httpGet.path", path),
        (
            json!({ "httpGet": { "scheme": "http" } }),
            ".httpGet.scheme",
            r#"supported values: "HTTP", "HTTPS""#,
        ),
        (json!({ "httpGet": { "port": "http" } }), ".httpGet.port", "must be of type integer"),
        (json!({ "grpc": { "service": "a b" } }), ".grpc.service", "must be the name of a service"),
        (json!({ "exec": {} }), ".exec.command", "Required value"),
        (json!({ "exec": { "command": [] } }), ".exec.command", "should have at least 1 items"),
        (
            json!({ "exec": { "command": vec!["a".repeat(17); 256] } }),
            ".exec.command",
            "must have no more than 4096 bytes together",
        ),
        (json!({ "exec": { "command": [""] } }), ".exec.command", "must start with the name of a program"),
        (
            json!({ "exec": { "command": ["a", "\0"] } }),
            ".exec.command[1]",
            "must not contain the character NUL",
        ),
        (
            json!({ "httpGet": { "httpHeaders": [{ "name": "X" }] } }),
            ".httpGet.httpHeaders[0].value",
            "Required value",
        ),
        (
            json!({ "httpGet": { "httpHeaders": [{ "value": "v" }] } }),
            ".httpGet.httpHeaders[0].name",
            "Required value",
        ),
        (header("", "v"), ".httpGet.httpHeaders[0].name", "must be the name of a header"),
        (header("X Y", "v"), ".httpGet.httpHeaders[0].name", "must be the name of a header"),
        (
            header("X", "a\r\nY: b"),
            ".httpGet.httpHeaders[0].value",
            "must have printable ASCII characters only",
        ),
    ];
    for (probe, at, words) in cases {
        let at = format!("spec.readinessProbe{at}");
        apps.refuses([(json!({ "readinessProbe": probe }), at.as_str(), words)]).await;
    }
}

#[tokio::test]
async fn nobody_else_is_asked() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    let probe = json!({ "httpGet": { "host": "elsewhere", "port": 80 } });
    let app = apps.try_spec(json!({ "livenessProbe": probe })).await.unwrap().unwrap();
    assert_eq!(app["spec"]["livenessProbe"], json!({ "httpGet": { "port": 80 } }));
}

#[tokio::test]
async fn ports_of_probes_are_numbers_of_ports() {
    let apps = Egapps::of_a_new_namespace().await.unwrap();
    for probe in PROBES {
        for handler in ["httpGet", "tcpSocket", "grpc"] {
            let case = |port: Value| json!({ probe: { handler: { "port": port } } });
            apps.keeps([case(json!(1)), case(json!(65535))]).await;
            let at = format!("spec.{probe}.{handler}.port");
            apps.refuses([
                (case(json!(0)), at.as_str(), "should be greater than or equal to 1"),
                (case(json!(65536)), at.as_str(), "should be less than or equal to 65535"),
            ])
            .await;
        }
    }
}

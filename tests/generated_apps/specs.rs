//! Specs that the schema takes, with every field now given and now left out, and values that people did not think of.
//! Pure.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

/// A field and what its value may be.
type Field = (&'static str, fn(&mut Dice) -> Value);

/// Texts that may be the value of a variable, an argument or a command's word, and are easily taken for something
/// else.
const TEXTS: [&str; 14] = [
    "",
    " ",
    "yes",
    "null",
    "0x1F",
    "1e3",
    "{}",
    "- a: b",
    "grüße, 世界 🚀",
    "a\nb\tc\r\n",
    "\"'`\\",
    "$(POD_NAME)-$$(POD_NAME)-$(NOBODY)",
    "$(",
    "\u{feff}\u{202e}\u{1}",
];

/// Names of objects.
const OBJECTS: [&str; 5] = ["settings", "a", "0", "true", "with.dots-and-dashes.0"];

/// ServiceAccounts that the specs name.
pub(crate) const ACCOUNTS: [&str; 3] = ["robot", "r.2-d.2", "null"];

/// The specs of a seed, by name of the app.
pub(crate) fn specs(seed: u64, count: usize) -> Vec<(String, Value)> {
    let mut dice = Dice::new(seed);
    (0..count).map(|index| (name(index), spec(&mut dice))).collect()
}

/// Words of YAML, the shortest and the longest name, and plain ones.
fn name(index: usize) -> String {
    match index {
        0 => "y".to_owned(),
        1 => "null".to_owned(),
        2 => "true".to_owned(),
        3 => "kubernetes".to_owned(),
        index if index % 10 == 4 => format!("long-{}-{index:03}", "x".repeat(54)),
        index => format!("app-{index:03}"),
    }
}

fn spec(dice: &mut Dice) -> Value {
    let mut spec = json!({
        "framework": dice.pick(&["java", "python", "go"]),
        "environment": dice.pick(&["dev", "stage", "prod"]),
    });
    let fields: [Field; 19] = [
        ("appId", app_id),
        ("instanceType", |dice| json!(dice.pick(&["lowMem", "highMem", "highCPU", "balanced"]))),
        ("replicaCount", |dice| json!(dice.below(3))),
        ("image", image),
        ("command", command),
        ("args", |dice| json!(dice.some(&TEXTS, 5))),
        ("port", port),
        ("env", env),
        ("envFrom", env_from),
        ("resources", resources),
        ("livenessProbe", |dice| probe(dice, 1)),
        ("readinessProbe", |dice| probe(dice, 3)),
        ("startupProbe", |dice| probe(dice, 1)),
        ("imagePullSecrets", |dice| named(&dice.some(&OBJECTS, 4))),
        ("serviceAccountName", |dice| json!(dice.pick(&[ACCOUNTS.as_slice(), &[""]].concat()))),
        ("runAsUser", |dice| json!(dice.pick(&[1, 65532, i32::MAX]))),
        ("service", service),
        ("restartedAt", restarted_at),
        ("suspend", |_| json!(false)),
    ];
    for (field, value) in fields {
        if dice.once_in(2) {
            spec[field] = value(dice);
        }
    }
    if dice.once_in(8) {
        make_worker(&mut spec);
    }
    // Few: each is asked about every second.
    if dice.once_in(12) {
        spec["autoscaling"] = autoscaling(dice);
    }
    spec
}

/// Nothing of it listens: no Service, no port, no probe over the network.
fn make_worker(spec: &mut Value) {
    spec["service"] = json!({ "enabled": false });
    for field in ["port", "livenessProbe", "readinessProbe", "startupProbe"] {
        if spec[field]["exec"].is_null() {
            spec.as_object_mut().unwrap().remove(field);
        }
    }
}

fn autoscaling(dice: &mut Dice) -> Value {
    let mut bounds = json!({ "maxReplicas": 2 + dice.below(2) });
    if dice.once_in(2) {
        bounds["minReplicas"] = json!(1 + dice.below(2));
    }
    if dice.once_in(2) {
        bounds["targetCPUUtilizationPercentage"] = json!(dice.pick(&[1, 70, 1000]));
    }
    bounds
}

fn app_id(dice: &mut Dice) -> Value {
    let longest = "A".repeat(63);
    json!(dice.pick(&["", "0", "no", "A.b_c-D", "billing", &longest]))
}

fn image(dice: &mut Dice) -> Value {
    let digest = format!("registry.example.com/team/web@sha256:{}", "0".repeat(64));
    let longest = format!("registry.example.com/{}", "x".repeat(491));
    json!(dice.pick(&[
        "registry.example.com:5000/team/web:1",
        "web",
        "UPPER/odd__name:V1.0_RC-1",
        &digest,
        &longest
    ]))
}

fn command(dice: &mut Dice) -> Value {
    let mut words = vec![dice.pick(&["/bin/app", "sh", "ünï", " "])];
    words.extend(dice.some(&TEXTS, 4));
    json!(words)
}

fn port(dice: &mut Dice) -> Value {
    json!(dice.pick(&[1, 80, 8081, 65535]))
}

fn env(dice: &mut Dice) -> Value {
    let longest = "N".repeat(253);
    let names = [
        "PLAIN",
        "with.dots",
        "1st",
        "two words",
        "!#$%&'()*+,-./:;<>?@[]^_`{|}~",
        &longest,
        "POD_NAME",
        "GOMEMLIMIT",
        "JAVA_TOOL_OPTIONS",
        "OTEL_RESOURCE_ATTRIBUTES",
        "EGAPP_NAME",
    ];
    dice.some(&names, 6).into_iter().map(|name| variable(dice, name)).collect()
}

fn variable(dice: &mut Dice, name: &str) -> Value {
    if dice.once_in(8) {
        return json!({ "name": name });
    }
    if dice.once_in(2) {
        let large = "ä".repeat(15_000);
        let value = if dice.once_in(20) { &large } else { dice.pick(&TEXTS) };
        return json!({ "name": name, "value": value });
    }
    let source = match dice.below(4) {
        0 => json!({ "fieldRef": { "fieldPath": field_path(dice) } }),
        1 => json!({ "resourceFieldRef": amount_reference(dice) }),
        2 => json!({ "configMapKeyRef": entry(dice) }),
        _ => json!({ "secretKeyRef": entry(dice) }),
    };
    json!({ "name": name, "valueFrom": source })
}

fn field_path(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "metadata.name",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIPs",
        "status.podIP",
        "metadata.labels['egplatform.platform.evillgenius.com/egapp']",
        "metadata.annotations['a.b-c.d/E_f']",
        "metadata.labels['x']",
    ])
}

fn amount_reference(dice: &mut Dice) -> Value {
    let (resource, divisors) = dice.pick(&[
        ("limits.cpu", [json!("1m"), json!(0)]),
        ("requests.cpu", [json!(1), json!("0")]),
        ("limits.memory", [json!("1Mi"), json!("1k")]),
        ("requests.memory", [json!("1Gi"), json!("1")]),
        ("limits.ephemeral-storage", [json!("1E"), json!(0)]),
        ("requests.ephemeral-storage", [json!("1Ei"), json!(1)]),
    ]);
    let mut reference = json!({ "resource": resource });
    if !dice.once_in(3) {
        reference["divisor"] = dice.pick(&divisors);
    }
    reference
}

fn entry(dice: &mut Dice) -> Value {
    let mut entry = json!({ "name": dice.pick(&OBJECTS), "key": dice.pick(&["key", ".k", "_", "a.B-c_0"]) });
    optional(dice, &mut entry);
    entry
}

fn optional(dice: &mut Dice, reference: &mut Value) {
    if dice.once_in(2) {
        reference["optional"] = json!(dice.once_in(2));
    }
}

fn env_from(dice: &mut Dice) -> Value {
    (0..=dice.below(3))
        .map(|_| {
            let mut object = json!({ "name": dice.pick(&OBJECTS) });
            optional(dice, &mut object);
            let mut source = json!({ dice.pick(&["configMapRef", "secretRef"]): object });
            if dice.once_in(2) {
                source["prefix"] = json!(dice.pick(&["", "APP_", "1.", " ~"]));
            }
            source
        })
        .collect()
}

/// In ascending order, so that of two the first may be the request and the second the limit.
const CPUS: [fn() -> Value; 7] = [
    || json!("1m"),
    || json!("1500u"),
    || json!("+0.1"),
    || json!("0.25"),
    || json!("0.5"),
    || json!("500e-3"),
    || json!(1),
];
const BYTES: [fn() -> Value; 7] = [
    || json!("1024Ki"),
    || json!("2e6"),
    || json!(3_000_000),
    || json!("100.5Mi"),
    || json!(".5Gi"),
    || json!("1G"),
    || json!("1024Mi"),
];

fn resources(dice: &mut Dice) -> Value {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for (resource, amounts) in [("cpu", CPUS), ("memory", BYTES), ("ephemeral-storage", BYTES)] {
        let limit = dice.below(amounts.len());
        let request = dice.below(limit + 1);
        if dice.once_in(2) {
            requests.insert(resource.to_owned(), amounts[request]());
        }
        if dice.once_in(2) {
            limits.insert(resource.to_owned(), amounts[limit]());
        }
    }
    match dice.below(4) {
        0 => json!({ "limits": limits }),
        1 => json!({ "requests": requests }),
        _ => json!({ "requests": requests, "limits": limits }),
    }
}

fn probe(dice: &mut Dice, most_successes: usize) -> Value {
    let mut probe = match dice.below(4) {
        0 => json!({ "httpGet": http_get(dice) }),
        1 => json!({ "tcpSocket": given(dice, &[("port", port)]) }),
        2 => json!({ "exec": { "command": command(dice) } }),
        _ => json!({ "grpc": given(dice, &[("port", port), ("service", grpc_service)]) }),
    };
    let numbers =
        [("initialDelaySeconds", 0), ("periodSeconds", 1), ("timeoutSeconds", 1), ("failureThreshold", 1)];
    for (field, least) in numbers {
        if dice.once_in(2) {
            probe[field] = json!(dice.pick(&[least, 7, i32::MAX]));
        }
    }
    if dice.once_in(2) {
        probe["successThreshold"] = json!(1 + dice.below(most_successes));
    }
    probe
}

fn grpc_service(dice: &mut Dice) -> Value {
    json!(dice.pick(&["", "readiness", "a.b/C~"]))
}

fn http_get(dice: &mut Dice) -> Value {
    given(
        dice,
        &[
            ("path", |dice| json!(dice.pick(&["/", "/healthz?full=1&x=%20#", "//..//"]))),
            ("port", port),
            ("scheme", |dice| json!(dice.pick(&["HTTP", "HTTPS"]))),
            ("httpHeaders", |dice| {
                json!([
                    { "name": "Host", "value": dice.pick(&["web.example.com", ""]) },
                    { "name": "X-0", "value": " ~ \"" },
                    { "name": "X-0", "value": "again" },
                ])
            }),
        ],
    )
}

/// Each of the fields or not.
fn given(dice: &mut Dice, fields: &[Field]) -> Value {
    let mut object = json!({});
    for (field, value) in fields {
        if dice.once_in(2) {
            object[*field] = value(dice);
        }
    }
    object
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}

fn service(dice: &mut Dice) -> Value {
    given(dice, &[("enabled", |dice| json!(!dice.once_in(3))), ("port", port)])
}

fn restarted_at(dice: &mut Dice) -> Value {
    json!(dice.pick(&[
        "2026-02-03T04:05:06Z",
        "0000-01-01T00:00:60+99:99",
        "9999-12-31T23:59:59.999999999-00:00"
    ]))
}

//! The parts of the `EGApp` schema that no attribute of a derive can state, and those that several fields share. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// A list of conditions, keyed by type, with the bounds of `metav1.Condition` (its kubebuilder markers), which
/// `k8s-openapi` leaves out.
pub(super) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut item = Condition::json_schema(generator);
    if let Some(Value::Object(properties)) = item.get_mut("properties") {
        for (field, bounds) in condition_bounds() {
            if let Some(Value::Object(property)) = properties.get_mut(&field) {
                property.extend(bounds);
            }
        }
    }
    schemars::json_schema!({
        "type": "array",
        "items": item,
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

/// The bounds of each field of `metav1.Condition`.
fn condition_bounds() -> [(String, Map<String, Value>); 5] {
    let type_pattern = concat!(
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    );
    [
        ("message", json!({ "maxLength": 32768 })),
        ("observedGeneration", json!({ "minimum": 0 })),
        (
            "reason",
            json!({ "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
        ),
        ("status", json!({ "enum": ["True", "False", "Unknown"] })),
        ("type", json!({ "maxLength": 316, "pattern": type_pattern })),
    ]
    .map(|(field, bounds)| (field.to_owned(), bounds.as_object().cloned().unwrap_or_default()))
}

/// Reference of an image, by the grammar with which kubelets read it (`distribution/reference`): what does not fit ends as
/// `InvalidImageName` of a pod.
pub(super) fn image(_: &mut SchemaGenerator) -> Schema {
    let label = "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?";
    let registry = format!("({label}([.]{label})*|[[][0-9A-Fa-f:]+[]])(:[0-9]+)?");
    let part = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*";
    let tag = "[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}";
    let digest = "[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}";
    let reference = format!("^({registry}/)?{part}(/{part})*(:{tag})?(@{digest})?$");
    schemars::json_schema!({
        "type": "string",
        "maxLength": 512,
        "x-kubernetes-validations": [
            {
                "rule": "self != ''",
                "message": "must not be empty; name an image such as registry.example.com/team/web:1.4.2, or leave the \
                            field out to run the framework's starter image",
            },
            {
                "rule": "self.matches('^[!-~]*$')",
                "message": "must be one image reference without white space, control or non-ASCII characters, such as \
                            registry.example.com/team/web:1.4.2",
            },
            {
                "rule": format!("!self.matches('^[!-~]+$') || self.matches('{reference}')"),
                "message": "must be an image reference [registry[:port]/]path[:tag][@digest], such as \
                            registry.example.com/team/web:1.4.2; the path consists of lower-case letters and digits, \
                            with '.', '_', '__' or '-' only between them",
            },
        ],
    })
}

/// Name of a ConfigMap, Secret or ServiceAccount.
pub(super) fn object_name(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "string",
        "maxLength": 253,
        "x-kubernetes-validations": [{
            "rule": "!format.dns1123Subdomain().validate(self).hasValue()",
            "message": "must be the name of an object: lower-case letters, digits, '-' and '.', starting and ending with \
                        a letter or digit",
        }],
    })
}

/// The same, where the empty text means unset.
pub(super) fn object_name_or_empty(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "string",
        "maxLength": 253,
        "x-kubernetes-validations": [{
            "rule": "self == '' || !format.dns1123Subdomain().validate(self).hasValue()",
            "message": "must be empty or the name of an object: lower-case letters, digits, '-' and '.', starting and \
                        ending with a letter or digit",
        }],
    })
}

/// A text that a process is given when it starts. Linux takes none of more than 128 KiB, which 32000 characters are
/// at most.
pub(super) fn argument(_: &mut SchemaGenerator) -> Schema {
    text(32_000)
}

fn text(characters: u32) -> Schema {
    schemars::json_schema!({
        "type": "string",
        "maxLength": characters,
        "x-kubernetes-validations": [{
            "rule": r"!self.contains('\u0000')",
            "message": "must not contain the character NUL, with which no process can be started",
        }],
    })
}

/// Arguments of a program.
pub(super) fn arguments(_: &mut SchemaGenerator) -> Schema {
    arguments_of(16_384)
}

/// Arguments of a program, so many bytes of them: every copy of an EGApp, and there are several, has them all.
fn arguments_of(bytes: u32) -> Schema {
    schemars::json_schema!({
        "type": "array",
        "items": text(bytes),
        "maxItems": 256,
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": [{
            "rule": format!("self.map(argument, size(bytes(argument))).sum() <= {bytes}"),
            "message": format!("must have no more than {bytes} bytes together; put large texts in a ConfigMap"),
        }],
    })
}

/// A program and its arguments, if anything.
pub(super) fn command(generator: &mut SchemaGenerator) -> Schema {
    that_starts(arguments(generator))
}

/// A program and its arguments, run again and again.
pub(super) fn required_command(_: &mut SchemaGenerator) -> Schema {
    let mut command = that_starts(arguments_of(4096));
    command.insert("minItems".to_owned(), json!(1));
    command
}

fn that_starts(mut command: Schema) -> Schema {
    if let Some(Value::Array(rules)) = command.get_mut("x-kubernetes-validations") {
        rules.push(json!({
            "rule": "size(self) == 0 || self[0] != ''",
            "message": "must start with the name of a program",
        }));
    }
    command
}

/// A time of RFC 3339. By a rule, since for a text of the format `date-time` the API server takes a list as well.
pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    let date = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
    let time = "([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]+)?";
    let zone = "(Z|[+-][0-9]{2}:[0-9]{2})";
    schemars::json_schema!({
        "type": "string",
        "maxLength": 64,
        "x-kubernetes-validations": [{
            "rule": format!("self.matches('^{date}T{time}{zone}$')"),
            "message": "must be a time such as 2026-02-03T04:05:06Z",
        }],
    })
}

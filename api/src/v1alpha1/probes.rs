//! `spec.livenessProbe`, `readinessProbe` and `startupProbe`: how the kubelet asks the app how it is. Pure.
//!
//! The names of the fields are those of `core/v1`; what no pod accepts, and `host`, with which a probe asks somebody
//! else, cannot be written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::schema;

/// A probe of the app's container: exactly one of `httpGet`, `tcpSocket`, `exec` and `grpc`, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [one_handler()]))]
pub struct Probe {
    /// Asks by HTTP: a status from 200 to 399 is a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetAction>,

    /// Opens a TCP connection: it is a success that something listens. `{}` asks on the app's own port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketAction>,

    /// Runs a command in the container: exit code 0 is a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecAction>,

    /// Asks by the gRPC health protocol (`grpc.health.v1.Health/Check`): `SERVING` is a success. `{}` asks on the
    /// app's own port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcAction>,

    /// Seconds from the start of the container, or from the success of the startup probe, to the first try.
    /// Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub initial_delay_seconds: Option<i32>,

    /// Seconds between two tries. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub period_seconds: Option<i32>,

    /// Seconds after which a try without an answer has failed. Default: 1, which is short for an app that answers
    /// from a data base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub timeout_seconds: Option<i32>,

    /// Successes in a row that end a failure. Default: 1, and nothing else for a liveness or startup probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub success_threshold: Option<i32>,

    /// Failures in a row that count. Default: 3. For a startup probe, times `periodSeconds`, it is the time that the
    /// app has to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub failure_threshold: Option<i32>,
}

/// A request by HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpGetAction {
    /// Path of the request, with a query if need be. Default: `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^/[!-~]*$')",
        "message": "must start with '/' and have no white space, control or non-ASCII characters: write those as %20 \
                    and the like",
    }]))]
    pub path: Option<String>,

    /// Number of the port. Default: the app's own port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// `HTTP` or `HTTPS`, whose certificate is not checked. Default: `HTTP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["HTTP", "HTTPS"]))]
    pub scheme: Option<String>,

    /// Headers of the request, such as `Host`. Default: none of one's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic", "x-kubernetes-validations" = [{
        "rule": "self.map(header, size(header.name) + size(header.value)).sum() <= 4096",
        "message": "must have no more than 4096 characters in all names and values together",
    }]))]
    pub http_headers: Vec<HttpHeader>,
}

/// A header of a request by HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpHeader {
    /// Name of the header. Required.
    #[schemars(length(max = 256), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[-A-Za-z0-9]+$')",
        "message": "must be the name of a header: letters, digits and '-'",
    }]))]
    pub name: String,

    /// Value of the header. Required.
    #[schemars(length(max = 1024), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[ -~]*$')",
        "message": "must have printable ASCII characters only",
    }]))]
    pub value: String,
}

/// A TCP connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSocketAction {
    /// Number of the port. Default: the app's own port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
}

/// A command in the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecAction {
    /// The program and its arguments; no shell is involved. Required. The image must have the program.
    #[schemars(schema_with = "schema::required_command")]
    pub command: Vec<String>,
}

/// A question by the gRPC health protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrpcAction {
    /// Number of the port. Default: the app's own port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Name of the service to ask about. Default: the empty name, which is the server as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), extend("x-kubernetes-validations" = [{
        "rule": "self.matches('^[!-~]*$')",
        "message": "must be the name of a service, without white space, control or non-ASCII characters",
    }]))]
    pub service: Option<String>,
}

/// One way to ask.
pub(super) fn one_handler() -> Value {
    json!({
        "rule": "[has(self.httpGet), has(self.tcpSocket), has(self.exec), has(self.grpc)].exists_one(given, given)",
        "message": "must have exactly one of httpGet, tcpSocket, exec and grpc",
    })
}

/// What Kubernetes asks of liveness and startup probes.
pub(super) fn one_success() -> Value {
    json!({
        "rule": "!has(self.successThreshold) || self.successThreshold == 1",
        "fieldPath": ".successThreshold",
        "message": "must be 1, or left out: more is for readinessProbe only",
    })
}

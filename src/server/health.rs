//! `/healthz` and `/readyz` in the text form of controller-runtime's `pkg/healthz`. Routes only; the listener does I/O.
//!
//! One difference: a failing check says why. The reasons are written for people and hold no secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::gates::{Gates, Position};

/// How each check stands, by name.
pub(super) type Checks = BTreeMap<&'static str, Position>;

const PING: &str = "ping";
const STOPPING: &str = "shutdown";

/// The liveness check passes for as long as the process can answer: a lost API server must not kill it. Readiness is what
/// `gates` say.
pub fn health_routes(gates: Gates) -> Router {
    Router::new()
        .route("/healthz", get(liveness))
        .route("/healthz/", get(liveness))
        .route("/healthz/{check}", get(liveness_of))
        .route("/readyz", get(readiness))
        .route("/readyz/", get(readiness))
        .route("/readyz/{check}", get(readiness_of))
        .fallback(|| async { answer(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()) })
        .with_state(gates)
}

async fn liveness(RawQuery(query): RawQuery) -> Response {
    report(&ping(), query.as_deref().unwrap_or_default()).into_response()
}

async fn liveness_of(Path(check): Path<String>) -> Response {
    report_one(&ping(), &check).into_response()
}

async fn readiness(State(gates): State<Gates>, RawQuery(query): RawQuery) -> Response {
    report(&checks(&gates), query.as_deref().unwrap_or_default()).into_response()
}

async fn readiness_of(State(gates): State<Gates>, Path(check): Path<String>) -> Response {
    report_one(&checks(&gates), &check).into_response()
}

fn ping() -> Checks {
    Checks::from([(PING, Position::Open)])
}

fn checks(gates: &Gates) -> Checks {
    let mut snapshot = gates.snapshot();
    if snapshot.stopping {
        snapshot.gates.insert(STOPPING, Position::Shut("the process is stopping".to_owned()));
    }
    if snapshot.gates.is_empty() { ping() } else { snapshot.gates }
}

/// What `/readyz?verbose` answers.
#[cfg(test)]
pub(crate) fn verbose_readiness(gates: &Gates) -> String {
    report(&checks(gates), "verbose").body
}

/// What a probe is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) status: StatusCode,
    pub(super) body: String,
}

impl IntoResponse for Report {
    fn into_response(self) -> Response {
        answer(self.status, self.body)
    }
}

/// All checks together: `ok`, or every check in a line of its own where one fails or `?verbose` asks for it.
/// `?exclude=<check>` leaves one out.
pub(super) fn report(checks: &Checks, query: &str) -> Report {
    let excluded: BTreeSet<&str> = values(query, "exclude").filter(|name| !name.is_empty()).collect();
    let mut lines = String::new();
    let mut status = StatusCode::OK;
    for (name, position) in checks {
        let line = match position {
            _ if excluded.contains(name) => format!("[+]{name} excluded: ok"),
            Position::Open => format!("[+]{name} ok"),
            Position::Degraded(note) => format!("[+]{name} ok, degraded: {note}"),
            Position::Shut(reason) => {
                status = failing(name, status);
                format!("[-]{name} failed: {reason}")
            }
        };
        // Writing into a String cannot fail.
        writeln!(lines, "{line}").ok();
    }
    lines.push_str(&warning(checks, &excluded));
    let verbose = values(query, "verbose").next().is_some();
    let body = match (status == StatusCode::OK, verbose) {
        (true, false) => "ok".to_owned(),
        (true, true) => format!("{lines}healthz check passed\n"),
        (false, _) => format!("{lines}healthz check failed\n"),
    };
    Report { status, body }
}

/// One check alone.
pub(super) fn report_one(checks: &Checks, name: &str) -> Report {
    match checks.get(name) {
        None => Report { status: StatusCode::NOT_FOUND, body: "404 page not found\n".to_owned() },
        Some(Position::Open | Position::Degraded(_)) => {
            Report { status: StatusCode::OK, body: "ok".to_owned() }
        }
        Some(Position::Shut(reason)) => Report {
            status: failing(name, StatusCode::OK),
            body: format!("internal server error: {reason}\n"),
        },
    }
}

/// 500 for a failing check, as kubebuilder users know it; 503 once the process stops, as load balancers do.
fn failing(name: &str, so_far: StatusCode) -> StatusCode {
    if name == STOPPING || so_far == StatusCode::SERVICE_UNAVAILABLE {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    }
}

fn warning(checks: &Checks, excluded: &BTreeSet<&str>) -> String {
    let unknown: Vec<String> =
        excluded.iter().filter(|name| !checks.contains_key(**name)).map(|name| format!("{name:?}")).collect();
    if unknown.is_empty() {
        return String::new();
    }
    format!("warn: some health checks cannot be excluded: no matches for {}\n", unknown.join(","))
}

/// Values of a query parameter; check names need no percent-decoding.
fn values<'a>(query: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(move |(name, _)| *name == key)
        .map(|(_, value)| value)
}

fn answer(status: StatusCode, body: String) -> Response {
    let headers: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, body).into_response()
}

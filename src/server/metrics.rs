//! `/metrics`. Routes only; the listener does I/O.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tracing::error;

use crate::telemetry::{Chain, Metrics};

/// Prometheus' text format; Prometheus 3 refuses an answer without it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves everything that `metrics` holds.
pub fn metrics_routes(metrics: Arc<Metrics>) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(metrics)
}

async fn scrape(State(metrics): State<Arc<Metrics>>) -> Response {
    match metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            error!(error = %Chain(&error), "cannot answer a scrape");
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot write the metrics; the log says why\n")
                .into_response()
        }
    }
}

//! Counts the requests that pass through an HTTP client. Sends nothing by itself.
//!
//! Family and labels: client-go's `rest_client_requests_total`.

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Request, Response};
use prometheus::IntCounterVec;
use tower::{Layer, Service};

/// The `code` of a request that got no answer, as client-go spells it.
const NO_ANSWER: &str = "<error>";

/// Wraps an HTTP client so that its requests are counted.
#[derive(Clone)]
pub struct RequestMetricsLayer {
    requests: IntCounterVec,
    host: String,
}

impl RequestMetricsLayer {
    pub(super) fn new(requests: IntCounterVec, host: String) -> Self {
        Self { requests, host }
    }
}

impl<S> Layer<S> for RequestMetricsLayer {
    type Service = RequestMetrics<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestMetrics { inner, layer: self.clone() }
    }
}

/// An HTTP client whose requests are counted.
#[derive(Clone)]
pub struct RequestMetrics<S> {
    inner: S,
    layer: RequestMetricsLayer,
}

impl<S, B, R> Service<Request<B>> for RequestMetrics<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let RequestMetricsLayer { requests, host } = self.layer.clone();
        let method = request.method().clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let status = answer.as_ref().map(Response::status);
            let code = status.as_ref().map_or(NO_ANSWER, http::StatusCode::as_str);
            requests.with_label_values(&[code, host.as_str(), method.as_str()]).inc();
            answer
        })
    }
}

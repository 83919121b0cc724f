//! Whether the API server answers, for who asks the readiness probe. Sends nothing by itself.
//!
//! The process stays ready and alive while it does not: a restart would help nobody, and lose what is known.

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::Request;
use tower::{Layer, Service};

use crate::server::Gate;

/// Wraps an HTTP client so that a gate says whether the last request got an answer.
#[derive(Clone)]
pub(super) struct ReachLayer {
    gate: Gate,
}

impl ReachLayer {
    /// Reports to `gate`.
    pub(super) fn new(gate: Gate) -> Self {
        Self { gate }
    }
}

impl<S> Layer<S> for ReachLayer {
    type Service = Reach<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Reach { inner, gate: self.gate.clone() }
    }
}

/// An HTTP client of which a gate says whether it reaches its server.
#[derive(Clone)]
pub(super) struct Reach<S> {
    inner: S,
    gate: Gate,
}

impl<S, B> Service<Request<B>> for Reach<S>
where
    S: Service<Request<B>>,
    S::Future: Send + 'static,
    S::Response: Send,
    S::Error: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (answer, attempt) =
            (self.inner.call(request), Attempt { gate: self.gate.clone(), is_answered: false });
        Box::pin(async move {
            let answer = answer.await;
            attempt.end(answer.is_ok());
            answer
        })
    }
}

/// A request under way. One that is given up, as every request is whose time is over, got no answer either.
struct Attempt {
    gate: Gate,
    is_answered: bool,
}

impl Attempt {
    fn end(mut self, is_answered: bool) {
        self.is_answered = is_answered;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_answered {
            self.gate.ready();
        } else {
            self.gate.degraded(
                "the API server did not answer the last request; what is known of the cluster is from before",
            );
        }
    }
}

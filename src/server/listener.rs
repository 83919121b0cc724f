//! Binds an address and answers HTTP/1.1 on it until told to stop. I/O.
//!
//! Every resource that a client can hold is bounded: the time to send a request's head (which is also how long an idle
//! connection may stay), the time an answer may take, the life of a connection, and the number of connections. Where there
//! are too many, the oldest is cut: a probe is new, and short. Bodies of requests are never read.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, warn};

use super::address::BindAddress;
use crate::telemetry::Chain;

/// Short: who connects and says nothing holds one of the connections that probes need.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECTION_LIFE: Duration = Duration::from_mins(5);
const DRAIN: Duration = Duration::from_millis(500);
pub(super) const MAX_CONNECTIONS: usize = 128;
const MAX_HEAD_BYTES: usize = 64 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// An address could not be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {flag}={address}: {source}; free the port or choose another with {flag}")]
pub struct BindError {
    flag: &'static str,
    address: BindAddress,
    source: io::Error,
}

/// A bound address, not yet answering.
pub struct Listener {
    socket: TcpListener,
    address: BindAddress,
}

impl Listener {
    /// Binds the address that `flag` gave; `None` where the server is switched off.
    ///
    /// # Errors
    /// [`BindError`] where the port is taken or not allowed, or the host is unknown.
    pub async fn bind(flag: &'static str, address: &BindAddress) -> Result<Option<Self>, BindError> {
        let failed = |source| BindError { flag, address: address.clone(), source };
        let Some(socket) = open(address).await.map_err(failed)? else { return Ok(None) };
        let port = socket.local_addr().map_err(failed)?.port();
        Ok(Some(Self { socket, address: address.with_port(port) }))
    }

    /// The address as its flag spells it, with the port that was bound.
    #[must_use]
    pub fn address(&self) -> &BindAddress {
        &self.address
    }

    /// Answers with `routes` until `stop` is cancelled, then lets running answers end.
    pub async fn serve(self, routes: Router, stop: CancellationToken) {
        let (mut connections, mut by_age) = (JoinSet::new(), VecDeque::<AbortHandle>::new());
        while let Some(accepted) = stop.run_until_cancelled(self.socket.accept()).await {
            while connections.try_join_next().is_some() {}
            by_age.retain(|connection| !connection.is_finished());
            match accepted {
                Ok((stream, _)) => {
                    if by_age.len() >= MAX_CONNECTIONS {
                        by_age.pop_front().inspect(AbortHandle::abort);
                    }
                    let connection = serve_connection(stream, routes.clone(), stop.clone());
                    by_age.push_back(connections.spawn(connection));
                }
                Err(error) => refused(&error).await,
            }
        }
        drop(self.socket);
        let drained = async { while connections.join_next().await.is_some() {} };
        if timeout(DRAIN, drained).await.is_err() {
            debug!("connections were cut: they did not end in time");
        }
    }
}

/// A client that went away is its own affair; a machine out of file descriptors needs a pause.
async fn refused(error: &io::Error) {
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        warn!(%error, "cannot accept a connection");
        sleep(ACCEPT_PAUSE).await;
    }
}

async fn open(address: &BindAddress) -> io::Result<Option<TcpListener>> {
    match address {
        BindAddress::Off => Ok(None),
        BindAddress::Host(host, port) => TcpListener::bind((host.as_str(), *port)).await.map(Some),
        // The unspecified IPv6 address takes IPv4 as well; a kernel without IPv6 has only the other one.
        BindAddress::Everywhere(port) => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await.map(Some)
            }
            bound => bound.map(Some),
        },
    }
}

/// Serves one connection until it ends, has lived long enough or `stop` is cancelled; the request at hand is finished.
async fn serve_connection(stream: TcpStream, routes: Router, stop: CancellationToken) {
    let service = service_fn(move |request| respond(routes.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled() => None,
        () = sleep(CONNECTION_LIFE) => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        timeout(ANSWER_TIMEOUT, connection).await.unwrap_or(Ok(()))
    };
    if let Err(error) = ended {
        debug!(error = %Chain(&error), "a connection failed");
    }
}

async fn respond(routes: Router, request: Request<Incoming>) -> Result<Response, Infallible> {
    match timeout(ANSWER_TIMEOUT, routes.oneshot(request.map(Body::new))).await {
        Ok(answer) => answer,
        Err(_) => Ok(StatusCode::SERVICE_UNAVAILABLE.into_response()),
    }
}

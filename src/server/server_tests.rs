//! The servers over real loopback sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use axum::Router;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::listener::MAX_CONNECTIONS;
use super::{BindAddress, Gates, Listener, health_routes, metrics_routes};
use crate::telemetry::Metrics;

const FLAG: &str = "--test-bind-address";

struct Server {
    port: u16,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

async fn serve(routes: Router) -> Server {
    let address: BindAddress = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(FLAG, &address).await.unwrap().unwrap();
    let port = listener.address().to_string().rsplit_once(':').unwrap().1.parse().unwrap();
    let stop = CancellationToken::new();
    Server { port, task: tokio::spawn(listener.serve(routes, stop.clone())), stop }
}

impl Server {
    fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port))
    }

    async fn send(&self, request: &str) -> String {
        let mut stream = self.connect().unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        rest_of(stream).await
    }

    async fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")).await
    }
}

/// What the server sends until it closes the connection.
async fn rest_of(mut stream: TcpStream) -> String {
    let reading = spawn_blocking(move || {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    timeout(Duration::from_secs(5), reading)
        .await
        .expect("the connection is closed in time")
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn liveness_passes_while_readiness_waits() {
    let gates = Gates::default();
    let gate = gates.add("caches-synced");
    let server = serve(health_routes(gates.clone())).await;
    gate.not_ready("the first list has not arrived");
    assert!(server.get("/healthz").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(server.get("/healthz/ping").await.ends_with("\r\n\r\nok"));
    let answer = server.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains("[-]caches-synced failed: the first list has not arrived\n"), "{answer}");
    gate.ready();
    assert!(server.get("/readyz").await.ends_with("\r\n\r\nok"));
    assert!(server.get("/readyz/caches-synced").await.ends_with("\r\n\r\nok"));
    assert!(server.get("/readyz/other").await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn a_stopping_process_is_unready_but_alive() {
    let gates = Gates::default();
    gates.add("caches-synced").ready();
    let server = serve(health_routes(gates.clone())).await;
    gates.stop();
    let answer = server.get("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("[-]shutdown failed: the process is stopping\n"), "{answer}");
    assert!(server.get("/healthz").await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let metrics = Metrics::new().unwrap();
    let _controller = metrics.controller("egapp", 1);
    let server = serve(metrics_routes(metrics)).await;
    let answer = server.get("/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains("# TYPE controller_runtime_reconcile_total counter\n"), "{answer}");
    assert!(server.get("/").await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let server = serve(health_routes(Gates::default())).await;
    let post = "POST /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody";
    assert!(server.send(post).await.starts_with("HTTP/1.1 405 "));
}

#[tokio::test]
async fn stopping_ends_idle_connections_and_closes_the_port() {
    let server = serve(health_routes(Gates::default())).await;
    let idle = server.connect().unwrap();
    assert!(server.get("/healthz").await.ends_with("ok"));
    server.stop.cancel();
    assert_eq!(rest_of(idle).await, "");
    timeout(Duration::from_secs(5), server.task).await.expect("the server stops").unwrap();
    TcpStream::connect(("127.0.0.1", server.port)).expect_err("the port is closed");
}

/// Whoever can reach the port could otherwise have the process killed: a kubelet's probe would find no place.
#[tokio::test]
async fn a_probe_is_answered_while_others_hold_all_connections() {
    let server = serve(health_routes(Gates::default())).await;
    let silent: Vec<_> = (0..MAX_CONNECTIONS).map(|_| server.connect().unwrap()).collect();
    assert!(server.get("/healthz").await.ends_with("ok"));
    let is_open = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    assert!(!is_open(&silent[0]), "the oldest was cut");
    assert!(silent[1..].iter().all(is_open), "and no other: the probe did not wait for them to time out");
}

#[tokio::test]
async fn a_taken_port_is_reported_with_its_flag() {
    let first = Listener::bind(FLAG, &"127.0.0.1:0".parse().unwrap()).await.unwrap().unwrap();
    let error = Listener::bind(FLAG, first.address()).await.err().expect("the port is taken").to_string();
    assert!(error.starts_with(&format!("cannot listen on {FLAG}={}: ", first.address())), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[tokio::test]
async fn a_server_switched_off_binds_nothing() {
    assert!(Listener::bind(FLAG, &BindAddress::Off).await.unwrap().is_none());
}

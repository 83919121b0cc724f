//! Finds the cluster and makes the clients that talk to it. Reads files and the environment; sends nothing by itself.

use std::env;
use std::path::Path;
use std::time::{Duration, Instant};

use http::header::USER_AGENT;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Uri};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;
use tokio::time::timeout;
use tower::retry::RetryLayer;
use tower::{BoxError, Layer, service_fn};

use super::fence::Fence;
use super::reach::ReachLayer;
use crate::telemetry::Metrics;

/// Who the audit log says has called.
const NAME_AND_VERSION: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
const CONNECT: Duration = Duration::from_secs(10);
/// Until the head of an answer, which even a watch sends at once. The API server gives a write 34 s.
const ANSWER: Duration = Duration::from_secs(40);
/// Pauses between attempts that the server refused for a moment (429, 503, 504); a `Retry-After` is honoured instead.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
const RETRIES: u32 = 3;

/// No cluster to talk to, or none that can be talked to.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The kubeconfig that was asked for cannot be used.
    #[error("cannot use the kubeconfig given by {origin}")]
    Kubeconfig {
        /// The flag or variable that names it, with its value.
        origin: String,
        /// What is wrong with it.
        source: KubeconfigError,
    },
    /// Nobody said which cluster, and none was found.
    #[error(
        "found no Kubernetes cluster: not in a pod ({in_cluster}), and no kubeconfig at {home}; \
         give --kubeconfig FILE or set KUBECONFIG"
    )]
    Nowhere {
        /// Why this is no pod with a service account.
        in_cluster: InClusterError,
        /// Where a kubeconfig was looked for.
        home: String,
    },
    /// The configuration was read, and no client can be made of it: a bad certificate, mostly.
    #[error("cannot make a client for the cluster at {url}")]
    Build {
        /// The API server.
        url: String,
        /// What is wrong.
        source: kube::Error,
    },
}

/// A request got no answer in time.
#[derive(Debug, Error)]
#[error("the API server did not answer within {} s", ANSWER.as_secs())]
struct Unanswered;

/// Finds the cluster where controller-runtime finds it: `--kubeconfig`, `$KUBECONFIG`, the pod's service account,
/// `~/.kube/config`, in this order.
///
/// # Errors
/// [`ClientError`] where the configuration asked for cannot be used or there is none at all.
pub(super) async fn find_cluster(flag: Option<&Path>) -> Result<Config, ClientError> {
    if let Some(path) = flag {
        let origin = format!("--kubeconfig={}", path.display());
        return use_kubeconfig(Kubeconfig::read_from(path).map(Some), origin).await;
    }
    if let Some(paths) = env::var("KUBECONFIG").ok().filter(|paths| !paths.is_empty()) {
        return use_kubeconfig(Kubeconfig::from_env(), format!("KUBECONFIG={paths}")).await;
    }
    let in_cluster = match Config::incluster() {
        Ok(config) => return Ok(config),
        Err(error) => error,
    };
    let home = env::home_dir().map(|home| home.join(".kube").join("config"));
    match home.filter(|path| path.exists()) {
        Some(path) => {
            use_kubeconfig(Kubeconfig::read_from(&path).map(Some), path.display().to_string()).await
        }
        None => Err(ClientError::Nowhere { in_cluster, home: "~/.kube/config".to_owned() }),
    }
}

async fn use_kubeconfig(
    read: Result<Option<Kubeconfig>, KubeconfigError>,
    origin: String,
) -> Result<Config, ClientError> {
    let options = KubeConfigOptions::default();
    let config = async { Config::from_custom_kubeconfig(read?.unwrap_or_default(), &options).await };
    config.await.map_err(|source| ClientError::Kubeconfig { origin, source })
}

/// The client of the controllers: every attempt is counted, has a time limit and passes the fence; attempts that the
/// server refused for a moment are made again, a few times. Its lists are as new as their requests.
///
/// # Errors
/// [`ClientError::Build`] where the configuration names a certificate or key that cannot be used.
pub(super) fn controllers_client(
    config: &Config,
    metrics: &Metrics,
    reach: &ReachLayer,
    fence: &Fence,
) -> Result<Client, ClientError> {
    let attempts = plain_client(config, metrics, reach)?;
    let fence = fence.clone();
    let send = service_fn(move |request: Request<Body>| {
        let request = most_recent(request);
        let (attempts, passed) = (attempts.clone(), fence.check(request.method(), Instant::now()));
        async move {
            passed?;
            let answer = timeout(ANSWER, attempts.send(request)).await.map_err(|_| Unanswered)?;
            answer.map_err(BoxError::from)
        }
    });
    let policy = RetryPolicy::new(RETRY_PAUSES.0, RETRY_PAUSES.1, RETRIES, true).unwrap_or_default();
    let send = RetryLayer::new(policy).layer(send);
    Ok(Client::new(send, &config.default_namespace))
}

/// kube asks for a streaming list of any age (`resourceVersion=0`), which an API server may take from a cache that lags
/// behind what another one has answered before. Without a version it is as new as the request, as client-go asks first.
fn most_recent(mut request: Request<Body>) -> Request<Body> {
    if let Some(uri) = without_age(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// The address without `resourceVersion=0`, where it asks for a streaming list.
fn without_age(uri: &Uri) -> Option<Uri> {
    let query = uri.query()?;
    query.split('&').find(|pair| *pair == "sendInitialEvents=true")?;
    let kept: Vec<_> = query.split('&').filter(|pair| *pair != "resourceVersion=0").collect();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}?{}", uri.path(), kept.join("&"))).ok()?);
    Uri::from_parts(parts).ok()
}

/// The client of the election: counted, and without retries, which would outlast the lease. Callers set the time limit.
///
/// # Errors
/// As [`controllers_client`].
pub(super) fn plain_client(
    config: &Config,
    metrics: &Metrics,
    reach: &ReachLayer,
) -> Result<Client, ClientError> {
    let mut config = config.clone();
    config.connect_timeout = Some(CONNECT);
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(NAME_AND_VERSION)));
    let url = config.cluster_url.to_string();
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let builder = ClientBuilder::try_from(config).map_err(|source| ClientError::Build { url, source })?;
    Ok(builder.with_layer(&metrics.client_layer(host)).with_layer(reach).build())
}

#[cfg(test)]
mod tests {
    use kube::api::WatchParams;

    use super::*;

    #[test]
    fn a_streaming_list_is_asked_for_as_it_is_now_and_a_watch_goes_on_from_its_version() {
        let request = |params: &WatchParams, version: &str| {
            let request = kube::core::Request::new("/apis/apps/v1/deployments").watch(params, version);
            without_age(request.unwrap().uri()).map(|uri| uri.to_string())
        };
        let list = request(&WatchParams::streaming_lists(), "0").unwrap();
        assert!(list.starts_with("/apis/apps/v1/deployments?"), "{list}");
        assert!(list.contains("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), "{list}");
        assert!(!list.contains("resourceVersion="), "{list}");
        assert_eq!(request(&WatchParams::default(), "0"), None);
        assert_eq!(request(&WatchParams::default(), "7"), None);
    }
}

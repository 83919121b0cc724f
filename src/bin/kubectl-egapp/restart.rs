//! `kubectl egapp restart`: new pods for an app. I/O.

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use egapp_api::v1alpha1::{ConditionType, EGApp, Reason};
use futures::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use pe_app::controller::watch::is_forbidden;
use pe_app::telemetry::Chain;
use serde_json::json;
use tokio::time::timeout;

use crate::args::Restart;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::output;

pub(crate) async fn run(arguments: &Restart) -> Result<ExitCode, Error> {
    let cluster = Cluster::find(&arguments.cluster).await?;
    let name = &arguments.name;
    let app = cluster.app(name).await?;
    if let Some(why) = without_effect(&app) {
        return Err(Error::NoEffect { name: name.clone(), why });
    }
    let api = Api::<EGApp>::namespaced(cluster.client.clone(), &cluster.namespace);
    // A restart may have been taken back out of the spec, and only a later one is another.
    let last = cluster.restarted_at(name).await;
    let at = later_than([app.spec.restarted_at, last].into_iter().flatten(), Timestamp::now());
    let patch = json!({ "spec": { "restartedAt": at } });
    let field_manager = Some(arguments.field_manager.clone());
    let params = PatchParams { field_manager, ..PatchParams::default() };
    let patched = api.patch(name, &params, &Patch::Merge(patch)).await;
    let what = format!("patch EGApp {}/{name}", cluster.namespace);
    let generation = patched.map_err(Error::call(what))?.metadata.generation.unwrap_or(0);
    output::progress(&format!("egapp/{name} restarts"));
    if arguments.wait {
        follow(&api, name, generation, arguments.timeout).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why a restart would restart nothing.
fn without_effect(app: &EGApp) -> Option<String> {
    if app.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    if app.spec.suspend {
        return Some("spec.suspend is true, and the operator leaves it alone until it is false".to_owned());
    }
    (app.spec.replica_count == 0).then(|| "spec.replicaCount is 0, so that no pod runs".to_owned())
}

/// The present time in whole seconds, or the first second after the latest of the former times.
fn later_than(former: impl Iterator<Item = String>, now: Timestamp) -> String {
    let after = former.filter_map(|time| time.parse::<Timestamp>().ok()).map(|time| time.as_second() + 1);
    let second = after.fold(now.as_second(), i64::max);
    Timestamp::from_second(second).unwrap_or(now).to_string()
}

/// Tells what happens until the app is Ready with that generation, or fails.
async fn follow(api: &Api<EGApp>, name: &str, generation: i64, limit: Duration) -> Result<(), Error> {
    let mut said = String::new();
    let watching = async {
        let mut states = pin!(watcher::watch_object(api.clone(), name));
        while let Some(state) = states.next().await {
            let state = match state {
                Ok(state) => state,
                Err(error) if is_forbidden(&error) => {
                    let why = Chain(&error).to_string();
                    return Err(Error::Unfollowed { name: name.to_owned(), why });
                }
                // A watch that fails is begun again by itself.
                Err(_) => continue,
            };
            let Some(app) = state else {
                return Err(Error::NotReady { name: name.to_owned(), why: "it was deleted".to_owned() });
            };
            let (line, end) = progress(&app, generation);
            if line != said {
                output::progress(&line);
                said = line;
            }
            match end {
                End::Open => (),
                End::Ready => return Ok(()),
                End::Stalled => return Err(Error::NotReady { name: name.to_owned(), why: said.clone() }),
            }
        }
        Err(Error::NotReady { name: name.to_owned(), why: "the watch of it ended".to_owned() })
    };
    let waited = timeout(limit, watching).await;
    waited.unwrap_or_else(|_| {
        let why = match said.as_str() {
            "" => format!("{} s are over, and nothing was heard of it", limit.as_secs()),
            said => format!("{} s are over; it is {said}", limit.as_secs()),
        };
        Err(Error::NotReady { name: name.to_owned(), why })
    })
}

enum End {
    Open,
    Ready,
    Stalled,
}

/// What to say of the app, and whether there is more to wait for.
fn progress(app: &EGApp, generation: i64) -> (String, End) {
    let status = app.status.clone().unwrap_or_default();
    if status.observed_generation.unwrap_or(0) < generation {
        return ("waiting for the operator".to_owned(), End::Open);
    }
    if let Some(why) = without_effect(app) {
        return (why, End::Stalled);
    }
    let count = |count: Option<i32>| count.unwrap_or(0);
    let ready = status.condition(ConditionType::Ready);
    let (reason, message, is_ready) = ready.map_or(("", "", false), |ready| {
        (ready.reason.as_str(), ready.message.as_str(), ready.status == "True")
    });
    let mut line = format!(
        "{} of {} replicas updated, {} ready: {reason}",
        count(status.updated_replicas),
        count(status.desired_replicas),
        count(status.ready_replicas),
    );
    if !is_ready && reason != Reason::RollingOut.as_str() {
        line = format!("{line}: {message}");
    }
    let is_stalled = status.condition(ConditionType::Stalled).is_some_and(|stalled| stalled.status == "True");
    let end = match (is_ready, is_stalled) {
        (true, _) => End::Ready,
        (false, true) => End::Stalled,
        (false, false) => End::Open,
    };
    (line, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_later_than_all_before_it() {
        let at = |former: &[&str]| {
            let now: Timestamp = "2026-02-03T04:05:06.9Z".parse().unwrap();
            later_than(former.iter().map(|&time| time.to_owned()), now)
        };
        assert_eq!(at(&[]), "2026-02-03T04:05:06Z");
        assert_eq!(at(&["2026-02-03T04:05:06Z"]), "2026-02-03T04:05:07Z");
        assert_eq!(at(&["2026-02-03T04:05:05Z", "2030-01-01T01:00:00.5+01:00"]), "2030-01-01T00:00:01Z");
        assert_eq!(at(&["by hand"]), "2026-02-03T04:05:06Z");
    }
}

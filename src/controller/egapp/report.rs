//! Getting the status to the API server: whether, when and how. I/O.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use serde_json::json;
use tokio::time::Instant;
use tracing::{info, warn};

use super::cluster::Undecodable;
use super::context::Context;
use super::error::{Disposition, Error};
use super::memory::Memory;
use super::reconcile::Pass;
use super::status::{Verdict, undecodable};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;
use egapp_api::v1alpha1::{EGApp, EGAppStatus};

/// When to come again; or the error, and when to try again.
pub type StatusResult = Result<Option<Duration>, (Arc<Error>, Option<Duration>)>;

/// Writes the status if it differs and its time has come; else says when to come again.
///
/// # Errors
/// When the API server refuses or does not answer.
pub async fn write_status(
    ctx: &Context,
    key: &ObjectKey,
    app: &EGApp,
    verdict: Verdict,
    memory: &mut Memory,
) -> StatusResult {
    if app.status.as_ref() == Some(&verdict.status) {
        memory.moving_since = None;
        memory.status_failure.clear();
        return Ok(None);
    }
    let (now, seed) = (Instant::now(), key.to_string());
    let situation = || fnv1a(&app.metadata.generation.unwrap_or(0).to_be_bytes());
    if let Some(((), _, left)) = memory.status_failure.gate(situation, now) {
        return Ok(left);
    }
    if !verdict.is_settled
        && let Err(wait) = ctx.pace.admit(&mut memory.moving_since, now, &seed)
    {
        return Ok(Some(wait));
    }
    memory.moving_since = None;
    let uid = app.metadata.uid.as_deref().unwrap_or_default();
    match ctx.cluster.apply_status(key, &status_patch(uid, &verdict.status)).await {
        Ok(()) => {
            memory.status_failure.clear();
            Ok(None)
        }
        Err(error) if error.disposition() == Disposition::Gone => Ok(None),
        Err(error) => {
            warn!(namespace = key.namespace(), name = key.name(), "{}", error.message());
            let disposition = error.disposition();
            let (_, wait) =
                memory.status_failure.record((), situation(), now, |count| disposition.requeue(count, &seed));
            Err((Arc::new(error), wait))
        }
    }
}

/// The uid makes the API server refuse if another EGApp has taken the place of the one that was looked at.
fn status_patch(uid: &str, status: &EGAppStatus) -> serde_json::Value {
    json!({
        "apiVersion": EGApp::api_version(&()),
        "kind": EGApp::kind(&()),
        "metadata": { "uid": uid },
        "status": status,
    })
}

/// Reports an EGApp that this release cannot decode: in the log, and in its conditions if the API server lets us.
pub async fn report_undecodable(
    ctx: &Context,
    key: &ObjectKey,
    app: &Undecodable,
    memory: &mut Memory,
) -> Pass {
    if app.is_terminating || memory.reported_undecodable == Some(app.generation) {
        return Pass::default();
    }
    let message = format!("this release of the operator cannot read the EGApp: {}", app.error);
    warn!(namespace = key.namespace(), name = key.name(), "{message}");
    let status = undecodable(app.generation, key.name(), &message, Timestamp::now());
    match ctx.cluster.merge_status(key, &status_patch(&app.uid, &status)).await {
        Ok(()) => memory.reported_undecodable = Some(app.generation),
        Err(error) if error.disposition().is_terminal() => {
            info!(
                namespace = key.namespace(),
                name = key.name(),
                "its status stays unwritten: {}",
                error.message()
            );
            memory.reported_undecodable = Some(app.generation);
        }
        Err(error) => {
            warn!(namespace = key.namespace(), name = key.name(), "{}", error.message());
            let (disposition, seed) = (error.disposition(), key.to_string());
            let situation = fnv1a(&app.generation.to_be_bytes());
            let (_, wait) = memory
                .status_failure
                .record((), situation, Instant::now(), |count| disposition.requeue(count, &seed));
            return Pass { requeue: wait, error: Some(Arc::new(error)) };
        }
    }
    Pass::default()
}

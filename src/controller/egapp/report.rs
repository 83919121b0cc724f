//! Getting the status to the API server: whether, when and how. I/O.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{info, warn};

use super::cluster::Undecodable;
use super::context::Context;
use super::error::{Disposition, Error};
use super::memory::Memory;
use super::news;
use super::pace;
use super::reconcile::Pass;
use super::status::{Urgency, Verdict, is_our_type, says, undecodable, unseen};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;
use egapp_api::v1alpha1::{EGApp, EGAppStatus, Reason};

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
    if says(app.status.as_ref(), &ctx.dropped.kept(&verdict.status, Instant::now())) {
        memory.moving_since = None;
        memory.status_failure.clear();
        return Ok(None);
    }
    let (now, seed) = (Instant::now(), key.to_string());
    if let Some(Held { requeue }) = held_back(memory, &verdict.status, now) {
        return Ok(requeue);
    }
    let words = contents(&verdict.status);
    if let Some(wait) = memory.status_told.pause(words, now) {
        return Ok(Some(wait));
    }
    let admitted = match verdict.urgency {
        Urgency::Settled => {
            memory.news_told = None;
            Ok(())
        }
        Urgency::News => pace::admit_news(&mut memory.news_told, now),
        Urgency::Moving => ctx.pace.admit(&mut memory.moving_since, now, &seed),
    };
    if let Err(wait) = admitted {
        return Ok(Some(wait));
    }
    memory.moving_since = None;
    let uid = app.metadata.uid.as_deref().unwrap_or_default();
    match write(ctx, key, uid, &verdict.status).await {
        Ok(()) => {
            memory.status_failure.clear();
            memory.status_told.told(words, now);
            tell(ctx, key, app, &verdict.status, memory);
            Ok(None)
        }
        Err(error) if error.disposition() == Disposition::Gone => Ok(None),
        Err(error) => {
            warn!(namespace = key.namespace(), name = key.name(), "{}", error.message());
            let disposition = error.disposition();
            let situation = situation_after(&error, &verdict.status);
            let delay = |count| disposition.requeue(count, &seed);
            let (_, wait) = memory.status_failure.record((), situation, now, delay);
            Err((Arc::new(error), wait))
        }
    }
}

/// Whether a status that could not be written may not be tried yet, and when it may; `requeue: None` = when something
/// changes.
fn held_back(memory: &Memory, status: &EGAppStatus, now: Instant) -> Option<Held> {
    if memory.status_failure.is_empty() {
        return None;
    }
    let situations = [generation(status), contents(status)];
    let held = situations.iter().find_map(|situation| memory.status_failure.gate(*situation, now));
    held.map(|(.., requeue)| Held { requeue })
}

struct Held {
    requeue: Option<Duration>,
}

/// What a try to write the status depends on. Where the API server does not take it for what it says, that is all of
/// it, the times aside: one that fits by now is tried at once. Else it is the generation: what ails the API server
/// ails it whatever the status says.
fn situation_after(error: &Error, status: &EGAppStatus) -> u64 {
    if error.is_invalid() { contents(status) } else { generation(status) }
}

fn generation(status: &EGAppStatus) -> u64 {
    fnv1a(&status.observed_generation.unwrap_or(0).to_be_bytes())
}

fn contents(status: &EGAppStatus) -> u64 {
    let mut timeless = status.clone();
    for condition in &mut timeless.conditions {
        condition.last_transition_time = Time(Timestamp::UNIX_EPOCH);
    }
    if let Some(failure) = &mut timeless.last_failure {
        failure.since = Time(Timestamp::UNIX_EPOCH);
    }
    fnv1a(json!(timeless).to_string().as_bytes())
}

fn tell(ctx: &Context, key: &ObjectKey, app: &EGApp, written: &EGAppStatus, memory: &mut Memory) {
    if let Some(news) = news::of_override(app.status.as_ref(), written) {
        ctx.tell(key, app.metadata.uid.as_deref(), memory, news);
    }
    if let Some(news) = news::of_status(app.status.as_ref(), written, memory.is_rolling) {
        ctx.tell(key, app.metadata.uid.as_deref(), memory, news);
    }
    memory.is_rolling &= !news::is_up(written);
}

/// An apply sets our fields. Where the reply shows that somebody else has written words that are ours (a condition
/// `Stalled` that does not hold, a count of pods), they are taken back by a merge patch.
async fn write(ctx: &Context, key: &ObjectKey, uid: &str, status: &EGAppStatus) -> Result<(), Error> {
    let apply =
        async |status: &EGAppStatus| ctx.cluster.apply_status(key, &status_patch(uid, &json!(status))).await;
    let mut wanted = ctx.dropped.kept(status, Instant::now());
    let reply = match apply(&wanted).await {
        Err(error) if ctx.dropped.refused(&error, Instant::now()) => {
            wanted = ctx.dropped.kept(status, Instant::now());
            apply(&wanted).await?
        }
        reply => reply?,
    };
    let live = reply.app.ok().and_then(|app| app.status);
    if let Some(live) = &live {
        ctx.dropped.learn(&wanted, live, Instant::now());
    }
    if says(live.as_ref(), &ctx.dropped.kept(&wanted, Instant::now())) {
        return Ok(());
    }
    info!(namespace = key.namespace(), name = key.name(), "taking foreign entries out of the status");
    let patch = status_patch(uid, &replacement(&live.unwrap_or_default(), &wanted));
    ctx.cluster.merge_status(key, &patch).await.map(drop)
}

/// A merge patch that makes `live` say `wanted`: absent fields are named, conditions of other types stay.
fn replacement(live: &EGAppStatus, wanted: &EGAppStatus) -> Value {
    let foreign = live.conditions.iter().filter(|condition| !is_our_type(condition));
    let conditions: Vec<_> = wanted.conditions.iter().chain(foreign).collect();
    let (mut patch, live) = (json!(wanted), json!(live));
    if let (Some(patch), Some(live)) = (patch.as_object_mut(), live.as_object()) {
        for field in live.keys() {
            patch.entry(field).or_insert(Value::Null);
        }
        patch.insert("conditions".to_owned(), json!(conditions));
    }
    patch
}

/// The uid makes the API server refuse if another EGApp has taken the place of the one that was looked at.
fn status_patch(uid: &str, status: &Value) -> Value {
    json!({
        "apiVersion": EGApp::api_version(&()),
        "kind": EGApp::kind(&()),
        "metadata": { "uid": uid },
        "status": status,
    })
}

/// Reports an EGApp in an area of which some kind may not be seen: in its conditions, and nothing else is touched.
pub async fn report_unseen(
    ctx: &Context,
    key: &ObjectKey,
    app: &EGApp,
    why: &str,
    memory: &mut Memory,
) -> Pass {
    if app.metadata.deletion_timestamp.is_some() {
        return Pass::default();
    }
    let status = unseen(app, why, Timestamp::now());
    let verdict = Verdict { status, urgency: Urgency::Settled, is_failing: true, changes_in: None };
    match write_status(ctx, key, app, verdict, memory).await {
        Ok(requeue) => Pass { requeue, ..Pass::default() },
        Err((error, requeue)) => Pass { requeue, error: Some(error), ..Pass::default() },
    }
}

/// Reports an EGApp that this release cannot decode: in the log, and in its conditions if the API server lets us.
pub async fn report_undecodable(
    ctx: &Context,
    key: &ObjectKey,
    app: &Undecodable,
    memory: &mut Memory,
) -> Pass {
    let message = format!("this release of the operator cannot read the EGApp: {}", app.error);
    let status = undecodable(app, key.name(), &message, Timestamp::now());
    if app.is_terminating || says(app.status.as_ref(), &ctx.dropped.kept(&status, Instant::now())) {
        return Pass::default();
    }
    if let Some(Held { requeue }) = held_back(memory, &status, Instant::now()) {
        return Pass { requeue, ..Pass::default() };
    }
    warn!(namespace = key.namespace(), name = key.name(), "{message}");
    let patch = replacement(&app.status.clone().unwrap_or_default(), &status);
    match ctx.cluster.merge_status(key, &status_patch(&app.uid, &patch)).await {
        Ok(entry) => {
            if let Err(Undecodable { status: Some(live), .. }) = &entry.app {
                ctx.dropped.learn(&status, live, Instant::now());
            }
            ctx.tell(key, Some(&app.uid), memory, news::failure(Reason::InvalidSpec.as_str(), &message));
            Pass::default()
        }
        Err(error) => {
            warn!(namespace = key.namespace(), name = key.name(), "{}", error.message());
            let (disposition, seed) = (error.disposition(), key.to_string());
            let delay = |count| disposition.requeue(count, &seed);
            let situation = situation_after(&error, &status);
            let (_, wait) = memory.status_failure.record((), situation, Instant::now(), delay);
            Pass { requeue: wait, error: Some(Arc::new(error)), ..Pass::default() }
        }
    }
}

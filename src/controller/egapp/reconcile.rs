//! One pass over one EGApp: observe → validate → desired → apply → status. The order of the steps and nothing else.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use tracing::warn;

use super::apply::apply;
use super::cluster::AppEntry;
use super::context::Context;
use super::desired::desired;
use super::error::{Disposition, Error};
use super::memory::Memory;
use super::observe::{Observed, Ownership, observe};
use super::report::write_status;
use super::status::{Outcome, status};
use super::validate::{Image, validate};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;
use egapp_api::v1alpha1::EGApp;

/// What became of a pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// When to look again, events aside; `None` = with the next resync.
    pub requeue: Option<Duration>,
    /// What went wrong in this pass, if anything was tried.
    pub error: Option<Arc<Error>>,
}

/// Transient failures are told to people when there were so many in a row.
const FAILURES_BEFORE_NEWS: u32 = 3;

/// Brings one EGApp's children and status to what its spec says.
pub async fn reconcile(ctx: &Context, key: &ObjectKey, app: &EGApp, memory: &mut Memory) -> Pass {
    if app.metadata.deletion_timestamp.is_some() {
        // The garbage collector has the word now: a child written here could outlive its app.
        return Pass::default();
    }
    let uid = app.metadata.uid.as_deref().unwrap_or_default();
    let mut advance = advance(ctx, key, app, memory).await;
    if advance.is_gone {
        return Pass::default();
    }
    let observed = observe(&ctx.cluster.caches, key, uid);
    let outcome = match &advance.failure {
        Some(error) => Outcome::Failed(error),
        None if app.spec.suspend => Outcome::Suspended,
        None => Outcome::InSync,
    };
    let verdict = status(app, advance.image.as_ref(), &observed, outcome, Timestamp::now());
    if !advance.is_too_soon_to_tell {
        let wait = write_status(ctx, key, app, verdict, memory).await;
        match wait {
            Ok(wait) => advance.pass.requeue = earliest(advance.pass.requeue, wait),
            Err((error, wait)) => {
                advance.pass.requeue = earliest(advance.pass.requeue, wait);
                advance.pass.error.get_or_insert(error);
            }
        }
    }
    advance.pass
}

/// How far the children came.
#[derive(Default)]
struct Advance {
    image: Option<Image>,
    /// The error that stands in the way, found now or in a former try that may not be repeated yet.
    failure: Option<Arc<Error>>,
    /// A failure that may be over with the next try is not told to people yet.
    is_too_soon_to_tell: bool,
    /// The EGApp does not exist any more, or is being deleted.
    is_gone: bool,
    pass: Pass,
}

async fn advance(ctx: &Context, key: &ObjectKey, app: &EGApp, memory: &mut Memory) -> Advance {
    let observed = observe(&ctx.cluster.caches, key, app.metadata.uid.as_deref().unwrap_or_default());
    let situation = || situation(app, &observed);
    let workload = match validate(app, &ctx.platform) {
        Ok(workload) => workload,
        Err(error) => return failed(key, situation(), memory, error.into()),
    };
    let image = Some(workload.image.clone());
    if app.spec.suspend {
        return Advance { image, ..Advance::default() };
    }
    if let Some((error, count, left)) = memory.failure.gate(situation, Instant::now())
        && error.costs_a_request()
    {
        let is_too_soon_to_tell = is_too_soon(&error, count);
        let pass = Pass { requeue: left, error: None };
        return Advance { image, failure: Some(error), is_too_soon_to_tell, pass, ..Advance::default() };
    }
    if memory.is_in_sync(app, &observed) {
        return Advance { image, ..Advance::default() };
    }
    let result = match confirm(ctx, key, app, &observed).await {
        Ok(true) => apply(&ctx.cluster, key, desired(&workload), &observed, &mut memory.overridden).await,
        Ok(false) => return Advance { is_gone: true, ..Advance::default() },
        Err(error) => Err(error),
    };
    match result {
        Ok(digest) => {
            memory.failure.clear();
            memory.in_sync = digest.map(|digest| (app.metadata.generation.unwrap_or(0), digest));
            Advance { image, ..Advance::default() }
        }
        Err(error) => Advance { image, ..failed(key, situation(), memory, error) },
    }
}

/// Asks the API server whether the EGApp still lives before a Deployment is made or taken over a second time: the
/// watch of Deployments can be ahead of the watch of EGApps, and then a deleted app's child would come back.
async fn confirm(ctx: &Context, key: &ObjectKey, app: &EGApp, observed: &Observed) -> Result<bool, Error> {
    let is_second_time = app.status.as_ref().and_then(|status| status.observed_generation).unwrap_or(-1) >= 0;
    if !is_second_time || !matches!(observed.ownership, Ownership::Absent | Ownership::Orphan) {
        return Ok(true);
    }
    let entry = ctx.cluster.read_app(key).await?;
    Ok(entry.is_some_and(|AppEntry { app: now, .. }| {
        now.is_ok_and(|now| now.metadata.uid == app.metadata.uid && now.metadata.deletion_timestamp.is_none())
    }))
}

/// A number that stays the same for as long as a repeated try would meet the same EGApp and the same Deployment.
fn situation(app: &EGApp, observed: &Observed) -> u64 {
    let child = observed
        .deployment
        .as_ref()
        .map(|live| (&live.uid, live.details.as_ref().map(|details| details.digest)));
    fnv1a(format!("{:?} {child:?}", app.metadata.generation).as_bytes())
}

fn failed(key: &ObjectKey, situation: u64, memory: &mut Memory, error: Error) -> Advance {
    let disposition = error.disposition();
    if disposition == Disposition::Gone {
        return Advance { is_gone: true, ..Advance::default() };
    }
    let (seed, error) = (key.to_string(), Arc::new(error));
    let (count, wait) = memory
        .failure
        .record(Arc::clone(&error), situation, Instant::now(), |count| disposition.requeue(count, &seed));
    // What a look at the local copies finds is found again with every event: it is news once.
    if count == 1 || error.costs_a_request() {
        let (class, reason) = (disposition.class(), error.reason().as_str());
        warn!(
            namespace = key.namespace(),
            name = key.name(),
            class,
            reason,
            failures = count,
            "{}",
            error.message()
        );
    }
    Advance {
        is_too_soon_to_tell: is_too_soon(&error, count),
        failure: Some(Arc::clone(&error)),
        pass: Pass { requeue: wait, error: Some(error) },
        ..Advance::default()
    }
}

fn is_too_soon(error: &Error, count: u32) -> bool {
    matches!(error.disposition(), Disposition::Transient { .. }) && count < FAILURES_BEFORE_NEWS
}

fn earliest(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

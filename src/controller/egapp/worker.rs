//! One worker: takes keys from the queue, runs a pass over each, and decides when to come back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::yield_now;
use tokio::time::Instant;
use tracing::error;

use super::cluster::CALL_TIMEOUT;
use super::context::Context;
use super::error::{Disposition, RECHECK};
use super::reconcile::{Pass, reconcile};
use super::report::{report_undecodable, report_unseen};
use super::sync::Sight;
use super::turns::{Standing, Step};
use crate::controller::backoff::jitter;
use crate::controller::key::ObjectKey;
use crate::controller::queue::WorkQueue;
use crate::telemetry::Outcome;

/// Requests that a pass sends one after the other at most: it asks for the EGApp, reads, hands over, applies, repairs and
/// applies a Deployment, reads, applies, repairs and applies an autoscaler, and writes the status twice.
const REQUESTS: u32 = 12;

/// A pass that takes longer is abandoned. Each of its requests has a limit of its own, so that it ends by itself and with
/// a report also where none is answered.
const PASS_TIMEOUT: Duration = CALL_TIMEOUT.saturating_mul(REQUESTS + 1);

/// Every app is looked at again after this long, up to twice as long, should an event ever have been lost. It costs
/// no request where nothing is amiss.
const RESYNC: Duration = Duration::from_mins(30);

/// After so many abandoned passes in a row over an app, a platform change waits for it no longer.
const ABANDONED: u8 = 3;

/// Works until the queue is closed.
pub async fn run(ctx: Arc<Context>, queue: Arc<WorkQueue>) {
    while let Some(claim) = queue.take().await {
        let key = claim.key().clone();
        let started = Instant::now();
        let active = ctx.metrics.started();
        let (outcome, requeue) = pass(&ctx, &queue, &key).await;
        drop(active);
        ctx.metrics.finished(outcome, started.elapsed());
        if matches!(outcome, Outcome::Error | Outcome::Timeout | Outcome::Panic) {
            queue.count_retry();
        }
        match requeue {
            Some(Duration::ZERO) => queue.add_rest(key),
            Some(delay) => queue.add_after(key, delay),
            None => (),
        }
        // A pass may end without ever waiting, and so may the next: probes and all else have their turn between.
        yield_now().await;
    }
}

/// One pass over the app of that key, and when to look again; `None` where there is nothing to look at.
async fn pass(ctx: &Context, queue: &WorkQueue, key: &ObjectKey) -> (Outcome, Option<Duration>) {
    let Some(entry) = ctx.cluster.caches(key.namespace()).apps.get(key) else {
        ctx.memories.forget(key);
        let others = || ctx.cluster.caches(key.namespace()).apps.keys();
        let is_last = || others().iter().all(|other| other.namespace() != key.namespace());
        ctx.endings.forget(key.namespace(), is_last);
        take_turns(ctx, queue, key, None);
        return (Outcome::Success, None);
    };
    let uid = entry.uid();
    let mut memory = ctx.memories.take(key, uid);
    let run = async {
        match (&entry.app, ctx.sync.sight(key.namespace())) {
            (Ok(app), Sight::Complete) => reconcile(ctx, key, app, &mut memory).await,
            (Ok(app), Sight::Refused(why)) => report_unseen(ctx, key, app, &why, &mut memory).await,
            (Ok(_), Sight::Awaited) => Pass::default(),
            (Err(undecodable), _) => report_undecodable(ctx, key, undecodable, &mut memory).await,
        }
    };
    let result = tokio::time::timeout(PASS_TIMEOUT, AssertUnwindSafe(run).catch_unwind()).await;
    memory.abandoned = if result.is_err() { memory.abandoned.saturating_add(1) } else { 0 };
    let is_hopeless = memory.abandoned >= ABANDONED;
    ctx.memories.put(key, uid, memory);
    match result {
        Ok(Ok(pass)) => {
            let decision = after(ctx, key, &pass);
            take_turns(ctx, queue, key, pass.standing);
            decision
        }
        Ok(Err(_)) => {
            error!(
                namespace = key.namespace(),
                name = key.name(),
                "the pass panicked: a defect of the operator"
            );
            ctx.metrics.error_class(Disposition::Defect.class());
            // A defect that one app brings out holds up no other.
            take_turns(ctx, queue, key, None);
            (Outcome::Panic, Some(RECHECK))
        }
        Err(_) => {
            let seconds = PASS_TIMEOUT.as_secs();
            error!(
                namespace = key.namespace(),
                name = key.name(),
                "the pass took over {seconds} s and was abandoned"
            );
            // How the app stands to a platform change is not known: to say that it has got through it would hand on its
            // turn while the API server is slow.
            if is_hopeless {
                let why = format!("passes over it take longer than {seconds} s, and are abandoned");
                let standing = Standing::Unclear { why };
                take_turns(ctx, queue, key, Some((ctx.turns.change(ctx.platform().revision()), standing)));
            }
            (Outcome::Timeout, Some(PASS_TIMEOUT))
        }
    }
}

/// Tells how the app stands to a platform change.
fn take_turns(ctx: &Context, queue: &WorkQueue, key: &ObjectKey, standing: Option<(u64, Standing)>) {
    let now = || (ctx.turns.change(ctx.platform().revision()), Standing::default());
    let (change, standing) = standing.unwrap_or_else(now);
    take_step(ctx, queue, ctx.turns.report(key, change, standing));
}

/// Calls the apps whose turn it is, and tells people what they should hear.
pub fn take_step(ctx: &Context, queue: &WorkQueue, Step { next, notice }: Step) {
    for key in next {
        queue.add(key);
    }
    if let Some(notice) = notice {
        notice.log();
        ctx.own_pod.tell(notice.news());
    }
}

fn after(ctx: &Context, key: &ObjectKey, pass: &Pass) -> (Outcome, Option<Duration>) {
    if let Some(error) = &pass.error {
        let disposition = error.disposition();
        ctx.metrics.error_class(disposition.class());
        let outcome = if disposition.is_terminal() { Outcome::TerminalError } else { Outcome::Error };
        return (outcome, pass.requeue.or(Some(resync(key))));
    }
    match pass.requeue {
        Some(wait) => (Outcome::RequeueAfter, Some(wait)),
        None => (Outcome::Success, Some(resync(key))),
    }
}

fn resync(key: &ObjectKey) -> Duration {
    RESYNC + jitter(RESYNC, &key.to_string(), 0)
}

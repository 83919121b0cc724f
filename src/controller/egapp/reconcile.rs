//! One pass over one EGApp: observe → validate → desired → apply → status. The order of the steps and nothing else.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use tracing::warn;

use super::apply::{Applied, apply};
use super::care::care;
use super::change::{Author, Came, Subject, patience};
use super::confirm::{Answer, BEHIND, Doubt, Freshness, confirm};
use super::context::Context;
use super::desired::{Children, desired};
use super::ensure::{Ensure, Failed, Found};
use super::error::{Disposition, Error};
use super::memory::{InSync, Memory};
use super::news;
use super::observe::{Observed, observe};
use super::replicas::Scaling;
use super::report::write_status;
use super::status::{MadeOf, Outcome, status};
use super::turns::Standing;
use super::validate::{SpecError, Workload, validate};
use crate::controller::key::ObjectKey;
use crate::hash::fnv1a;
use crate::platform::Platform;
use egapp_api::v1alpha1::{ConditionType, EGApp};

/// What became of a pass.
#[derive(Debug, Default)]
pub struct Pass {
    /// When to look again, events aside; `None` = with the next resync, zero = when others have had their turn.
    pub requeue: Option<Duration>,
    /// What went wrong in this pass, if anything was tried.
    pub error: Option<Arc<Error>>,
    /// How the app stands to that platform change, if it was looked at for that.
    pub standing: Option<(u64, Standing)>,
}

/// Transient failures are told to people when there were so many in a row.
const FAILURES_BEFORE_NEWS: u32 = 3;

/// Sooner than that, nobody looks again for the time alone.
const A_MOMENT: Duration = Duration::from_secs(1);

/// So long a deletion may take before the status tells of it.
const DELETION: Duration = Duration::from_secs(10);

/// Brings one EGApp's children and status to what its spec says.
pub async fn reconcile(ctx: &Context, key: &ObjectKey, app: &EGApp, memory: &mut Memory) -> Pass {
    if let Some(Time(deleted_at)) = &app.metadata.deletion_timestamp {
        // The garbage collector has the word now: a child written here could outlive its app.
        return terminating(ctx, key, app, memory, *deleted_at).await;
    }
    let mut advance = advance(ctx, key, app, memory).await;
    if advance.is_moot {
        return advance.pass;
    }
    let observed = look(ctx, key, app, memory);
    let outcome = match &advance.hindrance {
        Some(Hindrance { error, spares_deployment: true, .. }) => Outcome::Impaired(error),
        Some(Hindrance { error, .. }) => Outcome::Failed(error),
        None if app.spec.suspend => Outcome::Suspended,
        None if advance.is_unfinished => Outcome::Unfinished(advance.waits_for),
        None => Outcome::InSync,
    };
    let mut verdict = status(app, advance.made_of.as_ref(), &observed, outcome, Timestamp::now());
    advance.pass.requeue = earliest(advance.pass.requeue, memory.other_budget.left(Instant::now()));
    verdict.tell_overrides(app, memory.overrides(), Timestamp::now());
    advance.pass.requeue = earliest(advance.pass.requeue, verdict.changes_in);
    advance.pass.requeue = earliest(advance.pass.requeue, memory.reign.grace(Instant::now()));
    let is_early = advance.hindrance.is_some_and(|hindrance| hindrance.is_too_soon_to_tell);
    let subject = Subject { app, observed: &observed, change: advance.change };
    let (author, patience) = (advance.author, patience(&ctx.platform(), app));
    let now = Instant::now();
    let came = Came { author, verdict: &verdict, is_early, now, patience };
    let standing = subject.standing(&came, memory);
    if matches!(standing, Standing::Rolling { .. }) {
        let left = memory.change.left(patience, now).max(A_MOMENT);
        advance.pass.requeue = earliest(advance.pass.requeue, Some(left));
    }
    subject.sign(&mut verdict.status, &standing);
    advance.pass.standing = Some((advance.change, standing));
    if !is_early && !subject.keeps_its_word(advance.author) {
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

/// An EGApp in deletion is left alone. One that something holds up, a finalizer or a slow child, says so: most are gone
/// before it comes to that, without a request.
async fn terminating(
    ctx: &Context,
    key: &ObjectKey,
    app: &EGApp,
    memory: &mut Memory,
    deleted_at: Timestamp,
) -> Pass {
    let now = Timestamp::now();
    let since = Duration::try_from(now.duration_since(deleted_at)).unwrap_or_default();
    let left = DELETION.saturating_sub(since);
    if !left.is_zero() {
        return Pass { requeue: Some(left), ..Pass::default() };
    }
    let platform = ctx.platform();
    let workload = validate(app, &platform).ok();
    let made_of = workload.map(|Workload { image, resources, .. }| MadeOf { image, resources });
    let uid = app.metadata.uid.as_deref().unwrap_or_default();
    let observed = observe(ctx.cluster.caches(key.namespace()), key, uid);
    let verdict = status(app, made_of.as_ref(), &observed, Outcome::Terminating, now);
    match write_status(ctx, key, app, verdict, memory).await {
        Ok(requeue) => Pass { requeue, ..Pass::default() },
        Err((error, requeue)) => Pass { requeue, error: Some(error), ..Pass::default() },
    }
}

/// How far the children came.
#[derive(Default)]
struct Advance {
    made_of: Option<MadeOf>,
    hindrance: Option<Hindrance>,
    /// A child is not as it is wanted yet.
    is_unfinished: bool,
    /// The kind of which a former object must be gone first.
    waits_for: Option<&'static str>,
    /// The EGApp does not exist any more, is being deleted, or is not seen as it is: there is nothing to tell.
    is_moot: bool,
    /// The platform change that the pass knew of.
    change: u64,
    /// Whose wish it was.
    author: Author,
    pass: Pass,
}

/// What stands in the way, found now or in a former try that may not be repeated yet.
struct Hindrance {
    error: Arc<Error>,
    /// Only another child than the Deployment is concerned.
    spares_deployment: bool,
    /// It may be over with the next try, and is not told to people yet.
    is_too_soon_to_tell: bool,
}

/// What is wanted of an app under a platform.
struct Wanted<'a> {
    workload: Result<Workload<'a>, SpecError>,
    now: InSync,
    /// `None` where nothing is to be done, or the spec cannot be mapped.
    children: Option<Children>,
}

fn wanted<'a>(app: &'a EGApp, platform: &'a Platform, observed: &Observed, memory: &Memory) -> Wanted<'a> {
    let (mut workload, scaling) = (validate(app, platform), Scaling::of(&app.spec, observed));
    let (generation, revision) = (app.metadata.generation.unwrap_or(0), platform.revision());
    let steps_back = memory.other_budget.is_in_the_way();
    let now = InSync { generation, revision, scaling, steps_back };
    let is_at_rest = app.spec.suspend || memory.is_in_sync(&now, observed);
    if !is_at_rest {
        workload = workload.map(|workload| workload.restarted_last(observed.restarted_at()));
    }
    let mapped = workload.as_ref().ok().filter(|_| !is_at_rest);
    let mut children = mapped.map(|workload| desired(workload, scaling.replicas));
    if let (Some(children), true) = (&mut children, steps_back) {
        children.disruption_budget = None;
    }
    Wanted { workload, now, children }
}

/// Whose wish it is; and where it has to wait, the platform by which the app is kept meanwhile.
fn whose(
    ctx: &Context,
    key: &ObjectKey,
    subject: Subject<'_>,
    Wanted { workload, children, .. }: &Wanted<'_>,
    memory: &mut Memory,
) -> (Author, Option<Arc<Platform>>) {
    let turn = ctx.turns.turn(key, subject.change).or_else(|| subject.vain_turn(memory));
    let author = match (workload, children) {
        (Ok(_), None) => turn.map_or(Author::User, Author::PlatformNow),
        (_, children) => subject.author(children.as_ref(), turn, memory),
    };
    memory.template = subject.template().or(memory.template);
    let wanted = children.as_ref();
    let waits = match author {
        Author::User if wanted.is_none() => false,
        Author::User => subject.replaces_pods(wanted, memory) || subject.remakes_otherwise(wanted, memory),
        Author::PlatformLater => true,
        Author::PlatformFormer | Author::PlatformNow(_) => false,
    };
    let template = memory.template.filter(|_| waits);
    match (template.and_then(|template| ctx.formers.of(subject.app, template)), turn) {
        // Its turn came with an edit that does not ask for other pods.
        (Some(_), Some(turn)) => {
            memory.change.had_turn = true;
            (Author::PlatformNow(turn), None)
        }
        (Some(former), None) => (Author::PlatformFormer, Some(former)),
        (None, _) => (author, None),
    }
}

async fn advance(ctx: &Context, key: &ObjectKey, app: &EGApp, memory: &mut Memory) -> Advance {
    let platform = ctx.platform();
    let change = ctx.turns.change(platform.revision());
    memory.enter(change);
    let observed = look(ctx, key, app, memory);
    let subject = Subject { app, observed: &observed, change };
    let mut wish = wanted(app, &platform, &observed, memory);
    let (author, former) = whose(ctx, key, subject, &wish, memory);
    if let Some(former) = &former {
        wish = wanted(app, former, &observed, memory);
    }
    let here = |advance: Advance| Advance { change, author, ..advance };
    if author == Author::PlatformLater {
        return here(spare(ctx, key, app, (wish, &observed), memory).await);
    }
    let Wanted { workload, now, children } = wish;
    let workload = match workload {
        Ok(workload) => workload,
        Err(error) => return here(refused(key, now.generation, memory, error.into())),
    };
    let made_of = Some(MadeOf { image: workload.image.clone(), resources: workload.resources.clone() });
    let Some(mut children) = children else {
        // An edit is brought about where the app waits at rest, too, though no status may have told it yet.
        memory.edit = memory.edit.filter(|_| author != Author::PlatformFormer);
        return here(Advance { made_of, ..Advance::default() });
    };
    if let Err(advance) = settle(ctx, key, app, (&children, &observed), memory).await {
        return here(Advance { made_of, ..advance });
    }
    memory.failure.clear();
    subject.mark(&mut children, author, memory);
    let child = ensure(ctx, key, app);
    let applied = apply(child, (children, now.scaling.autoscaler), &observed, memory).await;
    if applied.0.iter().any(Found::is_ending) {
        ctx.end(key.namespace());
    }
    memory.in_sync = applied.is_in_sync().then_some(now);
    memory.edit = memory.edit.filter(|_| memory.in_sync.is_none());
    memory.is_rolling |= news::rolls(&applied.0);
    let of_platform = matches!(author, Author::PlatformNow(_)).then(|| news::of_platform(&applied.0));
    for news in of_platform.flatten().into_iter().chain(news::of_children(&applied.0, &workload)) {
        ctx.tell(key, app.metadata.uid.as_deref(), memory, news);
    }
    here(Advance { made_of, ..outcome_of(applied) })
}

fn ensure<'a>(ctx: &'a Context, key: &'a ObjectKey, app: &'a EGApp) -> Ensure<'a> {
    let told = app.status.as_ref().and_then(|status| status.condition(ConditionType::Overridden));
    let told = told.map_or("", |condition| condition.message.as_str());
    Ensure { cluster: &ctx.cluster, key, told }
}

/// Cares for an app whose pods are to stay, though nobody knows what made them. What fails with that is tried again, and no
/// matter of its status: that speaks of its pods.
async fn spare(
    ctx: &Context,
    key: &ObjectKey,
    app: &EGApp,
    (wish, observed): (Wanted<'_>, &Observed),
    memory: &mut Memory,
) -> Advance {
    let rest = Advance { made_of: MadeOf::told(app), ..Advance::default() };
    let (Ok(workload), Some(children)) = (&wish.workload, wish.children) else { return rest };
    if let Err(Advance { is_moot, pass, .. }) = settle(ctx, key, app, (&children, observed), memory).await {
        return Advance { is_moot, pass, ..rest };
    }
    let cared = care(ensure(ctx, key, app), (children, wish.now), observed, memory).await;
    for news in news::of_children(&cared.0, workload) {
        ctx.tell(key, app.metadata.uid.as_deref(), memory, news);
    }
    Advance { pass: outcome_of(cared).pass, ..rest }
}

/// The first child that is in the way speaks for all; the earliest of all tries decides when to come again.
fn outcome_of(applied: Applied) -> Advance {
    let mut advance = Advance::default();
    for (position, found) in applied.0.into_iter().enumerate() {
        if matches!(found, Found::Unseen) {
            advance.pass.requeue = Some(Duration::ZERO);
            advance.is_unfinished = true;
        }
        if let Found::Waiting(kind) = found {
            advance.is_unfinished = true;
            advance.waits_for.get_or_insert(kind);
        }
        let Found::Failed(Failed { error, count, wait, is_new }) = found else { continue };
        advance.pass.requeue = earliest(advance.pass.requeue, wait);
        if is_new {
            advance.pass.error.get_or_insert_with(|| Arc::clone(&error));
        }
        let is_too_soon_to_tell = is_too_soon(&error, count);
        advance.hindrance.get_or_insert(Hindrance {
            error,
            spares_deployment: position > 0,
            is_too_soon_to_tell,
        });
    }
    advance
}

/// What the local copies say of the app now, and of who has had its replicas.
fn look(ctx: &Context, key: &ObjectKey, app: &EGApp, memory: &mut Memory) -> Observed {
    let uid = app.metadata.uid.as_deref().unwrap_or_default();
    let mut observed = observe(ctx.cluster.caches(key.namespace()), key, uid);
    let now = Instant::now();
    memory.reign = memory.reign.after(&observed, now);
    observed.is_in_grace = memory.reign.grace(now).is_some();
    memory.other_budget = memory.other_budget.next(&observed.budgeted_by, now);
    observed
}

/// Whether anything may be written: nothing in a namespace that is being deleted, and where there is a doubt, what the API
/// server confirms. What went wrong with that is not asked again before its time.
async fn settle(
    ctx: &Context,
    key: &ObjectKey,
    app: &EGApp,
    (children, observed): (&Children, &Observed),
    memory: &mut Memory,
) -> Result<(), Advance> {
    let (generation, uid) = (app.metadata.generation.unwrap_or(0), app.metadata.uid.as_deref());
    if ctx.endings.has(key.namespace(), uid.unwrap_or_default()) {
        let error = Error::NamespaceEnding { namespace: key.namespace().to_owned() };
        return Err(refused(key, generation, memory, error));
    }
    let freshness = if ctx.sync.is_fresh(key.namespace()) { Freshness::Fresh } else { Freshness::Settled };
    let Some(doubt) = Doubt::of(app, children, observed, memory, freshness) else { return Ok(()) };
    let gate = memory.failure.gate(situation_of(generation), Instant::now());
    if let Some((error, count, wait)) = gate
        && error.costs_a_request()
    {
        return Err(hindered(error, count, wait));
    }
    match confirm(ctx, key, app, doubt).await {
        Ok(Answer::Yes) => Ok(()),
        Ok(Answer::Gone) => Err(Advance { is_moot: true, ..Advance::default() }),
        Ok(Answer::Behind) => {
            let pass = Pass { requeue: Some(BEHIND), ..Pass::default() };
            Err(Advance { is_moot: true, pass, ..Advance::default() })
        }
        Err(error) => Err(refused(key, generation, memory, error)),
    }
}

fn situation_of(generation: i64) -> u64 {
    fnv1a(&generation.to_be_bytes())
}

/// Something about the EGApp as a whole is in the way.
fn refused(key: &ObjectKey, generation: i64, memory: &mut Memory, error: Error) -> Advance {
    let (disposition, seed, error) = (error.disposition(), key.to_string(), Arc::new(error));
    if disposition == Disposition::Gone {
        return Advance { is_moot: true, ..Advance::default() };
    }
    let situation = situation_of(generation);
    let delay = |count| disposition.requeue(count, &seed);
    let (count, wait) = memory.failure.record(Arc::clone(&error), situation, Instant::now(), delay);
    if count == 1 {
        let (class, reason) = (disposition.class(), error.reason().as_str());
        warn!(namespace = key.namespace(), name = key.name(), class, reason, "{}", error.message());
    }
    let mut advance = hindered(Arc::clone(&error), count, wait);
    advance.pass.error = Some(error);
    advance
}

fn hindered(error: Arc<Error>, count: u32, wait: Option<Duration>) -> Advance {
    let is_too_soon_to_tell = is_too_soon(&error, count);
    Advance {
        hindrance: Some(Hindrance { error, spares_deployment: false, is_too_soon_to_tell }),
        pass: Pass { requeue: wait, ..Pass::default() },
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

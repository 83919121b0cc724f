//! Asks the API server once more before something is done for which the local copies alone are no sufficient ground. I/O
//! in [`confirm`].

use std::time::Duration;

use super::cluster::{AppEntry, Target};
use super::context::Context;
use super::desired::Children;
use super::error::Error;
use super::memory::Memory;
use super::observe::{Observed, Ownership};
use super::replicas::Reign;
use crate::controller::key::ObjectKey;
use egapp_api::v1alpha1::EGApp;

/// After so long the local copies have mostly caught up.
pub const BEHIND: Duration = Duration::from_secs(1);

/// What is to be asked before anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Whether the EGApp still lives: a child would be made or taken over a second time, and the watch of a child can be
    /// ahead of the watch of EGApps, so that a deleted app's child would come back.
    Life,
    /// Besides, whether fewer replicas are wanted: what was listed a moment ago may be what an API server that lags has
    /// answered, and hold neither the EGApp's last edit nor an autoscaler. Nor is an autoscaler gone for good that was gone
    /// half a minute ago.
    Fewer,
}

impl Doubt {
    /// What there is to be asked, if anything. `freshness`: of what is seen.
    #[must_use]
    pub fn of(
        app: &EGApp,
        children: &Children,
        observed: &Observed,
        memory: &Memory,
        freshness: Freshness,
    ) -> Option<Self> {
        let is_taken_back = matches!(memory.reign, Reign::Gone(_));
        if (is_taken_back || freshness == Freshness::Fresh) && lowers(children, observed) {
            return Some(Self::Fewer);
        }
        let reported = app.status.as_ref().and_then(|status| status.observed_generation);
        let ownerships = [
            &observed.deployment.ownership,
            &observed.service.ownership,
            &observed.disruption_budget.ownership,
            &observed.autoscaler.ownership,
        ];
        let is_unmade =
            reported == app.metadata.generation && observed.deployment.ownership == Ownership::Absent;
        let was_there = is_unmade || memory.has_lost(observed);
        let is_left_over = ownerships.contains(&&Ownership::Orphan);
        (reported.unwrap_or(-1) >= 0 && (was_there || is_left_over)).then_some(Self::Life)
    }
}

/// How long what is seen has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Since a moment ago.
    Fresh,
    /// For long enough.
    Settled,
}

/// What the API server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is as it was seen.
    Yes,
    /// The EGApp is not there any more, or is being deleted.
    Gone,
    /// The local copies are behind.
    Behind,
}

/// Asks.
///
/// # Errors
/// When the API server refuses or does not answer.
pub async fn confirm(ctx: &Context, key: &ObjectKey, app: &EGApp, doubt: Doubt) -> Result<Answer, Error> {
    let answer = judge(app, ctx.cluster.read_app(key).await?);
    if doubt == Doubt::Life || answer != Answer::Yes {
        return Ok(answer);
    }
    let aims = &ctx.cluster.caches(key.namespace()).aims;
    let known = [Target::Deployment, Target::EGApp].map(|target| aims.of(target, key));
    let now = ctx.cluster.read_autoscalers(key).await?;
    Ok(if now == known { Answer::Yes } else { Answer::Behind })
}

fn judge(app: &EGApp, now: Option<AppEntry>) -> Answer {
    let Some(AppEntry { app: Ok(now), .. }) = now else { return Answer::Gone };
    let is_same = now.metadata.uid == app.metadata.uid && now.metadata.deletion_timestamp.is_none();
    match is_same {
        false => Answer::Gone,
        true if now.metadata.generation == app.metadata.generation => Answer::Yes,
        true => Answer::Behind,
    }
}

fn lowers(children: &Children, observed: &Observed) -> bool {
    let wanted = children.deployment.spec.replicas;
    let is_ours = matches!(observed.deployment.ownership, Ownership::Ours | Ownership::Orphan);
    let live = observed.deployment.live.as_ref().filter(|_| is_ours).and_then(|live| live.details.as_ref());
    let replicas = live.and_then(|live| live.replicas());
    matches!((wanted, replicas), (Some(wanted), Some(replicas)) if wanted < replicas)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::controller::egapp::cluster::{AppView, Caches, Live, View};
    use crate::controller::egapp::desired::desired;
    use crate::controller::egapp::observe::observe;
    use crate::controller::egapp::replicas::Replicas;
    use crate::controller::egapp::validate::validate;
    use crate::platform::Platform;

    fn object(generation: i64, change: &Value) -> Value {
        let mut object = json!({
            "metadata": { "name": "web", "namespace": "team", "uid": "u", "generation": generation, "resourceVersion": "1" },
            "spec": { "framework": "go", "environment": "dev" },
        });
        for (field, value) in change.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        object
    }

    fn entry(object: Value) -> AppEntry {
        serde_json::from_value::<AppView>(object).unwrap().into()
    }

    #[test]
    fn an_egapp_that_was_edited_since_is_not_gone_by_and_one_that_is_another_is_gone() {
        let seen = entry(object(3, &json!({}))).app.unwrap();
        let answer = |now: Option<Value>| judge(&seen, now.map(entry));
        assert_eq!(answer(Some(object(3, &json!({})))), Answer::Yes);
        assert_eq!(answer(Some(object(4, &json!({})))), Answer::Behind);
        assert_eq!(answer(Some(object(3, &json!({ "uid": "v" })))), Answer::Gone);
        assert_eq!(
            answer(Some(object(3, &json!({ "deletionTimestamp": "2026-02-03T04:05:06Z" })))),
            Answer::Gone
        );
        assert_eq!(answer(None), Answer::Gone);
    }

    #[test]
    fn fewer_replicas_are_asked_about_while_what_is_seen_is_fresh() {
        let app = entry(object(3, &json!({}))).app.unwrap();
        let platform = Platform::built_in();
        let workload = validate(&app, &platform).unwrap();
        let doubt_of = |memory: &Memory, wanted: Replicas, live: i32, freshness| {
            let mut deployment = json!(desired(&workload, Replicas::Ours(live)).deployment);
            deployment["metadata"]["uid"] = json!("d");
            let view: View<Deployment> = serde_json::from_value(deployment).unwrap();
            let caches = Caches::default();
            caches.deployments.handle(Event::Apply(Live::from(view)));
            let observed = observe(&caches, &ObjectKey::new("team", "web"), "u");
            Doubt::of(&app, &desired(&workload, wanted), &observed, memory, freshness)
        };
        let doubt = |wanted, live, freshness| doubt_of(&Memory::default(), wanted, live, freshness);
        let taken_back = Memory { reign: Reign::Gone(Instant::now()), ..Memory::default() };
        assert_eq!(doubt_of(&taken_back, Replicas::Ours(3), 10, Freshness::Settled), Some(Doubt::Fewer));
        assert_eq!(doubt(Replicas::Ours(3), 10, Freshness::Fresh), Some(Doubt::Fewer));
        assert_eq!(doubt(Replicas::Ours(3), 10, Freshness::Settled), None);
        assert_eq!(doubt(Replicas::Ours(10), 10, Freshness::Fresh), None);
        assert_eq!(doubt(Replicas::Ours(11), 10, Freshness::Fresh), None);
        assert_eq!(doubt(Replicas::Autoscaled, 10, Freshness::Fresh), None);
    }
}

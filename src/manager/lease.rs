//! Who may lead: a lease as it was seen, the time that has passed since, and what follows. Pure.
//!
//! The protocol is client-go's `tools/leaderelection`. Clocks of other machines are never compared with ours: a lease
//! has expired when we have seen no change of it for as long as it promises to last, by our own monotonic clock.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// How long a lease lasts without being renewed.
pub(super) const LEASE: Duration = Duration::from_secs(15);
/// How long a leader works on without a renewal that succeeded; the rest of the lease covers requests on their way.
pub(super) const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often a leader renews.
pub(super) const RENEW_PERIOD: Duration = Duration::from_secs(2);
/// What a lease that was given back lasts: short, should a client not understand an empty holder.
const RELEASED_SECONDS: i32 = 1;

/// What a lease says, without what does not concern the election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Identity of the holder; empty where nobody holds it.
    pub(super) holder: String,
    pub(super) lasts: Duration,
    pub(super) acquired: Option<MicroTime>,
    pub(super) renewed: Option<MicroTime>,
    pub(super) transitions: i32,
}

impl From<&LeaseSpec> for Record {
    fn from(spec: &LeaseSpec) -> Self {
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            holder: spec.holder_identity.clone().unwrap_or_default(),
            lasts: seconds.filter(|seconds| *seconds > 0).map_or(LEASE, Duration::from_secs),
            acquired: spec.acquire_time.clone(),
            renewed: spec.renew_time.clone(),
            transitions: spec.lease_transitions.unwrap_or(0),
        }
    }
}

/// A record, and since when we have seen it unchanged.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) record: Record,
    pub(super) since: Instant,
}

impl Observation {
    /// `record` as seen at `now`: a change starts its time anew, the same content does not.
    pub(super) fn update(previous: Option<Self>, record: Record, now: Instant) -> Self {
        match previous {
            Some(seen) if seen.record == record => seen,
            Some(_) | None => Self { record, since: now },
        }
    }

    /// How long the record is still valid.
    fn left(&self, now: Instant) -> Duration {
        self.record.lasts.saturating_sub(now.saturating_duration_since(self.since))
    }
}

/// What a process is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Does not lead, and would.
    Candidate,
    /// Leads.
    Leader,
}

/// What to do about the lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// There is none: create it.
    Create,
    /// Nobody holds it any more: take it.
    Take,
    /// It is ours: renew it.
    Renew,
    /// Somebody else holds it; it expires after `left` unless it is renewed.
    Wait {
        /// Who holds it.
        holder: String,
        /// How long it is still valid.
        left: Duration,
    },
    /// We led, and somebody else holds it now.
    Lost {
        /// Who holds it.
        holder: String,
    },
}

/// What the process called `me` in `role` does about the lease that it sees.
pub(super) fn decide(seen: Option<&Observation>, me: &str, role: Role, now: Instant) -> Decision {
    let Some(seen) = seen else { return Decision::Create };
    let holder = seen.record.holder.clone();
    if holder.is_empty() {
        return Decision::Take;
    }
    if holder == me {
        return Decision::Renew;
    }
    match (role, seen.left(now)) {
        (Role::Leader, _) => Decision::Lost { holder },
        (Role::Candidate, Duration::ZERO) => Decision::Take,
        (Role::Candidate, left) => Decision::Wait { holder, left },
    }
}

/// The lease as `me` writes it to hold it. A change of holder counts as a transition and starts the term at `now`;
/// what does not concern the election stays as it was.
pub(super) fn held(previous: Option<LeaseSpec>, me: &str, now: MicroTime) -> LeaseSpec {
    let first = previous.is_none();
    let spec = previous.unwrap_or_default();
    let renewal = spec.holder_identity.as_deref() == Some(me);
    let transitions = spec.lease_transitions.unwrap_or(0);
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE.as_secs()).ok(),
        acquire_time: spec.acquire_time.filter(|_| renewal).or_else(|| Some(now.clone())),
        renew_time: Some(now),
        lease_transitions: Some(if first || renewal { transitions } else { transitions.saturating_add(1) }),
        preferred_holder: spec.preferred_holder,
        strategy: spec.strategy,
    }
}

/// The lease as its holder writes it to give it back.
pub(super) fn released(previous: LeaseSpec, now: MicroTime) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(RELEASED_SECONDS),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        ..previous
    }
}

/// How long a candidate sleeps before it looks again: one to two seconds, spread by `chance` (0 to 1) so that candidates
/// do not move in step, and no longer than the lease is valid.
///
/// Shorter than client-go's 2 to 4.4 s: a lease that was given back is to be taken up within two seconds.
pub(super) fn candidate_pause(left: Option<Duration>, chance: f64) -> Duration {
    let period = Duration::from_secs(1) + Duration::from_millis(900).mul_f64(chance);
    let after_expiry = Duration::from_millis(10) + Duration::from_millis(190).mul_f64(chance);
    left.map_or(period, |left| period.min(left + after_expiry))
}

//! Runs for the leader lease and keeps it. I/O: reads and writes one Lease.
//!
//! What to do about the lease is decided in [`lease`](super::lease); this module sends the requests, keeps the time and
//! opens and closes the [`Fence`]. A leader writes without reading first and looks again only when that fails.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::fence::Fence;
use super::identity::chance;
use super::lease::{
    Decision, Observation, RENEW_DEADLINE, RENEW_PERIOD, Record, Role, candidate_pause, decide, held,
    released,
};
use crate::telemetry::{Chain, LeaderMetrics};

/// What one attempt may take, all its requests together: half the renew deadline, as in client-go.
const ATTEMPT: Duration = Duration::from_secs(5);
/// What giving the lease back may take.
const RELEASE: Duration = Duration::from_secs(1);

/// This process must not work on.
#[derive(Debug, Error)]
pub enum LeaderError {
    /// The lease names another holder.
    #[error("leader election lost: lease {lease} is held by {holder} now")]
    Lost {
        /// Namespace and name of the lease.
        lease: String,
        /// Who holds it.
        holder: String,
    },
    /// The lease could not be renewed in time.
    #[error("leader election lost: lease {lease} could not be renewed for {} s ({reason})", RENEW_DEADLINE.as_secs())]
    Expired {
        /// Namespace and name of the lease.
        lease: String,
        /// What the last attempt met.
        reason: String,
    },
}

/// A failed attempt; there will be another.
#[derive(Debug, Error)]
enum AttemptError {
    #[error("the API server did not answer in time")]
    Unanswered,
    #[error("the lease was changed by somebody else at the same moment")]
    Contended,
    #[error(transparent)]
    Refused(#[from] kube::Error),
}

/// What an attempt found.
enum Hold {
    /// The lease is ours.
    Ours,
    /// The lease is another's, for this long unless renewed.
    Others { holder: String, left: Duration },
    /// The lease was ours and is another's.
    Lost { holder: String },
}

/// Where the lease is, and who contends for it.
pub(super) struct Candidacy {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) identity: String,
}

/// One process in the election.
pub(super) struct Elector {
    leases: Api<Lease>,
    candidacy: Candidacy,
    fence: Fence,
    metrics: LeaderMetrics,
    role: Role,
    stored: Option<Lease>,
    seen: Option<Observation>,
    said: String,
}

impl Elector {
    /// `client` must not retry by itself: what counts is when an attempt was begun.
    pub(super) fn new(client: Client, candidacy: Candidacy, fence: Fence, metrics: LeaderMetrics) -> Self {
        metrics.standing_by();
        Self {
            leases: Api::namespaced(client, &candidacy.namespace),
            candidacy,
            fence,
            metrics,
            role: Role::Candidate,
            stored: None,
            seen: None,
            said: String::new(),
        }
    }

    /// Runs for the lease, cancels `elected` once it is ours, and keeps it until `resign` is cancelled; then gives it
    /// back. Whoever works under the lease must have stopped before `resign` is cancelled.
    ///
    /// # Errors
    /// [`LeaderError`] once the lease is lost; the fence is shut by then.
    pub(super) async fn run(
        mut self,
        elected: CancellationToken,
        resign: CancellationToken,
    ) -> Result<(), LeaderError> {
        info!(lease = self.lease(), identity = self.candidacy.identity, "attempting to acquire leader lease");
        let Some(deadline) = self.acquire(&resign).await else { return Ok(()) };
        info!(lease = self.lease(), "successfully acquired lease");
        self.role = Role::Leader;
        self.metrics.leading();
        elected.cancel();
        let kept = self.keep(deadline, &resign).await;
        self.fence.close();
        self.metrics.standing_by();
        if kept.is_ok() {
            self.release().await;
        }
        kept
    }

    /// Tries until the lease is ours, and returns until when; `None` once `resign` is cancelled.
    async fn acquire(&mut self, resign: &CancellationToken) -> Option<Instant> {
        loop {
            let begun = Instant::now();
            // Never cancelled half-way: a write that took effect would leave a lease that nobody renews.
            let left = match self.attempt().await {
                Ok(Hold::Ours) => return Some(self.extend(begun)),
                Ok(Hold::Others { holder, left }) => {
                    self.say(format!("leader lease is held by {holder}; standing by"));
                    Some(left)
                }
                Ok(Hold::Lost { .. }) | Err(AttemptError::Contended) => None,
                Err(error) => {
                    self.warn_once("cannot acquire the leader lease", &error);
                    None
                }
            };
            resign.run_until_cancelled(sleep(candidate_pause(left, chance()))).await?;
        }
    }

    /// Renews the lease until `resign` is cancelled.
    async fn keep(&mut self, mut deadline: Instant, resign: &CancellationToken) -> Result<(), LeaderError> {
        let mut reason = "this process did not run".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if resign.run_until_cancelled(sleep(RENEW_PERIOD.min(left))).await.is_none() {
                return Ok(());
            }
            let begun = Instant::now();
            if begun >= deadline {
                return Err(LeaderError::Expired { lease: self.lease(), reason });
            }
            match timeout(deadline - begun, self.attempt()).await.unwrap_or(Err(AttemptError::Unanswered)) {
                Ok(Hold::Ours) => deadline = self.extend(begun),
                Ok(Hold::Lost { holder } | Hold::Others { holder, .. }) => {
                    return Err(LeaderError::Lost { lease: self.lease(), holder });
                }
                Err(error) => {
                    self.warn_once("cannot renew the leader lease", &error);
                    reason = Chain(&error).to_string();
                }
            }
        }
    }

    /// The lease was written by an attempt begun then: others wait at least its full duration from that moment on.
    fn extend(&mut self, begun: Instant) -> Instant {
        self.said.clear();
        let deadline = begun + RENEW_DEADLINE;
        self.fence.open_until(deadline);
        deadline
    }

    /// One attempt to acquire or renew.
    async fn attempt(&mut self) -> Result<Hold, AttemptError> {
        timeout(ATTEMPT, self.try_to_hold()).await.unwrap_or(Err(AttemptError::Unanswered))
    }

    async fn try_to_hold(&mut self) -> Result<Hold, AttemptError> {
        if let (Role::Leader, Some(lease)) = (self.role, self.stored.take()) {
            match self.write(lease).await {
                Err(AttemptError::Contended) => debug!("the lease is not as it was left; looking at it"),
                done => return done,
            }
        }
        let lease = self.look().await?;
        match decide(self.seen.as_ref(), &self.candidacy.identity, self.role, Instant::now()) {
            Decision::Create | Decision::Take | Decision::Renew => {
                self.write(lease.unwrap_or_default()).await
            }
            Decision::Wait { holder, left } => Ok(Hold::Others { holder, left }),
            Decision::Lost { holder } => Ok(Hold::Lost { holder }),
        }
    }

    /// Reads the lease and notes whether it has changed since it was last read.
    async fn look(&mut self) -> Result<Option<Lease>, AttemptError> {
        let lease = self.leases.get_opt(&self.candidacy.name).await?;
        let now = Instant::now();
        self.seen = lease.as_ref().map(|lease| {
            let record = Record::from(&lease.spec.clone().unwrap_or_default());
            Observation::update(self.seen.take(), record, now)
        });
        Ok(lease)
    }

    /// Writes the lease as ours. The resourceVersion it was read with is the precondition: of two writers one fails.
    async fn write(&mut self, mut lease: Lease) -> Result<Hold, AttemptError> {
        let me = &self.candidacy.identity;
        lease.spec = Some(held(lease.spec.take(), me, now()));
        let written = if lease.metadata.resource_version.is_some() {
            self.leases.replace(&self.candidacy.name, &PostParams::default(), &lease).await
        } else {
            lease.metadata = ObjectMeta { name: Some(self.candidacy.name.clone()), ..ObjectMeta::default() };
            self.leases.create(&PostParams::default(), &lease).await
        };
        self.stored = Some(written.map_err(contended)?);
        Ok(Hold::Ours)
    }

    /// Gives the lease back, so that the next leader need not wait for it to expire.
    async fn release(&mut self) {
        match timeout(RELEASE, self.try_to_release()).await.unwrap_or(Err(AttemptError::Unanswered)) {
            Ok(()) => info!(lease = self.lease(), "released the leader lease"),
            Err(error) => {
                warn!(lease = self.lease(), error = %Chain(&error), "cannot release the leader lease; it will expire");
            }
        }
    }

    async fn try_to_release(&mut self) -> Result<(), AttemptError> {
        loop {
            let lease = match self.stored.take() {
                Some(lease) => Some(lease),
                None => self.look().await?,
            };
            let Some(mut lease) = lease else { return Ok(()) };
            let spec = lease.spec.take().unwrap_or_default();
            if spec.holder_identity.as_ref() != Some(&self.candidacy.identity) {
                return Ok(());
            }
            lease.spec = Some(released(spec, now()));
            let written = self.leases.replace(&self.candidacy.name, &PostParams::default(), &lease).await;
            match written.map_err(contended) {
                Err(AttemptError::Contended) => (),
                done => return done.map(drop),
            }
        }
    }

    fn lease(&self) -> String {
        format!("{}/{}", self.candidacy.namespace, self.candidacy.name)
    }

    /// Logs what is going on once, not at every attempt.
    fn say(&mut self, what: String) {
        if self.said != what {
            info!(lease = self.lease(), "{what}");
            self.said = what;
        }
    }

    fn warn_once(&mut self, what: &str, error: &AttemptError) {
        let reason = Chain(error).to_string();
        if self.said != reason {
            warn!(lease = self.lease(), error = reason, "{what}; trying again");
            self.said = reason;
        }
    }
}

/// Sorts out the refusals that mean "look again": changed (409) or gone (404) since it was read.
fn contended(error: kube::Error) -> AttemptError {
    if let kube::Error::Api(status) = &error
        && matches!(status.code, 404 | 409)
    {
        return AttemptError::Contended;
    }
    AttemptError::Refused(error)
}

/// The wall clock, which the lease shows to people; nothing is decided by it.
fn now() -> MicroTime {
    MicroTime(Timestamp::now())
}

//! Lets writes through while this process may make them. No I/O.
//!
//! A leader must not write once its lease may have passed to another, not even where its tasks have yet to notice: after
//! the process was frozen, or while a renewal hangs. The client asks the fence before each request that changes
//! something, so that no controller has to.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::Method;
use thiserror::Error;

/// A write was held back: this process does not hold the lease.
#[derive(Debug, Error)]
#[error("not sent: this process does not hold the leader lease")]
pub(super) struct NotLeading;

/// The fence of one process; clones are the same fence.
#[derive(Clone)]
pub(super) struct Fence(Arc<Mutex<State>>);

#[derive(Clone, Copy)]
enum State {
    /// No election: the process may always write.
    Open,
    /// The process does not lead.
    Shut,
    /// The process leads, and may write until then unless the lease is renewed.
    OpenUntil(Instant),
}

impl Fence {
    /// For a process that takes part in no election.
    pub(super) fn open() -> Self {
        Self(Arc::new(Mutex::new(State::Open)))
    }

    /// For a candidate.
    pub(super) fn shut() -> Self {
        Self(Arc::new(Mutex::new(State::Shut)))
    }

    /// The lease was acquired or renewed.
    pub(super) fn open_until(&self, deadline: Instant) {
        self.set(State::OpenUntil(deadline));
    }

    /// The lease was lost or is about to be given back.
    pub(super) fn close(&self) {
        self.set(State::Shut);
    }

    /// Whether a request with this method may be sent at `now`.
    pub(super) fn check(&self, method: &Method, now: Instant) -> Result<(), NotLeading> {
        let state = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state {
            _ if method.is_safe() => Ok(()),
            State::Open => Ok(()),
            State::OpenUntil(deadline) if now < deadline => Ok(()),
            State::OpenUntil(_) | State::Shut => Err(NotLeading),
        }
    }

    fn set(&self, state: State) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn may_write(fence: &Fence, now: Instant) -> bool {
        [Method::POST, Method::PUT, Method::PATCH, Method::DELETE]
            .iter()
            .all(|method| fence.check(method, now).is_ok())
    }

    #[test]
    fn without_an_election_everything_passes() {
        assert!(may_write(&Fence::open(), Instant::now()));
    }

    #[test]
    fn a_standby_reads_and_does_not_write() {
        let fence = Fence::shut();
        assert!(!may_write(&fence, Instant::now()));
        assert!(fence.check(&Method::GET, Instant::now()).is_ok());
    }

    #[test]
    fn a_leader_writes_until_its_deadline_and_after_it_only_when_renewed() {
        let start = Instant::now();
        let fence = Fence::shut();
        fence.open_until(start + Duration::from_secs(10));
        assert!(may_write(&fence, start + Duration::from_millis(9_999)));
        assert!(!may_write(&fence, start + Duration::from_secs(10)));
        fence.open_until(start + Duration::from_secs(20));
        assert!(may_write(&fence, start + Duration::from_secs(10)));
        fence.close();
        assert!(!may_write(&fence, start));
    }
}

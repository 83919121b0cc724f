//! Stops, kills, freezes and restarts the parts of a cluster. Signals and starts processes.
//!
//! Not for a shared cluster: the other tests would see the faults as well.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time;

use crate::{Cluster, Error, Part, Result, process::Process};

/// How long a part may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

impl Cluster {
    /// Starts a part that does not run and waits until it can be used: etcd until it listens, the API server
    /// until it is ready. The others answer no such question and only are started.
    ///
    /// # Errors
    /// The part cannot be started, or does not become ready.
    pub async fn start(&self, part: Part) -> Result<()> {
        self.state().start(part)?;
        self.wait_until_ready(part).await
    }

    /// Asks a part to end and waits for it, for at most 10 s; then kills it.
    ///
    /// # Errors
    /// There is no such part, or it cannot be signalled.
    pub async fn stop(&self, part: Part) -> Result<()> {
        if !self.is_running(part) {
            return Ok(());
        }
        self.signal(part, Signal::TERM)?;
        let asked = Instant::now();
        while self.is_running(part) && asked.elapsed() < GRACE {
            time::sleep(POLL).await;
        }
        self.kill(part)
    }

    /// Ends a part as a crash of it would: without any warning.
    ///
    /// # Errors
    /// There is no such part, or it cannot be signalled.
    pub fn kill(&self, part: Part) -> Result<()> {
        self.with_process(part, Process::kill)
    }

    /// [`Cluster::stop`], then [`Cluster::start`].
    ///
    /// # Errors
    /// As those two.
    pub async fn restart(&self, part: Part) -> Result<()> {
        self.stop(part).await?;
        self.start(part).await
    }

    /// Freezes a part: its connections stay open and nothing is answered.
    ///
    /// # Errors
    /// The part does not run.
    pub fn pause(&self, part: Part) -> Result<()> {
        self.signal(part, Signal::STOP)
    }

    /// Lets a frozen part go on.
    ///
    /// # Errors
    /// The part does not run.
    pub fn resume(&self, part: Part) -> Result<()> {
        self.signal(part, Signal::CONT)
    }

    /// Whether a part runs, frozen or not.
    #[must_use]
    pub fn is_running(&self, part: Part) -> bool {
        self.state().processes.get_mut(&part).is_some_and(Process::is_running)
    }

    /// Process id of a part that runs.
    #[must_use]
    pub fn pid(&self, part: Part) -> Option<u32> {
        self.state().processes.get_mut(&part).and_then(Process::pid)
    }

    fn signal(&self, part: Part, signal: Signal) -> Result<()> {
        self.with_process(part, |process| process.signal(signal))
    }

    fn with_process(&self, part: Part, act: impl FnOnce(&mut Process) -> Result<()>) -> Result<()> {
        self.state().processes.get_mut(&part).ok_or(Error::NoSuchPart { part }).and_then(act)
    }
}

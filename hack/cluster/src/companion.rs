//! Programs that run beside a cluster, say the operator under test, and end with it.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use rustix::process::{Signal, kill_process};
use tokio::time::Instant;

use crate::{Cluster, Error, Result, process};

/// How often an ended program is looked for.
const POLL: Duration = Duration::from_millis(20);

/// A program in the process group of a cluster: it ends with the cluster at the latest, and with this handle.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    log: PathBuf,
}

impl Cluster {
    /// Starts a program beside the cluster, its output in the file `<name>.log` of [`Cluster::logs_dir`].
    ///
    /// # Errors
    /// The log cannot be written, or the program cannot be started.
    pub fn companion(&self, name: &str, command: &mut Command) -> Result<Companion> {
        let log = self.logs_dir().join(format!("{name}.log"));
        let child = self.state().group.spawn_command(command, &log)?;
        Ok(Companion { child, log })
    }
}

impl Companion {
    /// File with everything the program printed.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The program has ended already.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        process::pid(&self.child)
            .and_then(|pid| kill_process(pid, signal).map_err(io::Error::from))
            .map_err(|source| Error::Companion { log: self.log.clone(), source })
    }

    /// Waits for the program to end by itself.
    ///
    /// # Errors
    /// It runs for longer than `limit`.
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        let failed = |source| Error::Companion { log: self.log.clone(), source };
        loop {
            if let Some(status) = self.child.try_wait().map_err(failed)? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err(failed(io::ErrorKind::TimedOut.into()));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Asks the program to end (`SIGTERM`), and waits until it has.
    ///
    /// # Errors
    /// It has ended already, or does not within `limit`.
    pub async fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait(limit).await
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // Fails only where it has ended already.
        crate::error::ignore(self.child.kill());
        crate::error::ignore(self.child.wait());
    }
}

//! Signals to this process and from it.

use std::io;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{self, SignalKind};

use super::error::CliError;

/// SIGINT, SIGTERM and SIGHUP, from the moment this is made.
pub(super) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hangup: unix::Signal,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// SIGINT, which a terminal sends to all programs it runs.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, CliError> {
        let listen = |kind| unix::signal(kind).map_err(CliError::Signals);
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.interrupt.recv() => Request::Interrupt,
            _ = self.terminate.recv() => Request::Terminate,
            _ = self.hangup.recv() => Request::HangUp,
        }
    }
}

/// Sends a signal to a process.
pub(super) fn send(pid: i32, signal: Signal) -> Result<(), CliError> {
    Pid::from_raw(pid)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        .and_then(|target| kill_process(target, signal).map_err(io::Error::from))
        .map_err(|source| CliError::Signal { pid, source })
}

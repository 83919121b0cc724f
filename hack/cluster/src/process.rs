//! Child processes that die with this one. Starts, signals and waits for processes.
//!
//! All children of a cluster are in one process group whose leader is a guard: a shell that reads a pipe only
//! this process holds. However this process ends, `SIGKILL` included, the system closes the pipe, and the guard
//! kills its group and itself. There is no gap: a child on its way to `exec` still holds the pipe, and has joined
//! the group by the time it lets go. Unlike `PR_SET_PDEATHSIG` this does not hang on the life of a thread, needs
//! no `unsafe` and no Linux.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{
    Error, Part, Result, error,
    layout::{ETCD_DATA, KEEP_MARKER},
};

/// `$1` is a directory to remove, or empty; `$2` is a file whose existence forbids that, but for the bulk of the
/// data in `$3`. The directory gets another name first, so that nothing is created in it meanwhile.
const GUARD: &str = r#"
read -r _
if [ -z "$1" ]; then :
elif [ -e "$2" ]; then rm -rf -- "$3"
else mv -- "$1" "$1.gone" && rm -rf -- "$1.gone"
fi
kill -s KILL 0
"#;
const TAIL_LINES: usize = 15;

/// What the guard does with the cluster's directory when this process ends without having done it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    Remove,
    Keep,
}

/// A process group and the guard that leads it. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Group {
    guard: Child,
    id: Pid,
    is_gone: bool,
}

impl Group {
    /// Starts the guard of what happens in `directory`.
    pub(crate) fn start(directory: &Path, leftovers: Leftovers) -> Result<Self> {
        let removed = match leftovers {
            Leftovers::Remove => directory,
            Leftovers::Keep => Path::new(""),
        };
        let failed = |source| Error::Spawn { program: "sh".into(), source };
        let guard = Command::new("sh")
            .args(["-c", GUARD, "cluster-guard"])
            .args([removed, &directory.join(KEEP_MARKER), &directory.join(ETCD_DATA)])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let id = pid(&guard).map_err(failed)?;
        Ok(Self { guard, id, is_gone: false })
    }

    /// Starts a program in the group.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        command.stdin(Stdio::null()).process_group(self.id.as_raw_nonzero().get()).spawn()
    }

    /// Kills every process of the group, the guard included, and reaps the guard.
    pub(crate) fn kill(&mut self) {
        if self.is_gone {
            return;
        }
        self.is_gone = true;
        error::ignore(kill_process_group(self.id, Signal::KILL).map_err(io::Error::from));
        error::ignore(self.guard.wait());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Lets a program write to the end of a log.
pub(crate) fn log_to(command: &mut Command, log: &Path) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(log).map_err(Error::file("open", log))?;
    let copy = file.try_clone().map_err(Error::file("open", log))?;
    command.stdout(file).stderr(copy);
    Ok(())
}

/// A program with its arguments, as it is started and started again.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) part: Part,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) log: PathBuf,
}

/// One part of a cluster, running or not.
#[derive(Debug)]
pub(crate) struct Process {
    program: Program,
    child: Option<Child>,
}

impl Process {
    pub(crate) fn new(program: Program) -> Self {
        Self { program, child: None }
    }

    /// Starts the program unless it runs.
    pub(crate) fn start(&mut self, group: &Group) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let mut command = Command::new(&self.program.path);
        command.args(&self.program.arguments);
        log_to(&mut command, &self.program.log)?;
        let failed = |source| Error::Spawn { program: self.program.path.clone(), source };
        self.child = Some(group.spawn(&mut command).map_err(failed)?);
        Ok(())
    }

    pub(crate) fn pid(&mut self) -> Option<u32> {
        if self.is_running() { self.child.as_ref().map(Child::id) } else { None }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.ended().is_ok_and(|ended| ended.is_none()) && self.child.is_some()
    }

    /// An error if the program has ended by itself.
    pub(crate) fn check(&mut self) -> Result<()> {
        let part = self.program.part;
        match self.ended() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                let log = self.program.log.clone();
                Err(Error::PartExited { part, status, tail: tail(&log), log })
            }
            Err(source) => Err(Error::Signal { part, source }),
        }
    }

    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.as_mut().map_or(Ok(None), Child::try_wait)
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        let part = self.program.part;
        let Some(child) = self.child.as_ref() else {
            return Err(Error::NotRunning { part });
        };
        pid(child)
            .and_then(|pid| kill_process(pid, signal).map_err(io::Error::from))
            .map_err(|source| Error::Signal { part, source })
    }

    /// Kills the program and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let part = self.program.part;
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).map_err(|source| Error::Signal { part, source })?;
        Ok(())
    }
}

pub(crate) fn pid(child: &Child) -> io::Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The last lines of a log, indented; empty if it cannot be read.
pub(crate) fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(TAIL_LINES);
    lines.iter().skip(skipped).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_is_the_end_of_the_log() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
        fs::write(file.path(), lines.join("\n")).unwrap();
        let tail = tail(file.path());
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(tail.ends_with("    line 40"), "{tail}");
    }

    #[test]
    fn tail_of_a_missing_log_is_empty() {
        assert_eq!(tail(Path::new("/nonexistent/log")), "");
    }
}

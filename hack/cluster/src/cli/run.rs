//! `run`: a command with a cluster of its own. Starts processes.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, IsTerminal},
    os::unix::process::ExitStatusExt,
    process::{ExitCode, ExitStatus},
    time::Instant,
};

use cluster::{Cluster, Options};
use rustix::process::Signal;
use tokio::process::{Child, Command};

use super::{
    error::CliError,
    output,
    signals::{self, Request, Signals},
};

/// Starts a cluster, runs the command, stops the cluster; the command's exit code is the answer.
pub(super) async fn run(options: Options, command: &[OsString]) -> Result<ExitCode, CliError> {
    let mut signals = Signals::listen()?;
    let started = Instant::now();
    output::step("starting Kubernetes");
    let cluster = tokio::select! {
        cluster = options.start() => cluster?,
        _ = signals.next() => return Err(CliError::Interrupted),
    };
    output::done(&format!("ready, KUBECONFIG={}", cluster.kubeconfig().display()), started.elapsed());
    let status = run_command(&cluster, command, &mut signals).await;
    cluster.shutdown().await?;
    output::step("stopped");
    Ok(exit_code(status?))
}

async fn run_command(
    cluster: &Cluster,
    command: &[OsString],
    signals: &mut Signals,
) -> Result<ExitStatus, CliError> {
    let [program, arguments @ ..] = command else {
        return Err(CliError::Command {
            program: "nothing".to_owned(),
            source: io::ErrorKind::InvalidInput.into(),
        });
    };
    let failed = |source| CliError::Command { program: program.to_string_lossy().into_owned(), source };
    let mut child = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("KUBECACHEDIR", cluster.directory().join("kubectl-cache"))
        .env("PATH", path_with(cluster.assets().folder().as_os_str()))
        .spawn()
        .map_err(failed)?;
    loop {
        tokio::select! {
            status = child.wait() => return status.map_err(failed),
            request = signals.next() => forward(request, &child)?,
        }
    }
}

fn path_with(folder: &OsStr) -> OsString {
    match env::var_os("PATH") {
        Some(path) => [folder, OsStr::new(":"), &path].into_iter().collect(),
        None => folder.to_owned(),
    }
}

fn forward(request: Request, child: &Child) -> Result<(), CliError> {
    let signal = match request {
        // The terminal has sent it to the command as well.
        Request::Interrupt if io::stdin().is_terminal() => return Ok(()),
        Request::Interrupt => Signal::INT,
        Request::Terminate => Signal::TERM,
        Request::HangUp => Signal::HUP,
    };
    match child.id().map(i32::try_from) {
        Some(Ok(pid)) => signals::send(pid, signal),
        Some(Err(_)) | None => Ok(()),
    }
}

/// As shells have it: 128 and the number of the signal for a command that died of one.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

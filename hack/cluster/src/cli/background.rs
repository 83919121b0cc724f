//! `up`, `down` and the process in the background between them. Starts, signals and waits for processes.

use std::{
    env, fs,
    fs::File,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use cluster::{Assets, Cluster, Error, Options};
use rustix::process::Signal;
use tokio::{task, time};

use super::{
    Wanted,
    error::CliError,
    home::{Home, Status},
    output,
    signals::{self, Request, Signals},
};

const POLL: Duration = Duration::from_millis(50);
/// How long the process in the background may take to stop before it is killed; the parts die with it.
const STOP_WITHIN: Duration = Duration::from_secs(20);
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// Starts a cluster in the background unless one runs, and waits until it can be used.
pub(super) async fn up(dir: &Path, wanted: &Wanted) -> Result<ExitCode, CliError> {
    let started = Instant::now();
    let mut signals = Signals::listen()?;
    let home = Home::new(dir);
    match home.status()? {
        Status::Running => return join(&home).await,
        Status::Foreign => return Err(CliError::ForeignDirectory { dir: dir.to_path_buf() }),
        Status::Leftovers => {
            output::step(&format!("removing what an earlier cluster left in {}", dir.display()));
            home.remove()?;
        }
        Status::Empty => {}
    }
    let assets = tokio::select! {
        assets = find_assets(wanted) => assets?,
        _ = signals.next() => return Err(CliError::Interrupted),
    };
    output::step(&format!("starting Kubernetes from {}", assets.folder().display()));
    let mut child = spawn_server(&home, wanted)?;
    tokio::select! {
        ready = wait_for_server(&home, &mut child) => ready?,
        _ = signals.next() => return abandon(&home, &mut child).await,
    }
    output::done("ready", started.elapsed());
    tell_usage(&home, &assets)
}

async fn find_assets(wanted: &Wanted) -> Result<Assets, CliError> {
    let tier = wanted.tier.tier();
    let search = task::spawn_blocking(move || Assets::find(tier));
    Ok(search.await.map_err(|source| Error::Cancelled { step: "the search for the programs", source })??)
}

fn tell_usage(home: &Home, assets: &Assets) -> Result<ExitCode, CliError> {
    let program = env::args().next().unwrap_or_else(|| "cluster".to_owned());
    output::step(&format!("kubectl is {}", assets.kubectl.display()));
    output::step(&format!("stop it with: {program} down --dir {}", output::quoted(home.dir())));
    output::result(&format!("export KUBECONFIG={}", output::quoted(&home.kubeconfig()?)));
    Ok(ExitCode::SUCCESS)
}

/// Waits for a cluster that someone else has started.
async fn join(home: &Home) -> Result<ExitCode, CliError> {
    output::step(&format!("a cluster runs in {} already", home.dir().display()));
    while !home.is_ready() {
        if home.status()? != Status::Running {
            return Err(not_started(home));
        }
        time::sleep(POLL).await;
    }
    output::result(&format!("export KUBECONFIG={}", output::quoted(&home.kubeconfig()?)));
    Ok(ExitCode::SUCCESS)
}

/// Starts this program once more, apart from the terminal.
fn spawn_server(home: &Home, wanted: &Wanted) -> Result<Child, CliError> {
    home.create()?;
    let log = File::create(home.log()).map_err(CliError::file("create", home.log()))?;
    let copy = log.try_clone().map_err(CliError::file("open", home.log()))?;
    let program = env::current_exe().map_err(CliError::file("find", "this program"))?;
    let mut command = Command::new(&program);
    command.arg("serve").arg("--dir").arg(home.dir());
    if wanted.tier.api_only {
        command.arg("--api-only");
    }
    for path in &wanted.apply {
        command.arg("--apply").arg(path);
    }
    command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(copy)
        .process_group(0)
        .spawn()
        .map_err(|source| CliError::Command { program: program.display().to_string(), source })
}

async fn wait_for_server(home: &Home, child: &mut Child) -> Result<(), CliError> {
    while !home.is_ready() {
        if has_ended(child) {
            return Err(not_started(home));
        }
        time::sleep(POLL).await;
    }
    Ok(())
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

fn not_started(home: &Home) -> CliError {
    let log = fs::read_to_string(home.log()).unwrap_or_default();
    CliError::NotStarted { dir: home.dir().to_path_buf(), log: log.trim_end().to_owned() }
}

async fn abandon(home: &Home, child: &mut Child) -> Result<ExitCode, CliError> {
    if let Ok(pid) = i32::try_from(child.id()) {
        signals::send(pid, Signal::TERM)?;
    }
    let asked = Instant::now();
    while !has_ended(child) && asked.elapsed() < STOP_WITHIN {
        time::sleep(POLL).await;
    }
    home.remove()?;
    Err(CliError::Interrupted)
}

/// Stops the cluster of a directory and removes the directory.
pub(super) async fn down(dir: &Path) -> Result<ExitCode, CliError> {
    let started = Instant::now();
    let home = Home::new(dir);
    match home.status()? {
        Status::Empty | Status::Foreign => {
            output::step(&format!("no cluster runs in {}", dir.display()));
            return Ok(ExitCode::SUCCESS);
        }
        Status::Leftovers => {
            home.remove()?;
            output::step(&format!("no cluster runs in {}; removed what one left there", dir.display()));
            return Ok(ExitCode::SUCCESS);
        }
        Status::Running => {
            output::step(&format!("stopping the cluster in {}", dir.display()));
            stop(&home).await?;
        }
    }
    home.remove()?;
    output::done("stopped, its directory is removed", started.elapsed());
    Ok(ExitCode::SUCCESS)
}

async fn stop(home: &Home) -> Result<(), CliError> {
    let pid = home.pid()?;
    for (signal, patience) in [(Signal::TERM, STOP_WITHIN), (Signal::KILL, KILLED_WITHIN)] {
        signals::send(pid, signal)?;
        let sent = Instant::now();
        while sent.elapsed() < patience {
            if home.status()? != Status::Running {
                return Ok(());
            }
            time::sleep(POLL).await;
        }
    }
    Err(CliError::NotStopped { dir: home.dir().to_path_buf(), pid })
}

/// Runs a cluster until it is told to stop.
pub(super) async fn serve(dir: &Path, options: Options) -> Result<ExitCode, CliError> {
    let mut signals = Signals::listen()?;
    let home = Home::new(dir);
    let _lock = home.occupy()?;
    let cluster: Cluster = tokio::select! {
        cluster = options.directory(dir).start() => cluster?,
        () = told_to_stop(&mut signals) => return Err(CliError::Interrupted),
    };
    home.mark_ready()?;
    told_to_stop(&mut signals).await;
    cluster.shutdown().await?;
    Ok(ExitCode::SUCCESS)
}

/// The end of the terminal is none for a cluster in the background.
async fn told_to_stop(signals: &mut Signals) {
    while signals.next().await == Request::HangUp {}
}

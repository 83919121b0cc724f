//! The command line: what can be asked, and the way from an answer to an exit code.

mod background;
mod error;
mod home;
mod output;
mod run;
mod signals;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use cluster::{Assets, Options, Tier};

use self::error::CliError;

const HELP: &str = "\
The programs are built once from pinned Go modules and cached in ~/.cache/pe-app; with KUBEBUILDER_ASSETS set,
etcd, kube-apiserver and kubectl are taken from there.
Pods run on fake nodes: they get scheduled, addressed and ready, but no container runs.";

/// Runs a real Kubernetes control plane on this machine, without root and without containers
#[derive(Parser)]
#[command(name = "cluster", version, after_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a cluster in the background and print how to use it
    ///
    /// Only the `export` line goes to stdout, so `eval "$(cluster up)"` sets up a shell.
    Up {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Stop the cluster that `up` started and remove its directory
    Down {
        #[command(flatten)]
        place: Place,
    },
    /// Run a command with a cluster of its own and end with the command's exit code
    ///
    /// The command finds KUBECONFIG set and kubectl in its PATH.
    Run {
        #[command(flatten)]
        wanted: Wanted,
        /// The command and its arguments, after `--`
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Find or build the programs and print the folder that holds etcd, kube-apiserver and kubectl
    Assets {
        #[command(flatten)]
        wanted: ApiOnly,
    },
    /// The process in the background that `up` leaves behind
    #[command(hide = true)]
    Serve {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        wanted: Wanted,
    },
}

#[derive(Args)]
struct Place {
    /// Directory for everything the cluster writes
    #[arg(long, value_name = "DIR", default_value = ".cluster")]
    dir: PathBuf,
}

#[derive(Args, Clone)]
struct Wanted {
    #[command(flatten)]
    tier: ApiOnly,
    /// Manifest, folder or kustomization to apply before the controllers start; may be repeated
    #[arg(long, value_name = "PATH")]
    apply: Vec<PathBuf>,
}

#[derive(Args, Clone)]
struct ApiOnly {
    /// Only etcd and kube-apiserver: objects are stored, nothing acts on them
    #[arg(long)]
    api_only: bool,
}

impl ApiOnly {
    const fn tier(&self) -> Tier {
        if self.api_only { Tier::Api } else { Tier::Full }
    }
}

impl Wanted {
    fn options(&self) -> Options {
        let options = match self.tier.tier() {
            Tier::Api => Options::api(),
            Tier::Full => Options::full(),
        };
        self.apply.iter().fold(options, Options::manifest)
    }
}

/// Parses the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => return fail(&CliError::Runtime(source)),
    };
    let result = runtime.block_on(dispatch(cli.command));
    // A build that is still going on in another thread ends with the process.
    runtime.shutdown_background();
    result.unwrap_or_else(|error| fail(&error))
}

async fn dispatch(command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Up { place, wanted } => background::up(&place.dir, &wanted).await,
        Command::Down { place } => background::down(&place.dir).await,
        Command::Serve { place, wanted } => background::serve(&place.dir, wanted.options()).await,
        Command::Run { wanted, command } => run::run(wanted.options(), &command).await,
        Command::Assets { wanted } => {
            let assets = Assets::find(wanted.tier())?;
            output::result(&assets.folder().display().to_string());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn fail(error: &CliError) -> ExitCode {
    output::error(error);
    ExitCode::from(error.exit_code())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_after_the_dashes_belong_to_the_command() {
        let cli = Cli::parse_from(["cluster", "run", "--api-only", "--", "kubectl", "get", "--help"]);
        let Command::Run { wanted, command } = cli.command else { panic!("another command was parsed") };
        assert_eq!(wanted.tier.tier(), Tier::Api);
        assert_eq!(command, ["kubectl", "get", "--help"]);
    }
}

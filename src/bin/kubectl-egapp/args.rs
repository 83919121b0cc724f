//! The command line, in kubectl's words. Pure.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::names;

/// Shows what the operator makes of an EGApp, and why.
#[derive(Debug, Parser)]
#[command(name = "kubectl-egapp", bin_name = "kubectl egapp", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the objects that an EGApp becomes, without any cluster.
    ///
    /// Owner references and the annotations of the operator's own bookkeeping are left out: they exist only in a cluster.
    /// The file is held to the schema of EGApps but for its CEL rules and patterns, which only a cluster checks.
    #[command(after_help = RENDER)]
    Render(Render),
    /// Show what applying a file would change in the cluster: on its EGApps, and on the objects made of them.
    ///
    /// The API server is asked for each of them with a dry run, in which nothing is changed. Exits with 0 where nothing
    /// differs, with 1 where something does, and with more than 1 where that cannot be told.
    #[command(after_help = DIFF)]
    Diff(Diff),
    /// Tell where the image, the size, the replicas and the rest of an app come from, and what stands in its way.
    #[command(after_help = EXPLAIN)]
    Explain(Explain),
    /// Restart the pods of an app, one after the other as in every rollout.
    ///
    /// With --wait it exits with 0 when the app is Ready again, and with 1 when it fails or the time is over.
    #[command(after_help = RESTART)]
    Restart(Restart),
    /// Print a completion script for a shell.
    ///
    /// It completes the plugin under its own name, kubectl-egapp. For `kubectl egapp`, kubectl's own completion asks a program
    /// kubectl_complete-egapp, which is a link to the plugin that `make install-plugin` makes.
    #[command(after_help = "Example:\n  source <(kubectl egapp completion bash)")]
    Completion {
        /// The shell.
        shell: Shell,
    },
}

const RENDER: &str = "Examples:
  kubectl egapp render -f app.yaml
  kubectl egapp render -f app.yaml --platform-config platform.yaml -o json
  cat app.yaml | kubectl egapp render -f -";
const DIFF: &str = "Examples:
  kubectl egapp diff -f app.yaml
  kubectl egapp diff -f app.yaml --platform-config platform.yaml   # with another platform file as well";
const EXPLAIN: &str = "Examples:
  kubectl egapp explain web -n team
  kubectl egapp explain web -o json
  kubectl egapp explain web --as system:serviceaccount:team:ci   # with the eyes of another user";
const RESTART: &str = "Example:
  kubectl egapp restart web --wait --timeout 10m";

#[derive(Debug, Args)]
pub(crate) struct Render {
    /// File or folder with EGApps, or - for standard input; may be repeated.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) filename: Vec<PathBuf>,
    /// Platform file to go by [default: the built-in values].
    #[arg(long, value_name = "FILE")]
    pub(crate) platform_config: Option<PathBuf>,
    /// Namespace of EGApps that name none [default: default].
    #[arg(short, long, value_parser = names::namespace)]
    pub(crate) namespace: Option<String>,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// File or folder with EGApps, or - for standard input; may be repeated.
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) filename: Vec<PathBuf>,
    /// Who applies the file, where server-side apply is used for it.
    #[arg(long, value_name = "NAME", default_value = "kubectl")]
    pub(crate) field_manager: String,
    #[command(flatten)]
    pub(crate) platform: PlatformSource,
    #[command(flatten)]
    pub(crate) cluster: ClusterChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Name of the EGApp.
    #[arg(value_parser = names::app)]
    pub(crate) name: String,
    /// Print it for machines.
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
    #[command(flatten)]
    pub(crate) platform: PlatformSource,
    #[command(flatten)]
    pub(crate) cluster: ClusterChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Restart {
    /// Name of the EGApp.
    #[arg(value_parser = names::app)]
    pub(crate) name: String,
    /// Follow the rollout until it ends.
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait at most, as in 90s, 5m or 1h.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Who writes the time of the restart into the EGApp.
    #[arg(long, value_name = "NAME", default_value = "kubectl-egapp")]
    pub(crate) field_manager: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterChoice,
}

/// Where the platform file is.
#[derive(Debug, Args)]
pub(crate) struct PlatformSource {
    /// Platform file to go by [default: the installed one].
    #[arg(long, value_name = "FILE")]
    pub(crate) platform_config: Option<PathBuf>,
    /// Namespace in which the operator is installed.
    #[arg(long, value_name = "NAMESPACE", default_value = "pe-app-system", value_parser = names::namespace)]
    pub(crate) operator_namespace: String,
}

/// Which cluster, where in it, and as whom.
#[derive(Debug, Default, Args)]
pub(crate) struct ClusterChoice {
    /// Namespace of the app [default: that of the kubeconfig's context].
    #[arg(short, long, value_parser = names::namespace)]
    pub(crate) namespace: Option<String>,
    /// Context of the kubeconfig to use.
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// Kubeconfig to use [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// User to act as, whom you must be allowed to impersonate; a service account is
    /// system:serviceaccount:NAMESPACE:NAME.
    #[arg(long = "as", value_name = "USER", value_parser = identity)]
    pub(crate) as_user: Option<String>,
    /// Group to act as besides; may be repeated.
    #[arg(long, value_name = "GROUP", requires = "as_user", value_parser = identity)]
    pub(crate) as_group: Vec<String>,
}

/// How to print objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people who know Kubernetes.
    #[default]
    Yaml,
    /// For programs.
    Json,
}

/// Go's notation, of which one unit is enough.
fn duration(text: &str) -> Result<Duration, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("use a whole number with a unit, as in 90s, 5m or 1h".to_owned()),
    };
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let number = number.ok_or("use a whole number with a unit, as in 90s, 5m or 1h")?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "is too long".to_owned())
}

/// A user or group, which becomes a header of each request.
fn identity(text: &str) -> Result<String, &'static str> {
    let is_header = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    is_header.then(|| text.to_owned()).ok_or("use at least one character, and only those of ASCII")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn nobody_is_impersonated_whom_no_header_can_name() {
        let parse = |words: &[&str]| Arguments::try_parse_from(["x", "explain", "web"].iter().chain(words));
        assert!(parse(&["--as=Jane Doe", "--as-group=dev", "--as-group=ops"]).is_ok());
        for bad in [&["--as="][..], &["--as=a\nb"], &["--as=ä"], &["--as-group=dev"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_have_one_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(duration("1h"), Ok(Duration::from_hours(1)));
        for bad in ["", "5", "m", "5d", "1h30m", "-5s", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}

//! The manager's command line. Pure.
//!
//! Names, spellings and defaults: the manager that kubebuilder scaffolds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, Parser, ValueEnum};

use super::go_flags::{normalise, parse_bool};
use crate::dns::{is_label, is_subdomain};
use crate::server::BindAddress;
use crate::telemetry::{Encoder, LogLevel, LogOptions, TimeEncoding};

/// Where `/metrics` is served.
pub(super) const METRICS_BIND_ADDRESS: &str = "--metrics-bind-address";
/// Where the probes are served.
pub(super) const HEALTH_PROBE_BIND_ADDRESS: &str = "--health-probe-bind-address";

/// The lease that two installations of this operator contend for where no other name is given.
const LEASE_NAME: &str = "6f2d90c4.platform.evillgenius.com";

/// The end of the help.
const ENVIRONMENT: &str = "Environment:
  WATCH_NAMESPACE  Watch these namespaces, separated by commas, and no other [default: the whole cluster]
  KUBECONFIG       As --kubeconfig, which wins";

/// Runs EGApps: watches them and keeps a Deployment, and its status, for each.
#[derive(Clone, Debug, Parser)]
#[command(name = "manager", version, disable_help_subcommand = true, args_override_self = true, after_help = ENVIRONMENT)]
pub struct Flags {
    /// Serve /metrics here, e.g. :8443 for HTTPS or :8080 for HTTP; 0 switches it off.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub metrics_bind_address: BindAddress,

    /// Serve metrics over HTTPS, with authentication and authorisation.
    #[arg(long, value_name = "BOOL", default_value = "true", default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub metrics_secure: bool,

    /// Serve /healthz and /readyz here; 0 switches it off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub health_probe_bind_address: BindAddress,

    /// Work only while holding a lease, so that several replicas can run and one of them is active.
    #[arg(long, value_name = "BOOL", default_value = "false", default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub leader_elect: bool,

    /// Name of that lease.
    #[arg(long, value_name = "NAME", default_value = LEASE_NAME, value_parser = lease_name)]
    pub leader_election_id: String,

    /// Namespace of that lease, and of the history of platform files [default: the pod's own, or that of the kubeconfig's
    /// context].
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub leader_election_namespace: Option<String>,

    /// Allow HTTP/2 to the metrics server. It has no effect yet: HTTP/1.1 is all that is served.
    #[arg(long, value_name = "BOOL", default_value = "false", default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub enable_http2: bool,

    /// Kubeconfig to use instead of $KUBECONFIG, the pod's service account or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// File that says what the words of an EGApp mean: images, sizes, frameworks, environments [default: built in].
    #[arg(long, value_name = "FILE")]
    pub platform_config: Option<PathBuf>,

    /// How to log.
    #[command(flatten)]
    pub log: LogFlags,
}

impl Flags {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// Where a flag is unknown or has a bad value, and where help or the version is asked for: clap's error knows what to
    /// print, where, and with which exit code.
    pub fn parse_from_go(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(normalise(arguments))
    }
}

fn lease_name(text: &str) -> Result<String, &'static str> {
    let is_name = is_subdomain(text);
    is_name.then(|| text.to_owned()).ok_or(
        "a lease is named by at most 253 lower-case letters, digits, inner dashes and dots, each part starting and ending \
         with a letter or digit",
    )
}

fn namespace(text: &str) -> Result<String, &'static str> {
    let is_name = is_label(text);
    is_name
        .then(|| text.to_owned())
        .ok_or("a namespace is named by at most 63 lower-case letters, digits and inner dashes")
}

/// Prints what clap has to say (an error to standard error; help and the version to standard output) and tells the exit
/// code that goes with it.
#[must_use]
pub fn explain(usage: &clap::Error) -> ExitCode {
    if usage.print().is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(1))
}

/// How to log, in the flags of controller-runtime's `pkg/log/zap`.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LogFlags {
    /// Development defaults (console encoder, level debug) instead of production's (JSON encoder, level info).
    #[arg(long = "zap-devel", value_name = "BOOL", default_value = "false", default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    devel: bool,

    /// How to write a log line.
    #[arg(long = "zap-encoder", value_enum, ignore_case = true, value_name = "ENCODER")]
    encoder: Option<Encoder>,

    /// debug, info, error, or a number greater than 0: 1 is debug, from 2 on libraries are logged too.
    #[arg(long = "zap-log-level", value_name = "LEVEL")]
    level: Option<LogLevel>,

    /// Accepted and without effect: errors are logged with their causes, not with a stack trace.
    #[arg(long = "zap-stacktrace-level", value_enum, ignore_case = true, value_name = "LEVEL")]
    stacktrace_level: Option<StacktraceLevel>,

    /// How to write the time of a log line, which is always UTC.
    #[arg(
        long = "zap-time-encoding",
        value_enum,
        ignore_case = true,
        value_name = "ENCODING",
        default_value_t
    )]
    time: TimeEncoding,
}

impl From<LogFlags> for LogOptions {
    fn from(flags: LogFlags) -> Self {
        Self { development: flags.devel, encoder: flags.encoder, level: flags.level, time: flags.time }
    }
}

/// Level from which controller-runtime adds a stack trace.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StacktraceLevel {
    Info,
    Error,
    Panic,
}

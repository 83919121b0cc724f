//! Log flags, and the subscriber they ask for. Writes to standard error.
//!
//! Flags and defaults: controller-runtime's `pkg/log/zap`. A kubebuilder user's flags, log shippers and queries (`level`,
//! `ts`, `logger`, `msg`) work unchanged.

use std::io;
use std::str::FromStr;

use clap::{ArgAction, Args, ValueEnum};
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::time::ChronoUtc;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::log_format::ZapFormat;

/// This crate's own log targets.
const OWN: &str = env!("CARGO_CRATE_NAME");

/// Logs each failed attempt of a request at `error`, although the request is tried again and its final result is
/// reported by whoever sent it.
const PER_ATTEMPT: &str = "kube_client::client::builder";

/// How to log, as flags.
#[derive(Args, Clone, Debug, Default)]
pub struct LogFlags {
    /// Development defaults: console encoder, level debug. Production defaults: JSON encoder, level info.
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true,
          default_value = "false", hide_default_value = true, action = ArgAction::Set)]
    pub zap_devel: bool,
    /// How to write a log line.
    #[arg(long, value_enum, ignore_case = true, value_name = "ENCODER")]
    pub zap_encoder: Option<Encoder>,
    /// Least level to log: debug, info, error, or a number > 0 for growing verbosity (1 = debug; from 2 on libraries too).
    #[arg(long, value_name = "LEVEL")]
    pub zap_log_level: Option<LogLevel>,
    /// Accepted for compatibility: errors here carry their chain of causes instead of a stack trace.
    #[arg(long, value_enum, ignore_case = true, value_name = "LEVEL")]
    pub zap_stacktrace_level: Option<StacktraceLevel>,
    /// How to write the time of a log line [default: rfc3339].
    #[arg(long, value_enum, ignore_case = true, value_name = "ENCODING")]
    pub zap_time_encoding: Option<TimeEncoding>,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Encoder {
    /// One JSON object a line.
    Json,
    /// Columns separated by tabs.
    Console,
}

/// Level from which controller-runtime adds a stack trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names are zap's and say all there is")]
pub enum StacktraceLevel {
    Info,
    Error,
    Panic,
}

/// How the time of a log line is written; always UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TimeEncoding {
    /// Seconds since 1970 with a fraction, a number.
    Epoch,
    /// Milliseconds since 1970, a number.
    Millis,
    /// Nanoseconds since 1970, a number.
    Nano,
    /// `2006-01-02T15:04:05.000Z`.
    Iso8601,
    /// `2006-01-02T15:04:05Z`.
    #[default]
    Rfc3339,
    /// `2006-01-02T15:04:05.000000000Z`, no trailing zero groups.
    Rfc3339nano,
}

impl TimeEncoding {
    /// The encoding in the language of chrono's `format`.
    pub(super) fn format(self) -> &'static str {
        match self {
            Self::Epoch => "%s.%6f",
            Self::Millis => "%s%3f",
            Self::Nano => "%s%9f",
            Self::Iso8601 => "%Y-%m-%dT%H:%M:%S%.3fZ",
            Self::Rfc3339 => "%Y-%m-%dT%H:%M:%SZ",
            Self::Rfc3339nano => "%Y-%m-%dT%H:%M:%S%.fZ",
        }
    }

    /// Whether the time is a JSON number rather than a string.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Epoch | Self::Millis | Self::Nano)
    }
}

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Failures only.
    Error,
    /// What an operator of the operator wants to know.
    Info,
    /// Details; the number is zap's verbosity, 1 = `debug`.
    Verbose(u32),
}

/// A `--zap-log-level` that is neither a level nor a verbosity.
#[derive(Debug, Error)]
#[error("use debug, info, error or a whole number greater than 0")]
pub struct UnknownLevel;

impl FromStr for LogLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        match text.to_ascii_lowercase().as_str() {
            "error" | "panic" => Ok(Self::Error),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Verbose(1)),
            number => number.parse().ok().filter(|v| *v > 0).map(Self::Verbose).ok_or(UnknownLevel),
        }
    }
}

impl LogLevel {
    /// The level for this program, and the one for the libraries under it, which at `debug` would drown it.
    fn filters(self) -> (LevelFilter, LevelFilter) {
        match self {
            Self::Error => (LevelFilter::ERROR, LevelFilter::ERROR),
            Self::Info => (LevelFilter::INFO, LevelFilter::WARN),
            Self::Verbose(0 | 1) => (LevelFilter::DEBUG, LevelFilter::INFO),
            Self::Verbose(2) => (LevelFilter::TRACE, LevelFilter::DEBUG),
            Self::Verbose(_) => (LevelFilter::TRACE, LevelFilter::TRACE),
        }
    }

    pub(super) fn targets(self) -> Targets {
        let (own, libraries) = self.filters();
        let per_attempt = if libraries >= LevelFilter::DEBUG { libraries } else { LevelFilter::OFF };
        Targets::new().with_default(libraries).with_target(OWN, own).with_target(PER_ATTEMPT, per_attempt)
    }
}

impl LogFlags {
    pub(super) fn level(&self) -> LogLevel {
        self.zap_log_level.unwrap_or(if self.zap_devel { LogLevel::Verbose(1) } else { LogLevel::Info })
    }

    pub(super) fn encoder(&self) -> Encoder {
        self.zap_encoder.unwrap_or(if self.zap_devel { Encoder::Console } else { Encoder::Json })
    }
}

/// Makes this process log as the flags say. The first call wins; later ones, in tests, change nothing.
pub fn init_logging(flags: &LogFlags) {
    let time = flags.zap_time_encoding.unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(io::stderr)
        .event_format(ZapFormat::new(flags.encoder(), time, ChronoUtc::new(time.format().to_owned())));
    let subscriber = tracing_subscriber::registry().with(flags.level().targets()).with(lines);
    if subscriber.try_init().is_err() {
        tracing::debug!("logging was set up before");
    }
}

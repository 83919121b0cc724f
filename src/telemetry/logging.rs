//! Log options, and the subscriber they ask for. Writes to standard error.
//!
//! Levels, encoders and defaults: controller-runtime's `pkg/log/zap`. A kubebuilder user's log shippers and queries (`level`,
//! `ts`, `logger`, `msg`) work unchanged.

use std::io;
use std::panic::{self, PanicHookInfo};
use std::str::FromStr;

use clap::ValueEnum;
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::time::ChronoUtc;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::log_format::ZapFormat;

/// This crate's own log targets.
const OWN: &str = env!("CARGO_CRATE_NAME");

/// Log each failed attempt of a request, although it is tried again and its final result is reported by whoever sent it.
const PER_ATTEMPT: [&str; 2] = ["kube_client", "kube_runtime"];

/// How to log. The default is that of production: JSON, level info.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Development: console encoder and level debug, where those are not given.
    pub development: bool,
    /// How to write a log line.
    pub encoder: Option<Encoder>,
    /// How much to log.
    pub level: Option<LogLevel>,
    /// How to write the time of a log line.
    pub time: TimeEncoding,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Encoder {
    /// One JSON object a line.
    Json,
    /// Columns separated by tabs.
    Console,
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
        let targets = Targets::new().with_default(libraries).with_target(OWN, own);
        PER_ATTEMPT.into_iter().fold(targets, |targets, library| targets.with_target(library, per_attempt))
    }
}

impl LogOptions {
    pub(super) fn level(self) -> LogLevel {
        self.level.unwrap_or(if self.development { LogLevel::Verbose(1) } else { LogLevel::Info })
    }

    pub(super) fn encoder(self) -> Encoder {
        self.encoder.unwrap_or(if self.development { Encoder::Console } else { Encoder::Json })
    }
}

/// Makes this process log as the options say, panics included: whoever reads the log as JSON must be able to read all
/// of it. The first call wins; later ones, in tests, change nothing.
pub fn init_logging(options: LogOptions) {
    let time = options.time;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(io::stderr)
        .event_format(ZapFormat::new(options.encoder(), time, ChronoUtc::new(time.format().to_owned())));
    let subscriber = tracing_subscriber::registry().with(options.level().targets()).with(lines);
    if subscriber.try_init().is_err() {
        tracing::debug!("logging was set up before");
        return;
    }
    panic::set_hook(Box::new(log_panic));
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload_as_str().unwrap_or("no message");
    tracing::error!(target: OWN, location, error = message, "panicked: a defect of this program, please report it");
}

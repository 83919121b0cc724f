//! Log lines against zap's. Pure: the lines go to a buffer.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing_subscriber::fmt::time::ChronoUtc;
use tracing_subscriber::layer::SubscriberExt;

use super::log_format::ZapFormat;
use super::{Encoder, LogLevel, LogOptions, TimeEncoding};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `log` writes under these options.
fn logged(options: LogOptions, log: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let time = options.time;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .event_format(ZapFormat::new(options.encoder(), time, ChronoUtc::new(time.format().to_owned())));
    let subscriber = tracing_subscriber::registry().with(options.level().targets()).with(lines);
    tracing::subscriber::with_default(subscriber, log);
    let bytes = buffer.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn level(text: &str) -> LogOptions {
    LogOptions { level: Some(text.parse().unwrap()), ..LogOptions::default() }
}

#[test]
fn a_json_line_has_zaps_keys() {
    let line = logged(LogOptions::default(), || {
        tracing::info!(target: "pe_app::manager::leader", lease = "a/b", tries = 3, secure = true, "got \"it\"");
    });
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["level"], "info");
    assert_eq!(value["logger"], "manager.leader");
    assert_eq!(value["msg"], "got \"it\"");
    assert_eq!(
        (&value["lease"], &value["tries"], &value["secure"]),
        (&"a/b".into(), &3.into(), &true.into())
    );
    assert!(line.ends_with("}\n") && line.starts_with(r#"{"level":"info","ts":""#), "{line}");
}

#[test]
fn a_console_line_has_columns_and_its_fields_as_json() {
    let options = LogOptions { encoder: Some(Encoder::Console), ..LogOptions::default() };
    let line = logged(options, || tracing::warn!(target: "pe_app::server", port = 8081, "slow"));
    let columns: Vec<_> = line.trim_end().split('\t').collect();
    assert_eq!(columns[1..], ["WARN", "server", "slow", r#"{"port":8081}"#]);
}

#[test]
fn an_error_is_written_with_its_causes() {
    let outer = io::Error::other(super::MetricsError::Encode(prometheus::Error::Msg("why".to_owned())));
    let line = logged(LogOptions::default(), || {
        tracing::error!(target: "pe_app", error = %super::Chain(&outer), "failed");
    });
    assert!(line.contains(r#""error":"cannot write the process's metrics as text: Error: why""#), "{line}");
}

#[test]
fn times_are_written_as_asked() {
    let at = |time| {
        let line =
            logged(LogOptions { time, ..LogOptions::default() }, || tracing::info!(target: "pe_app", "x"));
        serde_json::from_str::<Value>(&line).unwrap()["ts"].clone()
    };
    assert!(at(TimeEncoding::Epoch).as_f64().unwrap() > 1e9);
    assert!(at(TimeEncoding::Millis).as_u64().unwrap() > 1_000_000_000_000);
    assert!(at(TimeEncoding::Nano).as_u64().unwrap() > 1_000_000_000_000_000_000);
    let shape = |value: &Value| value.as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "9");
    assert_eq!(shape(&at(TimeEncoding::Rfc3339)), "9999-99-99T99:99:99Z");
    assert_eq!(shape(&at(TimeEncoding::Iso8601)), "9999-99-99T99:99:99.999Z");
    assert!(shape(&at(TimeEncoding::Rfc3339nano)).starts_with("9999-99-99T99:99:99.999"));
}

#[test]
fn production_logs_info_as_json_and_development_debug_on_the_console() {
    let production = LogOptions::default();
    assert_eq!((production.level(), production.encoder()), (LogLevel::Info, Encoder::Json));
    let development = LogOptions { development: true, ..production };
    assert_eq!((development.level(), development.encoder()), (LogLevel::Verbose(1), Encoder::Console));
    let given = LogOptions { level: Some(LogLevel::Error), encoder: Some(Encoder::Json), ..development };
    assert_eq!((given.level(), given.encoder()), (LogLevel::Error, Encoder::Json));
}

#[test]
fn levels_are_spelled_as_in_zap() {
    let parse = |text: &str| text.parse::<LogLevel>().ok();
    assert_eq!(parse("INFO"), Some(LogLevel::Info));
    assert_eq!(parse("debug"), Some(LogLevel::Verbose(1)));
    assert_eq!(parse("3"), Some(LogLevel::Verbose(3)));
    assert_eq!(parse("error"), Some(LogLevel::Error));
    assert_eq!((parse("0"), parse("-1"), parse("loud")), (None, None, None));
}

#[test]
fn libraries_are_quieter_than_the_operator() {
    let both = || {
        tracing::debug!(target: "pe_app::controller", "own");
        tracing::debug!(target: "hyper_util::client", "library");
    };
    assert_eq!(logged(level("info"), both), "");
    assert_eq!(logged(level("debug"), both).lines().count(), 1);
    assert_eq!(logged(level("2"), both).lines().count(), 2);
}

#[test]
fn each_failed_attempt_of_a_request_is_logged_only_on_request() {
    let attempt =
        || tracing::error!(target: "kube_client::client::builder", "failed with status 409 Conflict");
    assert_eq!(logged(level("info"), attempt), "");
    assert_eq!(logged(level("debug"), attempt), "");
    assert_eq!(logged(level("2"), attempt).lines().count(), 1);
}

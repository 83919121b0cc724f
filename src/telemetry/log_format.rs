//! Writes one log line as zap's encoders do. No I/O of its own: the subscriber hands in the writer.
//!
//! JSON: `{"level":"info","ts":"…","logger":"server","msg":"…","key":value}`.
//! Console: `time TAB LEVEL TAB logger TAB message TAB {"key":value}`.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{ChronoUtc, FormatTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::chain::Chain;
use super::logging::{Encoder, TimeEncoding};

/// Writes events in zap's shape.
pub(super) struct ZapFormat {
    encoder: Encoder,
    encoding: TimeEncoding,
    clock: ChronoUtc,
}

impl ZapFormat {
    pub(super) fn new(encoder: Encoder, encoding: TimeEncoding, clock: ChronoUtc) -> Self {
        Self { encoder, encoding, clock }
    }

    fn time(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        self.clock.format_time(&mut Writer::new(&mut text))?;
        Ok(text)
    }

    /// The time as a JSON value, digits untouched: a float would lose the nanoseconds.
    fn json_time(&self) -> Result<String, fmt::Error> {
        let time = self.time()?;
        Ok(if self.encoding.is_number() { time } else { Value::String(time).to_string() })
    }

    fn write_json(&self, mut line: Writer<'_>, record: &Record) -> fmt::Result {
        write!(
            line,
            r#"{{"level":"{}","ts":{}"#,
            level_name(record.level).to_lowercase(),
            self.json_time()?
        )?;
        write!(line, r#","logger":{},"msg":{}"#, quoted(&record.logger), quoted(&record.message))?;
        for (key, value) in &record.fields {
            write!(line, ",{}:{value}", quoted(key))?;
        }
        writeln!(line, "}}")
    }

    fn write_console(&self, mut line: Writer<'_>, record: &Record) -> fmt::Result {
        write!(
            line,
            "{}\t{}\t{}\t{}",
            self.time()?,
            level_name(record.level),
            record.logger,
            record.message
        )?;
        if !record.fields.is_empty() {
            write!(line, "\t{}", Value::Object(record.fields.clone()))?;
        }
        writeln!(line)
    }
}

impl<S, N> FormatEvent<S, N> for ZapFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut record = Record::new(event.metadata());
        for span in context.event_scope().into_iter().flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|f| !f.is_empty()) {
                record.fields.insert(span.name().to_owned(), Value::String(fields.fields.clone()));
            }
        }
        event.record(&mut record);
        match self.encoder {
            Encoder::Json => self.write_json(line, &record),
            Encoder::Console => self.write_console(line, &record),
        }
    }
}

/// One event, taken apart.
struct Record {
    level: Level,
    logger: String,
    message: String,
    fields: Map<String, Value>,
}

impl Record {
    fn new(metadata: &Metadata<'_>) -> Self {
        Self {
            level: *metadata.level(),
            logger: logger_name(metadata.target()),
            message: String::new(),
            fields: Map::new(),
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.fields.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for Record {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }
    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.put(field, Chain(value).to_string().into());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}

/// A module path without the crate and with dots, as loggers are named in zap: `pe_app::manager::leader` is
/// `manager.leader`.
fn logger_name(target: &str) -> String {
    target.strip_prefix(concat!(env!("CARGO_CRATE_NAME"), "::")).unwrap_or(target).replace("::", ".")
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG | Level::TRACE => "DEBUG",
    }
}

fn quoted(text: &str) -> Value {
    Value::from(text)
}

//! Text of a platform file to [`PlatformConfig`], strictly: structure only, the first fault ends it; [`mend`](super::mend) finds the others. Pure.

use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter, with_deserializer_from_str_with_options};

use super::config::PlatformConfig;
use super::finding::{Finding, Position};
use super::positions::Positions;

/// What the text says, with built-in values for the sections that it leaves out.
///
/// # Errors
/// A finding, at its key where the text is YAML at all.
pub(super) fn decode(text: &str) -> Result<PlatformConfig, Finding> {
    // `yes` and `on` are no booleans of YAML 1.2, and a reader who knows only 1.1 would take them for true.
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let mut path = String::new();
    with_deserializer_from_str_with_options(text, options, |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            path = key(error.path());
            error.into_inner()
        })
    })
    .map_err(|error| finding(path, &error, text))
}

/// The path as far as it is known, without the signs that stand for the root and for the unknown.
fn key(path: &serde_path_to_error::Path) -> String {
    let text = path.to_string();
    let known = text.strip_suffix('?').unwrap_or(&text);
    known.strip_suffix('.').unwrap_or(known).to_owned()
}

fn finding(path: String, error: &Error, text: &str) -> Finding {
    let (key, problem) = describe(path, error.without_snippet());
    let position = Positions::in_text(text).nearest(&key).or_else(|| error.location().and_then(Position::at));
    Finding { position, key, problem }
}

/// The key at fault and what is wrong with it. The parser's words are for programmers; these are for administrators.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's errors are many, and most cannot happen here"
)]
fn describe(path: String, error: &Error) -> (String, String) {
    let below = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let problem = match error {
        Error::AliasError { error, .. } => return describe(path, error),
        Error::SerdeMissingField { field, .. } => return (below(field), missing(&below(field))),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            return (below(key), "is there twice".to_owned());
        }
        Error::SerdeUnknownField { expected, .. } => {
            format!("is not a key of this file; allowed here: {}", expected.join(", "))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!("is {variant:?}; use {}", either(expected))
        }
        Error::Unexpected { expected: "mapping start", .. } => {
            "must be a mapping of keys to values".to_owned()
        }
        Error::Unexpected { expected: "sequence start", .. } => "must be a list, such as [a, b]".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "must be one text".to_owned(),
        Error::NullIntoString { .. } => "has no value; it must be a text".to_owned(),
        Error::InvalidScalar { .. } => "must be a whole number".to_owned(),
        Error::InvalidBooleanStrict { .. } => "must be true or false".to_owned(),
        Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. }
            if expected == "IntOrString" || expected == "a 32-bit integer" =>
        {
            "must be a number of pods, such as 1, or a percentage, such as 25%".to_owned()
        }
        Error::Eof { .. } => format!("the file is empty; it must begin with {HEAD}"),
        Error::MultipleDocuments { .. } => "a second document begins here; the file must hold one".to_owned(),
        other => format!("cannot be read: {}", UserMessageFormatter.format_message(other)),
    };
    (path, problem)
}

/// The two keys that every file has.
const HEAD: &str = "apiVersion: config.platform.evillgenius.com/v1alpha1 and kind: PlatformConfig";

/// A key that has to be there. A section is complete or absent.
fn missing(key: &str) -> String {
    match key.split_once('.') {
        None => format!("is missing; the file must begin with {HEAD}"),
        Some((section @ ("sizes" | "frameworks" | "environments"), _)) => {
            format!("is missing; add it, or leave out the whole of {section} to keep the built-in values")
        }
        Some(_) => "is missing; add it".to_owned(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

//! Command lines as Go's `flag` package spells them. Pure.

use std::ffi::OsString;

/// The arguments with long flags spelled with two dashes: Go takes one or two, and its users type either.
///
/// Everything after `--` is left as it is, as are single letters (`-h`) and what is not text.
pub(super) fn normalise(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut only_values = false;
    let two_dashes = |argument: OsString| match argument.to_str() {
        _ if only_values => argument,
        Some("--") => {
            only_values = true;
            argument
        }
        Some(text) if is_single_dash_flag(text) => OsString::from(format!("-{text}")),
        Some(_) | None => argument,
    };
    arguments.into_iter().map(two_dashes).collect()
}

fn is_single_dash_flag(text: &str) -> bool {
    let name = text.strip_prefix('-').unwrap_or_default();
    let name = name.split_once('=').map_or(name, |(name, _)| name);
    name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// A switch's value as Go's `strconv.ParseBool` reads it.
pub(super) fn parse_bool(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("use true or false"),
    }
}

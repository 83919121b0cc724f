//! All that the program says: results to standard output, everything else to standard error.
//!
//! A reader who has seen enough (`| head`) is no error: what can no longer be written is not. A terminal obeys control
//! characters, and whoever may write to the cluster must not command the terminals of those who read from it.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write as _, stderr, stdout};
use std::sync::{Mutex, PoisonError};

use clap_complete::Shell;
use pe_app::telemetry::Chain;
use serde_json::Value;

use crate::args::Format;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Objects, as kubectl prints several.
pub(crate) fn objects(objects: &[Value], format: Format) {
    match (format, objects) {
        (Format::Yaml, objects) => {
            let documents: Vec<_> = objects.iter().map(yaml).collect();
            say(&documents.join("---\n"));
        }
        (Format::Json, [object]) => say(&json(object)),
        (Format::Json, objects) => {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            say(&json(&list));
        }
    }
}

/// One object as JSON, in which every control character is written as an escape: the same to a program.
fn json(object: &Value) -> String {
    let text = format!("{object:#}\n");
    // The others are escapes already.
    ('\u{7f}'..='\u{9f}').fold(text, |text, control| {
        let escape = format!("\\u{:04x}", u32::from(control));
        if text.contains(control) { text.replace(control, &escape) } else { text }
    })
}

/// The text with a mark in place of each control character but line breaks and tabs.
fn harmless(text: &str) -> String {
    let is_obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    text.replace(is_obeyed, "\u{fffd}")
}

/// One object as YAML, with a line break at the end.
pub(crate) fn yaml(object: &Value) -> String {
    // What comes from JSON is always YAML; an empty text would show as a difference.
    serde_saphyr::to_string(object).unwrap_or_default()
}

/// A difference in unified form.
pub(crate) fn difference(text: &str) {
    let is_coloured = is_coloured(&stdout());
    for line in harmless(text).lines() {
        let colour = match line.get(..1) {
            Some("+") if line.starts_with("+++") => BOLD,
            Some("-") if line.starts_with("---") => BOLD,
            Some("+") => GREEN,
            Some("-") => RED,
            Some("@") => CYAN,
            _ => "",
        };
        if is_coloured && !colour.is_empty() {
            say(&format!("{colour}{line}{PLAIN}\n"));
        } else {
            say(&format!("{line}\n"));
        }
    }
}

/// A text for people; `title` begins lines that are to stand out.
pub(crate) fn text(lines: &[(String, String)], width: usize) {
    let (bold, plain) = if is_coloured(&stdout()) { (BOLD, PLAIN) } else { ("", "") };
    for (title, line) in lines {
        let (padded, line) = (format!("{title:width$}"), harmless(line));
        say(&format!("{}\n", format!("{bold}{padded}{plain}{line}").trim_end()));
    }
}

/// What happens at the moment, for who waits.
pub(crate) fn progress(line: &str) {
    say(&format!("{}\n", harmless(line)));
}

/// What may surprise.
pub(crate) fn note(line: &str) {
    complain(&format!("note: {}\n", harmless(line)));
}

/// The end of it.
pub(crate) fn error(error: &(dyn std::error::Error + 'static)) {
    let (red, plain) = if is_coloured(&stderr()) { (RED, PLAIN) } else { ("", "") };
    complain(&format!("{red}error:{plain} {}\n", harmless(&Chain(error).to_string())));
}

/// Lines for a program.
pub(crate) fn lines(lines: impl Iterator<Item = String>) {
    say(&lines.map(|line| line + "\n").collect::<String>());
}

/// A script for a shell.
pub(crate) fn completion(shell: Shell, command: &mut clap::Command) {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "kubectl-egapp", &mut script);
    say(&String::from_utf8_lossy(&script));
}

/// Why standard output has not taken all that was said, if it has not.
pub(crate) fn lost() -> Option<io::Error> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

fn say(text: &str) {
    let said = stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush());
    if let Err(error) = said
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

fn complain(text: &str) {
    drop(stderr().write_all(text.as_bytes()));
}

/// Colour is for terminals, and not for who asks for none (no-color.org).
fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{85}\r";

    fn controls(text: &str) -> Vec<char> {
        text.chars().filter(|character| character.is_control() && *character != '\n').collect()
    }

    #[test]
    fn nothing_that_is_printed_commands_a_terminal() {
        assert_eq!(harmless("a\tb\n\u{1b}c\u{9b}ä"), "a\tb\n\u{fffd}c\u{fffd}ä");
        assert!(controls(&harmless(HOSTILE)).is_empty());
        let object = serde_json::json!({ HOSTILE: HOSTILE, "b": [format!("x\n{HOSTILE}\ny")] });
        for text in [json(&object), yaml(&object)] {
            assert!(controls(&text).is_empty(), "{text:?}");
            assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), object, "a program reads the same");
        }
    }
}

//! All that the program says: results to standard output, everything else to standard error.
//!
//! A reader who has seen enough (`| head`) is no error: what can no longer be written is not.

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
        (Format::Json, [object]) => say(&format!("{object:#}\n")),
        (Format::Json, objects) => {
            let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            say(&format!("{list:#}\n"));
        }
    }
}

/// One object as YAML, with a line break at the end.
pub(crate) fn yaml(object: &Value) -> String {
    // What comes from JSON is always YAML; an empty text would show as a difference.
    serde_saphyr::to_string(object).unwrap_or_default()
}

/// A difference in unified form.
pub(crate) fn difference(text: &str) {
    let is_coloured = is_coloured(&stdout());
    for line in text.lines() {
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
        let padded = format!("{title:width$}");
        say(&format!("{}\n", format!("{bold}{padded}{plain}{line}").trim_end()));
    }
}

/// What happens at the moment, for who waits.
pub(crate) fn progress(line: &str) {
    say(&format!("{line}\n"));
}

/// What may surprise.
pub(crate) fn note(line: &str) {
    complain(&format!("note: {line}\n"));
}

/// The end of it.
pub(crate) fn error(error: &(dyn std::error::Error + 'static)) {
    let (red, plain) = if is_coloured(&stderr()) { (RED, PLAIN) } else { ("", "") };
    complain(&format!("{red}error:{plain} {}\n", Chain(error)));
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

//! All that the program says: results to stdout, everything else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output of a command line program")]

use std::{error::Error, path::Path, time::Duration};

/// What scripts read.
pub(super) fn result(line: &str) {
    println!("{line}");
}

/// A step, for a person.
pub(super) fn step(line: &str) {
    eprintln!("cluster: {line}");
}

/// A step that is done.
pub(super) fn done(line: &str, took: Duration) {
    step(&format!("{line} ({:.1} s)", took.as_secs_f64()));
}

/// An error with its causes.
pub(super) fn error(error: &dyn Error) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_need_it_are_quoted() {
        assert_eq!(quoted(Path::new("/home/a/.cluster")), "/home/a/.cluster");
        assert_eq!(quoted(Path::new("/my dir/it's")), r"'/my dir/it'\''s'");
    }
}

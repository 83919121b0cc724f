//! Errors with their causes, in one line. Pure.

use std::error::Error;
use std::fmt;

/// Shows an error and its causes, separated by colons; a cause that the text already ends with is not repeated.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.ends_with(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            cause = error.source();
        }
        f.write_str(&text.replace('\n', " "))
    }
}

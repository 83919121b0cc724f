//! Errors with their causes, in one line. Pure.

use std::error::Error;
use std::fmt;

/// Shows an error and its causes, separated by colons; what the text says already is not repeated.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

/// The API server's own sentence, where an error is its answer. What the client makes of it says the same once more.
fn answer<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    let status = error
        .downcast_ref::<kube::Error>()
        .or_else(boxed)
        .and_then(|error| if let kube::Error::Api(status) = error { Some(&**status) } else { None });
    let status = status.or_else(|| error.downcast_ref::<kube::core::Status>());
    status.map(|status| status.message.trim_end())
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut text, mut next) = (String::new(), Some(self.0));
        while let Some(error) = next {
            let answer = answer(error);
            let sentence = answer.map_or_else(|| error.to_string(), str::to_owned);
            // Many put the text of a cause into their own.
            if !text.contains(&sentence) {
                let colon = if text.is_empty() { "" } else { ": " };
                text.push_str(colon);
                text.push_str(&sentence);
            }
            next = error.source().filter(|_| answer.is_none());
        }
        f.write_str(&text.replace('\n', " "))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read it: {source}")]
    struct Repeating {
        source: io::Error,
    }

    #[test]
    fn what_a_cause_says_is_said_once() {
        let answer = kube::core::Status::failure("no such page\n", "Unread").with_code(404);
        assert_eq!(Chain(&kube::Error::Api(Box::new(answer))).to_string(), "no such page");
        let error = Repeating { source: io::Error::other("it is gone") };
        assert_eq!(Chain(&error).to_string(), "cannot read it: it is gone");
    }
}

//! Errors with their causes, in one line. Pure.

use std::error::Error;
use std::fmt;

/// Shows an error and its causes, separated by colons; a cause that the text already ends with is not repeated.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

/// The API server's own sentence, where it gave one: the client's text of it repeats it in `Debug` form.
fn sentence(error: &(dyn Error + 'static)) -> String {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    let status = error
        .downcast_ref::<kube::Error>()
        .or_else(boxed)
        .and_then(|error| if let kube::Error::Api(status) = error { Some(&**status) } else { None });
    match status.or_else(|| error.downcast_ref::<kube::core::Status>()) {
        Some(status) => status.message.clone(),
        None => error.to_string(),
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = sentence(self.0);
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let next = sentence(error);
            if !text.ends_with(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            cause = error.source();
        }
        f.write_str(&text.replace('\n', " "))
    }
}

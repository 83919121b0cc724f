//! What is wrong with a platform file, and where. Pure.

use std::fmt;

/// A place in the file; both numbers start at 1, and a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Column.
    pub column: u64,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where it is; `None` where the text does not tell.
    pub position: Option<Position>,
    /// The key at fault, from the root down; empty where the whole file is.
    pub key: String,
    /// What is wrong with it, and what is allowed: the rest of a sentence that the key begins.
    pub problem: String,
}

/// `12:5: sizes.lowMem.cpu is …`, to be put behind the name of the file and a colon, as compilers do.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        } else {
            f.write_str(" ")?;
        }
        match self.key.as_str() {
            "" => f.write_str(&self.problem),
            key => write!(f, "{key} {}", self.problem),
        }
    }
}

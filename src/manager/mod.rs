//! Placeholder.
mod flags;
#[cfg(test)]
mod flags_tests;
mod go_flags;
pub use flags::{Flags, LogFlags};

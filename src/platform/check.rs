//! Checks the values of a platform file. Pure.

/// The longest time that any key may name: a day. Longer is a typing error, and sums stay small.
pub(super) const MAX_SECONDS: i32 = 86_400;

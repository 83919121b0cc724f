//! Who this process is in an election, and chance. Reads the host's name and the system's randomness.

use std::hash::{BuildHasher, RandomState};

/// An identity that no other process has, restarts included, and that people recognise: `<hostname>_<random>`.
pub(super) fn identity() -> String {
    let host = hostname::get().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    format!("{host}_{:016x}{:016x}", random(), random())
}

/// A number from 0 to 1.
pub(super) fn chance() -> f64 {
    f64::from(u16::try_from(random() % 10_000).unwrap_or_default()) / 10_000.0
}

/// Every [`RandomState`] has keys of its own, seeded by the system.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_identities_are_equal() {
        assert_ne!(identity(), identity());
    }

    #[test]
    fn an_identity_begins_with_the_host() {
        let host = hostname::get().unwrap().into_string().unwrap();
        assert!(identity().starts_with(&format!("{host}_")));
    }

    #[test]
    fn chance_is_spread_over_its_range() {
        let draws: Vec<f64> = (0..1000).map(|_| chance()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let low = draws.iter().filter(|draw| **draw < 0.5).count();
        assert!((300..700).contains(&low), "{low} of 1000 below one half");
    }
}

//! How long to wait after a failure. Pure.

use std::time::Duration;

use crate::hash::fnv1a;

/// The shape of a growing delay.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Delay after the first failure.
    pub base: Duration,
    /// No delay is longer.
    pub cap: Duration,
}

impl Backoff {
    /// The delay after `failures` failures in a row (1 = the first), at least half of `base × 2^(failures-1)`.
    ///
    /// The other half is jitter, taken from a hash of `seed` and the count: objects that failed together come back
    /// apart, and gaps still grow from one failure to the next.
    #[must_use]
    pub fn delay(self, failures: u32, seed: &str) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let full = self.base.saturating_mul(2_u32.saturating_pow(doublings)).min(self.cap);
        full / 2 + jitter(full / 2, seed, failures)
    }
}

/// A delay of up to `span` that depends on `seed` and `round` alone.
#[must_use]
pub fn jitter(span: Duration, seed: &str, round: u32) -> Duration {
    let permille = u32::try_from(fnv1a(format!("{seed}#{round}").as_bytes()) % 1001).unwrap_or(0);
    span * permille / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(5) };

    #[test]
    fn gaps_grow_until_the_cap() {
        let delays: Vec<_> = (1..=9).map(|n| BACKOFF.delay(n, "ns/web")).collect();
        assert!(delays.windows(2).all(|pair| pair[0] < pair[1]), "{delays:?}");
        assert!(delays[0] >= Duration::from_millis(500) && delays[0] <= Duration::from_secs(1));
        let late = BACKOFF.delay(u32::MAX, "ns/web");
        assert!(late >= Duration::from_secs(150) && late <= Duration::from_mins(5), "{late:?}");
    }

    #[test]
    fn objects_that_fail_together_come_back_apart() {
        let mut delays: Vec<_> = (0..50).map(|n| BACKOFF.delay(8, &format!("ns/app-{n}"))).collect();
        delays.sort();
        delays.dedup();
        assert!(delays.len() > 40, "only {} different delays", delays.len());
    }
}

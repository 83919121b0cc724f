//! Another PodDisruptionBudget over an app's pods, and how the app's own goes by it. Pure; ADR 19 has the reasons.

use std::time::Duration;

use tokio::time::Instant;

/// So long after another budget is gone ours comes back: it may only be replaced, and whoever made it may go by ours.
const GRACE: Duration = Duration::from_secs(10);

/// What is known of another budget over the pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherBudget {
    /// There is none.
    #[default]
    Absent,
    /// There is one.
    Present,
    /// There was one until then.
    Gone(Instant),
}

impl OtherBudget {
    /// What is known at `now`, when there are these.
    #[must_use]
    pub fn next(self, others: &[Box<str>], now: Instant) -> Self {
        match self {
            _ if !others.is_empty() => Self::Present,
            Self::Present => Self::Gone(now),
            Self::Gone(_) if self.left(now).is_none() => Self::Absent,
            Self::Absent | Self::Gone(_) => self,
        }
    }

    /// Whether the app's own budget must not be.
    #[must_use]
    pub fn is_in_the_way(self) -> bool {
        self != Self::Absent
    }

    /// How long one that is gone stays in the way.
    #[must_use]
    pub fn left(self, now: Instant) -> Option<Duration> {
        let Self::Gone(since) = self else { return None };
        let left = GRACE.saturating_sub(now.saturating_duration_since(since));
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_steps_back_at_once_and_comes_back_after_a_while() {
        let (now, others) = (Instant::now(), [Box::from("theirs")]);
        let present = OtherBudget::default().next(&others, now);
        assert!(present.is_in_the_way() && present.left(now).is_none());
        let gone = present.next(&[], now + GRACE);
        assert_eq!((gone.is_in_the_way(), gone.left(now + GRACE)), (true, Some(GRACE)));
        assert_eq!(gone.next(&[], now + GRACE + GRACE / 2), gone);
        assert_eq!(gone.next(&others, now + GRACE + GRACE / 2), OtherBudget::Present, "it was replaced");
        assert_eq!(gone.next(&[], now + GRACE * 2), OtherBudget::Absent);
        assert_eq!(OtherBudget::Absent.next(&[], now), OtherBudget::Absent);
    }
}

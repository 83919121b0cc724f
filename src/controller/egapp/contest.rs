//! Somebody else who changes a field back as often as it is put right. Pure.

use std::time::Duration;

use tokio::time::Instant;

use super::error::RETRY;

/// So often in a row a field is put right at once.
const AT_ONCE: u32 = 5;

/// A field that was left alone for so long is not contested any more. Longer than the longest pause.
const QUIET: Duration = Duration::from_mins(10);

/// A field that was put right last, and how often in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    field: String,
    count: u32,
    last: Instant,
}

impl Contest {
    /// How long to wait before `field` is put right once more; `None` = no longer.
    #[must_use]
    pub fn pause(&self, field: &str, now: Instant) -> Option<Duration> {
        let since = now.saturating_duration_since(self.last);
        if self.field != field || since >= QUIET || self.count < AT_ONCE {
            return None;
        }
        let left = RETRY.delay(self.count - AT_ONCE + 1, field).saturating_sub(since);
        (!left.is_zero()).then_some(left)
    }

    /// `field` was put right at `now`, after `former`.
    #[must_use]
    pub fn after(former: Option<Self>, field: String, now: Instant) -> Self {
        let is_again =
            |former: &Self| former.field == field && now.saturating_duration_since(former.last) < QUIET;
        let count = former.filter(is_again).map_or(1, |former| former.count.saturating_add(1));
        Self { field, count, last: now }
    }
}

/// A status that was written, and that somebody else may change: another operator over the same EGApps, for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    words: Option<u64>,
    contest: Option<Contest>,
}

impl Told {
    /// How long to wait before a status with these words is written; `None` = no longer. The same words are written again
    /// only where somebody else has changed them.
    #[must_use]
    pub fn pause(&self, words: u64, now: Instant) -> Option<Duration> {
        let contest = self.contest.as_ref().filter(|_| self.words == Some(words))?;
        contest.pause(STATUS, now)
    }

    /// A status with these words was written at `now`.
    pub fn told(&mut self, words: u64, now: Instant) {
        if self.words.replace(words) == Some(words) {
            self.contest = Some(Contest::after(self.contest.take(), STATUS.to_owned(), now));
        }
    }
}

const STATUS: &str = "status";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_status_is_written_ever_less_often_and_another_one_at_once() {
        let (mut told, now) = (Told::default(), Instant::now());
        for _ in 0..=AT_ONCE {
            assert_eq!(told.pause(1, now), None);
            told.told(1, now);
        }
        assert!(told.pause(1, now).is_some());
        assert_eq!(told.pause(1, now + QUIET), None);
        assert_eq!(told.pause(2, now), None);
        told.told(2, now);
        assert_eq!(told.pause(1, now), None);
    }

    fn contested(times: u32, now: Instant) -> Contest {
        (0..times)
            .fold(None, |contest, _| Some(Contest::after(contest, "spec.replicas".into(), now)))
            .unwrap()
    }

    #[test]
    fn a_field_is_put_right_at_once_a_few_times_and_then_ever_less_often() {
        let now = Instant::now();
        assert_eq!(contested(AT_ONCE - 1, now).pause("spec.replicas", now), None);
        let pauses: Vec<_> = (AT_ONCE..AT_ONCE + 12)
            .map(|times| contested(times, now).pause("spec.replicas", now).unwrap())
            .collect();
        assert!(
            pauses[0] >= RETRY.base / 2 && pauses[3] >= 4 * pauses[0] && pauses[11] >= RETRY.cap / 2,
            "{pauses:?}"
        );
        assert!(pauses.iter().all(|pause| *pause < QUIET), "{pauses:?}");
        assert_eq!(
            contested(AT_ONCE, now).pause("spec.replicas", now + pauses[0]),
            None,
            "its time has come"
        );
    }

    #[test]
    fn another_field_and_one_that_was_left_alone_are_put_right_at_once() {
        let now = Instant::now();
        let contest = contested(AT_ONCE + 3, now);
        assert_eq!(contest.pause("spec.paused", now), None);
        assert_eq!(contest.pause("spec.replicas", now + QUIET), None);
        let later = Contest::after(Some(contest), "spec.replicas".into(), now + QUIET);
        assert_eq!(later.pause("spec.replicas", now + QUIET), None, "it is counted from one again");
    }
}

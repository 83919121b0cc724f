//! When a status that is not settled may be written. Pure, but for the clock it is handed.
//!
//! A rollout changes the status with every pod. A settled status is written at once; one that moves waits a second,
//! in which it mostly settles, and shares a budget for the whole process with all others. A person who watches one
//! app sees progress after a second; a thousand apps at once cost a write or two each, not five.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::controller::backoff::jitter;

/// How long a moving status waits before it is written, and between two writes of it.
pub const SETTLE: Duration = Duration::from_secs(1);

/// Between two progress writes of the whole process: five a second. In a flood of new apps on a slow cluster each of
/// them is one more write for the API server that the flood is waiting for.
const INTERVAL: Duration = Duration::from_millis(200);

/// Between two tries of one app, at most and jitter aside.
const LONGEST: Duration = Duration::from_secs(10);

/// The progress budget of the process.
#[derive(Default)]
pub struct Pace {
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// Whether a moving status may be written at `now`.
    ///
    /// `since` is the app's own: when its status began to differ from the written one. It is set here, and to be
    /// cleared by the caller after a write.
    ///
    /// # Errors
    /// If not: how long to wait before asking again.
    pub fn admit(&self, since: &mut Option<Instant>, now: Instant, seed: &str) -> Result<(), Duration> {
        let began = *since.get_or_insert(now);
        let waited = now.saturating_duration_since(began);
        let left = SETTLE.saturating_sub(waited);
        if !left.is_zero() {
            return Err(left);
        }
        if self.take_turn(now) {
            return Ok(());
        }
        // Not a place in a line: most that ask again have settled by then, and a lone app must not queue behind them.
        // Each time they ask it takes a pass, so they wait as long again as they have waited already.
        let round = u32::try_from(waited.as_millis()).unwrap_or(u32::MAX);
        Err(waited.min(LONGEST) + jitter(SETTLE, seed, round))
    }

    fn take_turn(&self, now: Instant) -> bool {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = next.is_none_or(|next| now >= next);
        if is_free {
            *next = Some(now + INTERVAL);
        }
        is_free
    }
}

/// Whether the news of a failure may be written at `now`: at once, but for an app whose pods fail in ever other ways.
///
/// `told` is the app's own: when news was written last. It is set here.
///
/// # Errors
/// If not: how long to wait before asking again.
pub fn admit_news(told: &mut Option<Instant>, now: Instant) -> Result<(), Duration> {
    let left = told.map_or(Duration::ZERO, |told| SETTLE.saturating_sub(now.saturating_duration_since(told)));
    if left.is_zero() {
        *told = Some(now);
        return Ok(());
    }
    Err(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_status_waits_a_second_and_is_then_admitted() {
        let (pace, start, mut since) = (Pace::default(), Instant::now(), None);
        assert_eq!(pace.admit(&mut since, start, "a"), Err(SETTLE));
        let later = start + Duration::from_millis(400);
        assert_eq!(pace.admit(&mut since, later, "a"), Err(Duration::from_millis(600)));
        assert_eq!(pace.admit(&mut since, start + SETTLE, "a"), Ok(()));
    }

    #[test]
    fn news_is_told_at_once_and_more_of_it_a_second_later() {
        let (start, mut told) = (Instant::now(), None);
        assert_eq!(admit_news(&mut told, start), Ok(()));
        let later = start + Duration::from_millis(400);
        assert_eq!(admit_news(&mut told, later), Err(Duration::from_millis(600)));
        assert_eq!(admit_news(&mut told, start + SETTLE), Ok(()));
        assert_eq!(admit_news(&mut told, start + SETTLE), Err(SETTLE));
    }

    #[test]
    fn a_flood_is_admitted_five_times_a_second() {
        let (pace, start) = (Pace::default(), Instant::now());
        let mut admitted = 0;
        for millis in (1000..6000).step_by(10) {
            let now = start + Duration::from_millis(millis);
            for app in 0..5 {
                admitted += u32::from(pace.admit(&mut Some(start), now, &app.to_string()).is_ok());
            }
        }
        assert_eq!(admitted, 25);
    }

    #[test]
    fn who_is_not_admitted_asks_ever_less_often() {
        let (pace, start) = (Pace::default(), Instant::now());
        let wait = |waited| {
            let now = start + waited;
            assert_eq!(pace.admit(&mut Some(start), now, "first"), Ok(()));
            pace.admit(&mut Some(start), now, "second").unwrap_err()
        };
        let (four, sixty) = (Duration::from_secs(4), Duration::from_mins(1));
        assert!((four..=four + SETTLE).contains(&wait(four)));
        assert!((LONGEST..=LONGEST + SETTLE).contains(&wait(sixty)));
    }

    #[test]
    fn who_is_not_admitted_comes_back_apart_from_the_others() {
        let (pace, start) = (Pace::default(), Instant::now());
        let now = start + SETTLE;
        assert_eq!(pace.admit(&mut Some(start), now, "first"), Ok(()));
        let waits: Vec<_> =
            (0..20).filter_map(|app| pace.admit(&mut Some(start), now, &app.to_string()).err()).collect();
        assert_eq!(waits.len(), 20);
        assert!(waits.iter().all(|wait| *wait >= SETTLE && *wait <= 2 * SETTLE));
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }
}

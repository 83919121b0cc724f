//! Step lines on stderr for work that a person has to wait for. Written past the test harness's capture on
//! purpose: a first build inside `cargo test` takes minutes and must not look like a hang.

use std::{
    io::{self, Write},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

const HEARTBEAT: Duration = Duration::from_secs(30);

/// One line, with a prefix that tells who speaks.
pub(crate) fn say(line: &str) {
    // A closed stderr is no reason to fail the work that is reported on.
    drop(writeln!(io::stderr().lock(), "cluster: {line}"));
}

/// Runs `work` and says every half minute that it is still going on.
pub(crate) fn with_heartbeat<T>(step: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    thread::scope(|scope| {
        let (done, waiting) = mpsc::channel::<()>();
        scope.spawn(move || {
            while waiting.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                say(&format!("  still {step} ({})", elapsed(started.elapsed())));
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// A duration as a person says it: `4.2 s`, `3 min 05 s`.
pub(crate) fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_a_person_says_them() {
        assert_eq!(elapsed(Duration::from_millis(4_240)), "4.2 s");
        assert_eq!(elapsed(Duration::from_secs(185)), "3 min 05 s");
    }
}

//! Backoff: when a failed gate may be started again.

use std::time::Duration;

/// A program that answered and ran this long was healthy; its end starts a new series of failures.
const STABLE: Duration = Duration::from_secs(10);
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_LAST: Duration = Duration::from_mins(1);

/// Consecutive failures. Times are durations since some fixed instant.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    failures: u32,
    until: Duration,
}

impl Attempts {
    /// How long to wait before the next start, if a pause is in effect.
    pub(super) fn pause(&self, now: Duration) -> Option<Duration> {
        self.until.checked_sub(now).filter(|left| !left.is_zero())
    }

    /// Records that a run ended unexpectedly. `good` is how long it ran, if it answered anything.
    pub(super) fn failed(&mut self, good: Option<Duration>, now: Duration) {
        if good.is_some_and(|lived| lived >= STABLE) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        // Calls are denied meanwhile, so after a single failure the next call may restart it immediately.
        let pause = match self.failures.checked_sub(2) {
            Some(doublings) => PAUSE_FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(PAUSE_LAST),
            None => Duration::ZERO,
        };
        self.until = now + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_pause() {
        let mut attempts = Attempts::default();
        assert_eq!(attempts.pause(at(0)), None);
        for pause in [0, 1, 2, 4, 8, 16, 32, 60, 60] {
            attempts.failed(None, at(100));
            assert_eq!(attempts.pause(at(100)), (pause > 0).then(|| at(pause)));
            assert_eq!(attempts.pause(at(100 + pause)), None);
        }
    }

    #[test]
    fn only_a_long_good_run_ends_the_row() {
        let mut attempts = Attempts::default();
        for _ in 0..3 {
            attempts.failed(Some(at(9)), at(0));
        }
        assert_eq!(attempts.pause(at(0)), Some(at(2)));
        attempts.failed(Some(at(10)), at(50));
        assert_eq!(attempts.pause(at(50)), None);
        attempts.failed(None, at(60));
        assert_eq!(attempts.pause(at(60)), Some(at(1)));
    }

    #[test]
    fn very_many_failures_do_not_overflow() {
        let mut attempts = Attempts { failures: u32::MAX, until: at(0) };
        attempts.failed(None, at(0));
        assert_eq!(attempts.pause(at(0)), Some(PAUSE_LAST));
    }
}

//! The time by which approvals expire: it never goes back, and never slower than the monotonic clock.
//!
//! A wall clock that is set back would otherwise prolong every approval. One that is set forward ends them
//! early, which is safe.

use std::time::Instant;

use octroi_core::Clock;
use parking_lot::Mutex;

/// A clock that only goes forward.
#[derive(Debug)]
pub(super) struct SteadyClock {
    clock: Clock,
    /// The latest time that was given, and the monotonic time of that.
    latest: Mutex<(i64, Instant)>,
}

impl SteadyClock {
    pub(super) fn new(clock: Clock) -> Self {
        let latest = Mutex::new((clock.now_ms(), clock.instant()));
        Self { clock, latest }
    }

    /// Milliseconds since 1970, as far as the wall clock was not set back.
    pub(super) fn now_ms(&self) -> i64 {
        let mut latest = self.latest.lock();
        let (wall, instant) = (self.clock.now_ms(), self.clock.instant());
        let passed = instant.saturating_duration_since(latest.1).as_millis();
        let least = latest.0.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        // A step of less than a millisecond must not be lost.
        if wall > least || passed > 0 {
            *latest = (wall.max(least), instant);
        }
        wall.max(least)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use octroi_core::clock::TimeSource;

    use super::*;

    struct SetByHand {
        wall: Arc<AtomicI64>,
        begun: Instant,
        passed_ms: Arc<AtomicI64>,
    }

    impl TimeSource for SetByHand {
        fn wall_ms(&self) -> i64 {
            self.wall.load(Ordering::Relaxed)
        }

        fn monotonic(&self) -> Instant {
            self.begun + Duration::from_millis(self.passed_ms.load(Ordering::Relaxed).unsigned_abs())
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "an instant can only be made by reading the clock")]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let (wall, passed_ms) = (Arc::new(AtomicI64::new(1_000)), Arc::new(AtomicI64::new(0)));
        let source =
            SetByHand { wall: Arc::clone(&wall), begun: Instant::now(), passed_ms: Arc::clone(&passed_ms) };
        let clock = SteadyClock::new(Clock::new(source));
        for (now, passed, expected) in [
            (1_000, 0, 1_000),
            (1_500, 500, 1_500),
            // Set back by an hour, then time goes on.
            (-3_598_500, 500, 1_500),
            (-3_598_400, 600, 1_600),
            // Set forward, and back again: what began meanwhile still ends in time.
            (9_000, 700, 9_000),
            (1_800, 800, 9_100),
            (9_900, 900, 9_900),
        ] {
            wall.store(now, Ordering::Relaxed);
            passed_ms.store(passed, Ordering::Relaxed);
            assert_eq!(clock.now_ms(), expected, "{now} {passed}");
        }
    }
}

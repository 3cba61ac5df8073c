//! The system clock, and the only code that reads it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use octroi_core::Clock;
use octroi_core::clock::TimeSource;

struct Machine;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock of the machine")]
impl TimeSource for Machine {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> Instant {
        // The runtime's clock, so that deadlines agree with timers, also in tests that pause time.
        tokio::time::Instant::now().into_std()
    }
}

/// A clock that reads the system time.
pub fn system_clock() -> Clock {
    Clock::new(Machine)
}

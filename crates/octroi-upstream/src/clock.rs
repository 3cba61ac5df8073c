//! The clock of the machine: the one place that reads it.

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
        // The runtime's, so that deadlines and the timers that wait for them agree, also where a test stops the time.
        tokio::time::Instant::now().into_std()
    }
}

/// A clock that shows the time of the machine.
pub fn system_clock() -> Clock {
    Clock::new(Machine)
}

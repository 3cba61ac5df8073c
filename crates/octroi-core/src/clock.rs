//! The clock, passed in as a dependency.
//!
//! Nothing in Octroi reads the system time directly: the program makes one [`Clock`] and passes it down, so
//! that a test can pass another one.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A source of time.
pub trait TimeSource: Send + Sync {
    /// Milliseconds since 1970; may jump when the system clock is set.
    fn wall_ms(&self) -> i64;
    /// Monotonic time, for measuring and for deadlines.
    fn monotonic(&self) -> Instant;
}

/// A handle to a time source. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn TimeSource>);

impl Clock {
    /// A clock over this source.
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.0.wall_ms()
    }

    /// Monotonic time.
    pub fn instant(&self) -> Instant {
        self.0.monotonic()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

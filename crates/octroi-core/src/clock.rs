//! The clock, as something that is passed in.
//!
//! Nothing in Octroi reads the time of the machine by itself: the program makes one [`Clock`] and hands it down, so
//! that a test can hand down another.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Where the time comes from.
pub trait TimeSource: Send + Sync {
    /// Milliseconds since 1970; may jump when somebody sets the clock.
    fn wall_ms(&self) -> i64;
    /// A time that never goes back, for measuring and for deadlines.
    fn monotonic(&self) -> Instant;
}

/// Tells the time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn TimeSource>);

impl Clock {
    /// A clock that shows the time of this source.
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.0.wall_ms()
    }

    /// A time that never goes back.
    pub fn instant(&self) -> Instant {
        self.0.monotonic()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

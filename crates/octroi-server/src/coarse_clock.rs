//! A clock that is exact to half a second and costs nothing to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use octroi_core::Clock;

/// The time since the start in milliseconds, as of the last sweep. Reading it costs nothing.
#[derive(Debug)]
pub(crate) struct CoarseClock {
    clock: Clock,
    begun: Instant,
    now_ms: AtomicU64,
}

impl CoarseClock {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { begun: clock.instant(), clock, now_ms: AtomicU64::new(0) })
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// Reads the clock of the machine.
    pub(crate) fn update(&self) {
        let elapsed = self.clock.instant().saturating_duration_since(self.begun);
        self.now_ms.store(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX >> 8), Ordering::Relaxed);
    }
}

//! Slows down clients that send nothing but what is refused: wrong tokens, malformed requests.

use std::time::{Duration, Instant};

use octroi_core::Clock;
use parking_lot::Mutex;

/// Refusals in a second that are answered at once: enough for people and for clients that were misconfigured.
const FREE_PER_SECOND: u32 = 50;
/// How long the answer to any other one takes.
const DELAY: Duration = Duration::from_millis(500);

/// Counts refusals.
#[derive(Debug)]
pub(crate) struct Slowdown {
    clock: Clock,
    second: Mutex<Option<(Instant, u32)>>,
}

impl Slowdown {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, second: Mutex::default() }
    }

    /// How long to wait with the next refusal; `None` if it can be sent at once.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let now = self.clock.instant();
        let mut second = self.second.lock();
        let (begun, n_refused) = match *second {
            Some((begun, n_refused)) if now.saturating_duration_since(begun) < Duration::from_secs(1) => {
                (begun, n_refused.saturating_add(1))
            }
            Some(_) | None => (now, 1),
        };
        *second = Some((begun, n_refused));
        (n_refused > FREE_PER_SECOND).then_some(DELAY)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octroi_core::clock::TimeSource;

    use super::*;

    #[derive(Clone)]
    struct FixedTime(Arc<Mutex<Instant>>);

    impl TimeSource for FixedTime {
        fn wall_ms(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Instant {
            *self.0.lock()
        }
    }

    #[test]
    fn a_flood_is_slowed_down_and_a_few_are_not() {
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let time = FixedTime(Arc::new(Mutex::new(Instant::now())));
        let slowdown = Slowdown::new(Clock::new(time.clone()));
        for _ in 0..3 {
            let n_free = (0..1_000).filter(|_| slowdown.delay().is_none()).count();
            assert_eq!(n_free, FREE_PER_SECOND as usize);
            *time.0.lock() += Duration::from_secs(1);
        }
    }
}

//! How many subscriptions one agent or person may have, and how many new ones in a minute.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use octroi_api::ErrorCode;
use octroi_core::Clock;
use octroi_core::config::ClientLimits;
use octroi_mcp::RpcError;
use parking_lot::Mutex;

use crate::reply::limit_error;

const MINUTE: Duration = Duration::from_mins(1);
/// Beyond this number, counters of past minutes are removed.
const COUNTERS_MAX: usize = 1_000;

/// Counts new subscriptions.
#[derive(Debug)]
pub(crate) struct SubscriptionLimits {
    limits: ClientLimits,
    clock: Clock,
    minutes: Mutex<HashMap<Arc<str>, (Instant, usize)>>,
}

impl SubscriptionLimits {
    pub(crate) fn new(limits: ClientLimits, clock: Clock) -> Arc<Self> {
        Arc::new(Self { limits, clock, minutes: Mutex::default() })
    }

    /// Admits one more subscription of a principal that has `n_open`.
    pub(crate) fn subscribe(&self, principal: &Arc<str>, n_open: usize) -> Result<(), RpcError> {
        self.change(principal)?;
        let limit = self.limits.subscriptions;
        if n_open < limit {
            return Ok(());
        }
        Err(limit_error(
            &format!("there are {limit} subscriptions already"),
            "end some; a person can raise `max_subscriptions` under [server]",
        ))
    }

    /// Admits a change of the subscriptions of a principal.
    pub(crate) fn change(&self, principal: &Arc<str>) -> Result<(), RpcError> {
        let now = self.clock.instant();
        let mut minutes = self.minutes.lock();
        if minutes.len() >= COUNTERS_MAX {
            minutes.retain(|_, (begun, _)| now.saturating_duration_since(*begun) < MINUTE);
        }
        let (begun, n_changes) = minutes.entry(Arc::clone(principal)).or_insert((now, 0));
        if now.saturating_duration_since(*begun) >= MINUTE {
            (*begun, *n_changes) = (now, 0);
        }
        *n_changes = n_changes.saturating_add(1);
        let limit = self.limits.subscriptions_per_minute;
        if *n_changes <= limit {
            return Ok(());
        }
        Err(limit_error(
            &format!("subscriptions changed more than {limit} times in this minute"),
            "wait a minute; a person can raise `max_subscriptions_per_minute` under [server]",
        ))
    }
}

/// Whether an error says that a limit is exceeded.
pub(crate) fn is_limit(error: &RpcError) -> bool {
    error.code == ErrorCode::LimitExceeded.spec().rpc
}

#[cfg(test)]
mod tests {
    use octroi_core::clock::TimeSource;

    use super::*;

    #[derive(Clone)]
    struct Movable(Arc<Mutex<Instant>>);

    impl TimeSource for Movable {
        fn wall_ms(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Instant {
            *self.0.lock()
        }
    }

    #[test]
    fn subscriptions_are_limited_by_number_and_by_minute() {
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let time = Movable(Arc::new(Mutex::new(Instant::now())));
        let limits =
            ClientLimits { subscriptions: 5, subscriptions_per_minute: 3, ..ClientLimits::default() };
        let limits = SubscriptionLimits::new(limits, Clock::new(time.clone()));
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        assert!(limits.subscribe(&one, 4).is_ok());
        assert!(is_limit(&limits.subscribe(&one, 5).unwrap_err()));
        assert!(limits.change(&one).is_ok());
        assert!(is_limit(&limits.change(&one).unwrap_err()), "the fourth in this minute");
        assert!(limits.subscribe(&other, 0).is_ok(), "another is not affected");
        *time.0.lock() += MINUTE;
        assert!(limits.subscribe(&one, 0).is_ok());
    }
}

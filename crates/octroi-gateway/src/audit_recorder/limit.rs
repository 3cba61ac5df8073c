//! Limits records and log lines of what anybody can cause as often as they like.

use std::collections::HashMap;
use std::hash::Hash;

use parking_lot::Mutex;

/// The maximum number of recorded attempts per minute.
const PER_MINUTE: u32 = 30;
const MINUTE_MS: i64 = 60_000;
/// The number of causes from which on silent ones are forgotten.
const CAUSES_MAX: usize = 1_000;

/// Recent attempts of one kind.
#[derive(Debug)]
pub(crate) struct RecordLimit {
    per_minute: u32,
    since_ms: i64,
    n_recorded: u32,
    /// Attempts since the last recorded one.
    n_left_out: u64,
}

impl Default for RecordLimit {
    fn default() -> Self {
        Self::new(PER_MINUTE)
    }
}

impl RecordLimit {
    /// Allows this many records per minute.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, since_ms: 0, n_recorded: 0, n_left_out: 0 }
    }

    /// Counts an attempt. If it is to be recorded, returns how many before it were not.
    pub(crate) fn take(&mut self, now_ms: i64) -> Option<u64> {
        if now_ms.saturating_sub(self.since_ms) >= MINUTE_MS || now_ms < self.since_ms {
            self.since_ms = now_ms;
            self.n_recorded = 0;
        }
        if self.n_recorded >= self.per_minute {
            self.n_left_out += 1;
            return None;
        }
        self.n_recorded += 1;
        Some(std::mem::take(&mut self.n_left_out))
    }
}

/// Limits for each of several causes, as each principal. Causes that are silent for a minute are forgotten when there
/// are many.
#[derive(Debug)]
pub(super) struct RecordLimits<K> {
    per_minute: u32,
    by_cause: Mutex<HashMap<K, RecordLimit>>,
}

impl<K: Eq + Hash> RecordLimits<K> {
    /// Allows this many records per minute for each cause.
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, by_cause: Mutex::default() }
    }

    /// The same for the usual number of records.
    pub(super) fn usual() -> Self {
        Self::new(PER_MINUTE)
    }

    /// Counts an attempt. If it is to be recorded, returns how many before it were not.
    pub(super) fn take(&self, cause: K, now_ms: i64) -> Option<u64> {
        let mut by_cause = self.by_cause.lock();
        if by_cause.len() >= CAUSES_MAX {
            by_cause.retain(|_, limit| (0..MINUTE_MS).contains(&now_ms.saturating_sub(limit.since_ms)));
        }
        by_cause.entry(cause).or_insert_with(|| RecordLimit::new(self.per_minute)).take(now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_recorded() {
        let mut refusals = RecordLimit::default();
        let n_recorded = (0..1_000).filter(|at_ms| refusals.take(100_000 + at_ms).is_some()).count();
        assert_eq!(n_recorded, PER_MINUTE as usize);
        assert_eq!(refusals.take(100_000 + MINUTE_MS), Some(970));
        assert_eq!(refusals.take(100_000 + MINUTE_MS), Some(0));
    }

    #[test]
    fn a_clock_that_goes_back_does_not_silence_anything() {
        let mut refusals = RecordLimit::default();
        while refusals.take(9_000_000).is_some() {}
        assert_eq!(refusals.take(1_000), Some(1));
    }

    #[test]
    fn each_cause_has_a_limit_of_its_own() {
        let limits = RecordLimits::new(1);
        assert_eq!(limits.take("a", 100_000), Some(0));
        assert_eq!([limits.take("a", 100_001), limits.take("a", 159_999)], [None, None]);
        assert_eq!(limits.take("b", 100_002), Some(0));
        assert_eq!(limits.take("a", 160_000), Some(2));
    }

    #[test]
    fn silent_causes_are_forgotten() {
        let limits = RecordLimits::new(1);
        for cause in 0..2 * CAUSES_MAX {
            let now_ms = 100_000 + i64::try_from(cause).unwrap() * 1_000;
            assert_eq!(limits.take(cause, now_ms), Some(0));
        }
        assert!(limits.by_cause.lock().len() <= CAUSES_MAX);
    }
}

//! Limits records of what anybody can cause as often as they like.

/// The maximum number of recorded attempts per minute.
const PER_MINUTE: u32 = 30;
const MINUTE_MS: i64 = 60_000;

/// Recent attempts of one kind.
#[derive(Debug, Default)]
pub(crate) struct RecordLimit {
    since_ms: i64,
    n_recorded: u32,
    /// Attempts since the last recorded one.
    n_left_out: u64,
}

impl RecordLimit {
    /// Counts an attempt. If it is to be recorded, returns how many before it were not.
    pub(crate) fn take(&mut self, now_ms: i64) -> Option<u64> {
        if now_ms.saturating_sub(self.since_ms) >= MINUTE_MS || now_ms < self.since_ms {
            self.since_ms = now_ms;
            self.n_recorded = 0;
        }
        if self.n_recorded >= PER_MINUTE {
            self.n_left_out += 1;
            return None;
        }
        self.n_recorded += 1;
        Some(std::mem::take(&mut self.n_left_out))
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
}

//! Records refused authentication. Attempts are unlimited, so only some of them are recorded.

use octroi_core::audit::{Actor, ActorKind, Event, Kind, Level};
use serde_json::json;

use super::AuditIndex;

/// The maximum number of recorded attempts per minute.
const PER_MINUTE: u32 = 30;
const MINUTE_MS: i64 = 60_000;

/// Recent attempts.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    since_ms: i64,
    n_recorded: u32,
    /// Attempts since the last recorded one.
    n_left_out: u64,
}

impl Refusals {
    /// Counts an attempt. If it is to be recorded, returns how many before it were not.
    fn take(&mut self, now_ms: i64) -> Option<u64> {
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

impl AuditIndex {
    /// Records that a client presented an unknown token. Nothing of the token is recorded.
    pub fn record_refused(&self, reason: &str) {
        let at_ms = self.context.clock.now_ms();
        let Some(n_left_out) = self.refusals.lock().take(at_ms) else {
            return;
        };
        let mut context = json!({ "reason": reason });
        if n_left_out > 0 {
            context["left_out"] = n_left_out.into();
        }
        let context = context.to_string();
        let actor = Actor::new(ActorKind::Anonymous, "unknown");
        let mut event = Event::new(u64::try_from(at_ms).unwrap_or_default(), Kind::AuthFailed, actor);
        event.level = Level::Warn;
        event.context = &context;
        self.recorder.record_later(&event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_recorded() {
        let mut refusals = Refusals::default();
        let n_recorded = (0..1_000).filter(|at_ms| refusals.take(100_000 + at_ms).is_some()).count();
        assert_eq!(n_recorded, PER_MINUTE as usize);
        assert_eq!(refusals.take(100_000 + MINUTE_MS), Some(970));
        assert_eq!(refusals.take(100_000 + MINUTE_MS), Some(0));
    }

    #[test]
    fn a_clock_that_goes_back_does_not_silence_anything() {
        let mut refusals = Refusals::default();
        while refusals.take(9_000_000).is_some() {}
        assert_eq!(refusals.take(1_000), Some(1));
    }
}

//! Records refused authentication. Attempts are unlimited, so only some of them are recorded.

use octroi_core::audit::{Actor, ActorKind, Event, Kind, Level};
use serde_json::json;

use super::AuditIndex;

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

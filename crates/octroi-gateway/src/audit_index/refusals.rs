//! Records refused authentication. Attempts are unlimited, so only some of them are recorded.

use std::net::IpAddr;

use octroi_core::audit::{Actor, ActorKind, Event, Kind, Level};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::AuditIndex;
use crate::audit_recorder::RecordLimit;

/// What was refused of late, by whether it is recorded.
#[derive(Default)]
pub(super) struct Refusals {
    single: Mutex<RecordLimit>,
    /// Limits that were reached; a flood of single attempts must not hide them.
    limits: Mutex<RecordLimit>,
}

impl AuditIndex {
    /// Records that a client presented an unknown token. Nothing of the token is recorded.
    pub fn record_refused(&self, reason: &str, address: IpAddr) {
        self.record_some(&self.refusals.single, json!({"reason": reason, "address": address.to_string()}));
    }

    /// Records that a limit on wrong tokens was reached.
    pub fn record_login_limit(&self, reason: &str, context: Value) {
        let mut context = context;
        context["reason"] = reason.into();
        self.record_some(&self.refusals.limits, context);
    }

    fn record_some(&self, limit: &Mutex<RecordLimit>, mut context: Value) {
        let at_ms = self.context.clock.now_ms();
        let Some(n_left_out) = limit.lock().take(at_ms) else {
            return;
        };
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

//! Records requests that are refused before anything is decided. A client can send them without end, so only some of
//! each principal are recorded.

use std::collections::HashMap;
use std::sync::Arc;

use octroi_core::audit::{Event, Kind, Level, Ruling};
use parking_lot::Mutex;
use serde_json::json;

use super::{AuditRecorder, Initiator, RecordLimit};

/// The longest text of a client in a record.
const TEXT_MAX: usize = 200;

/// A request that is not answered.
pub(crate) struct Violation<'a> {
    pub(crate) initiator: &'a Initiator,
    /// The server that the client meant, if it named one.
    pub(crate) server: Option<&'a str>,
    /// The canonical id of the tool, if it is known.
    pub(crate) tool: Option<&'a str>,
    /// The method, as the client wrote it.
    pub(crate) method: &'a str,
    /// What refuses it.
    pub(crate) gate: &'a str,
    pub(crate) reason: &'a str,
}

/// Recent violations of each principal.
#[derive(Debug, Default)]
pub(super) struct Violations {
    by_principal: Mutex<HashMap<Arc<str>, RecordLimit>>,
}

impl AuditRecorder {
    /// Records a violation, without waiting.
    pub(crate) fn violation(&self, violation: &Violation<'_>) {
        let at_ms = self.clock.now_ms();
        let Violation { initiator, .. } = violation;
        let taken = {
            let mut by_principal = self.violations.by_principal.lock();
            by_principal.entry(Arc::clone(&initiator.id)).or_default().take(at_ms)
        };
        let Some(n_left_out) = taken else {
            return;
        };
        let method = self.without_secrets(&violation.method.chars().take(TEXT_MAX).collect::<String>());
        let mut context = json!({ "method": method, "gate": violation.gate, "reason": violation.reason });
        if n_left_out > 0 {
            context["left_out"] = n_left_out.into();
        }
        let context = context.to_string();
        let event = Event {
            level: Level::Warn,
            agent: initiator.agent.as_deref(),
            session: initiator.session.as_deref(),
            server: violation.server,
            tool: violation.tool,
            call: Some(self.call_id(at_ms)),
            ruling: Some(Ruling::DenyContinue),
            context: &context,
            ..Event::new(u64::try_from(at_ms).unwrap_or_default(), Kind::PolicyViolation, initiator.actor())
        };
        self.record_later(&event);
    }
}

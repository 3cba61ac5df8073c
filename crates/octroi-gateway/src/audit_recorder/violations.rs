//! Records requests that are refused before anything is decided. A client can send them without end, so only some of
//! each principal are recorded.

use std::sync::Arc;

use octroi_core::audit::{Event, Kind, Level, Ruling};
use octroi_core::tool::ToolDescriptor;
use octroi_mcp::Method;
use serde_json::json;
use tracing::warn;

use super::limit::RecordLimits;
use super::{AuditRecorder, CallRecord, Initiator};

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

/// A call or request that a gate denied.
#[derive(Clone, Copy)]
pub(super) struct DeniedRequest<'a> {
    pub(super) initiator: &'a Initiator,
    pub(super) server: &'a str,
    pub(super) tool: Option<&'a str>,
    pub(super) method: &'a str,
    pub(super) gate: &'a str,
    pub(super) reason: &'a str,
}

/// How often what clients cause is recorded or reported.
#[derive(Debug)]
pub(super) struct Limits {
    violations: RecordLimits<Arc<str>>,
    /// Log lines only: each denial is recorded.
    denials: RecordLimits<Arc<str>>,
    /// By principal and quota.
    quotas: RecordLimits<(Arc<str>, String)>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            violations: RecordLimits::usual(),
            denials: RecordLimits::usual(),
            quotas: RecordLimits::new(1),
        }
    }
}

impl AuditRecorder {
    /// Records a violation, without waiting.
    pub(crate) fn violation(&self, violation: &Violation<'_>) {
        let at_ms = self.clock.now_ms();
        let Violation { initiator, .. } = violation;
        let Some(n_left_out) = self.limits.violations.take(Arc::clone(&initiator.id), at_ms) else {
            return;
        };
        let method = self.without_secrets(&violation.method.chars().take(TEXT_MAX).collect::<String>());
        let (agent, server) = (initiator.agent.as_deref(), violation.server);
        let (gate, reason) = (violation.gate, violation.reason);
        warn!(
            agent,
            server.name = server,
            method,
            gate,
            reason,
            n_left_out = some(n_left_out),
            "request refused"
        );
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

    /// Reports a denied call or request to the program's log. A client can be denied without end, so only some of each
    /// principal are reported.
    pub(super) fn report_denial(&self, denied: &DeniedRequest<'_>, at_ms: i64) {
        let DeniedRequest { initiator, server, tool, method, gate, reason } = *denied;
        if let Some(n_left_out) = self.limits.denials.take(Arc::clone(&initiator.id), at_ms) {
            let agent = initiator.agent.as_deref();
            warn!(
                agent,
                server.name = server,
                tool,
                method,
                gate,
                reason,
                n_left_out = some(n_left_out),
                "denied"
            );
        }
    }

    /// Records that a quota refuses a call: once a minute for each quota and principal. Each refused call has its own
    /// record, too.
    pub(crate) fn quota_exceeded(&self, initiator: &Initiator, tool: &ToolDescriptor, reason: &str) {
        let at_ms = self.clock.now_ms();
        let cause = (Arc::clone(&initiator.id), reason.to_owned());
        let Some(n_left_out) = self.limits.quotas.take(cause, at_ms) else {
            return;
        };
        let mut context = json!({ "quota": reason });
        if n_left_out > 0 {
            context["left_out"] = n_left_out.into();
        }
        let context = context.to_string();
        let event = Event {
            level: Level::Warn,
            agent: initiator.agent.as_deref(),
            session: initiator.session.as_deref(),
            server: Some(&tool.source_id),
            tool: Some(tool.id.as_str()),
            context: &context,
            ..Event::new(u64::try_from(at_ms).unwrap_or_default(), Kind::QuotaExceeded, initiator.actor())
        };
        self.record_later(&event);
    }
}

impl CallRecord {
    /// Records that the call is not made after all, because its token was taken away.
    pub(crate) fn token_revoked(&self, method: &Method) {
        self.recorder.violation(&Violation {
            initiator: &self.initiator,
            server: Some(&self.server),
            tool: self.tool.as_deref(),
            method: method.as_str(),
            gate: "token",
            reason: "the token of the caller is no longer valid",
        });
    }
}

/// A number for a log line, which leaves out zero.
fn some(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

//! Alerts: what a person should hear of at once. Raising one never waits and costs nothing while nobody listens;
//! a listener that does not keep up misses the oldest ones, and is told how many.

use std::sync::Arc;

use octroi_core::approval::{Approval, ApprovalState};
use octroi_core::pin::PinKind;
use octroi_core::{CanonicalId, visible};
use tokio::sync::broadcast;

/// How many alerts a listener may be behind.
const QUEUED: usize = 1024;
/// Longer arguments are cut: an alert is a line, and the page shows all of them.
const ARGUMENT_CHARACTERS: usize = 200;

/// Something that a person should hear of.
#[derive(Clone, Debug)]
pub enum Alert {
    /// A call begins to wait for approval.
    CallWaits(Arc<WaitingCall>),
    /// A call does not wait any more: it was decided, it expired or it was cancelled.
    CallSettled(Arc<WaitingCall>),
    /// A definition was quarantined.
    Quarantined(Arc<QuarantinedDefinition>),
}

/// A call that waits for approval or waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// The id of its approval.
    pub id: String,
    /// The agent that called, or else the principal.
    pub caller: String,
    /// The tool, as in `files.write`.
    pub tool: String,
    /// The risk level of the tool.
    pub risk: String,
    /// Why approval is needed.
    pub reasons: Vec<String>,
    /// The beginning of its arguments, with secrets redacted.
    pub arguments: String,
    /// The address of its page, if there is one.
    pub page: Option<String>,
    /// When it was requested.
    pub requested_at_ms: i64,
    /// When it can no longer be decided.
    pub expires_at_ms: i64,
    /// Its state.
    pub state: ApprovalState,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
    /// Whether they changed the arguments.
    pub edited: bool,
}

/// A definition that is quarantined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedDefinition {
    /// Its server.
    pub server: String,
    /// Whether it is a tool, a prompt and so on.
    pub kind: PinKind,
    /// Its name at the server.
    pub name: String,
    /// Why it is quarantined.
    pub reason: String,
}

impl WaitingCall {
    pub(crate) fn new(approval: &Approval, page: Option<String>) -> Self {
        let Approval { binding, arguments_preview, .. } = approval;
        let tool = match CanonicalId::parse_mcp(&binding.tool) {
            Some((server, name)) => format!("{server}.{name}"),
            None => binding.tool.clone(),
        };
        let mut arguments: String = arguments_preview.chars().take(ARGUMENT_CHARACTERS).collect();
        if arguments.len() < arguments_preview.len() {
            arguments.push('…');
        }
        Self {
            id: approval.id.clone(),
            caller: visible(binding.agent.as_deref().unwrap_or(&binding.principal)),
            tool: visible(&tool),
            risk: approval.risk.clone(),
            reasons: approval.reasons.iter().map(|reason| visible(reason)).collect(),
            arguments: visible(&arguments),
            page,
            requested_at_ms: approval.requested_at_ms,
            expires_at_ms: approval.expires_at_ms,
            state: approval.state,
            decided_by: approval.decided_by.as_deref().map(visible),
            reason: approval.decision_reason.as_deref().map(visible),
            edited: approval.edited_arguments.is_some(),
        }
    }

    /// Why it waits, in one sentence.
    pub fn sentence(&self) -> &str {
        self.reasons.first().map_or("approval is needed", String::as_str)
    }
}

/// The listeners to alerts.
#[derive(Debug)]
pub(crate) struct Alerts {
    sender: broadcast::Sender<Alert>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(QUEUED) }
    }
}

impl Alerts {
    /// Tells every listener.
    pub(crate) fn raise(&self, alert: Alert) {
        // Fails if nobody listens.
        let _ = self.sender.send(alert);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Alert> {
        self.sender.subscribe()
    }
}

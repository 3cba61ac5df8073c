//! The results of a decision, as values that prove it.

use std::sync::Arc;

use super::gate::Gate;
use super::trace::{Outcome, Trace, Verdict};
use crate::approval::{Approval, ApprovalState, Approvers, Binding, Refusal};
use crate::name::ServerKey;

/// The result of all gates.
#[derive(Debug)]
pub enum Decision {
    /// The call may be made.
    Allow(Permit),
    /// The call needs approval.
    Ask(UnapprovedCall),
    /// Refused.
    Deny(Denial),
}

impl Decision {
    /// Its name in output and records.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(denial) => denial.as_str(),
        }
    }

    /// The verdicts of all gates.
    pub fn trace(&self) -> &Trace {
        match self {
            Self::Allow(permit) => &permit.trace,
            Self::Ask(question) => &question.trace,
            Self::Deny(denial) => &denial.trace,
        }
    }
}

/// Proof that a call was decided and allowed. It is valid only for the server and the tool that it names; the
/// connection checks both before it sends.
#[derive(Debug)]
pub struct Permit {
    server: ServerKey,
    tool: Option<Arc<str>>,
    trace: Trace,
}

impl Permit {
    pub(super) fn new(server: ServerKey, tool: Option<Arc<str>>, trace: Trace) -> Self {
        Self { server, tool, trace }
    }

    /// Whether it is valid for this server and, for a tool call, for this tool by the server's own name.
    pub fn covers(&self, server: &ServerKey, tool: Option<&str>) -> bool {
        self.server == *server && self.tool.as_deref() == tool
    }

    /// The verdicts of all gates.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

/// A call that needs approval.
#[derive(Debug)]
pub struct UnapprovedCall {
    server: ServerKey,
    tool: Arc<str>,
    approvers: Approvers,
    trace: Trace,
}

impl UnapprovedCall {
    pub(super) fn new(server: ServerKey, tool: Arc<str>, approvers: Approvers, trace: Trace) -> Self {
        Self { server, tool, approvers, trace }
    }

    /// Who may decide, where the rules that ask say it.
    pub fn approvers(&self) -> &Approvers {
        &self.approvers
    }

    /// The verdicts of all gates.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Denies the call because no person can be asked about it.
    pub fn not_askable(mut self, reason: String) -> Denial {
        let outcome = Outcome::Deny;
        self.trace.push(Verdict { outcome, reason: Some(reason.clone()), ..Verdict::pass(Gate::Person) });
        Denial { gate: Gate::Person, reason, is_abort: false, fault: Fault::Policy, trace: self.trace }
    }

    /// Makes the permit, once a person has approved exactly this call and the approval was claimed for it.
    pub fn granted(mut self, claimed: &Approval, call: &Binding) -> Result<Permit, Refusal> {
        if claimed.state != ApprovalState::Claimed {
            return Err(Refusal::NotClaimed { state: claimed.state });
        }
        if let Some(what) = claimed.binding.differs(call) {
            return Err(Refusal::Differs { what });
        }
        // Whoever approved was permitted to by the rules of that time.
        if !claimed.approvers.include(&self.approvers) {
            return Err(Refusal::Differs { what: "who may decide" });
        }
        self.trace.push(Verdict {
            reason: claimed.decision_reason.clone(),
            by: claimed.decided_by.clone(),
            ..Verdict::pass(Gate::Person)
        });
        Ok(Permit::new(self.server, Some(self.tool), self.trace))
    }
}

/// The cause of a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A gate or a policy denied the call.
    Policy,
    /// A policy or a gate could not be evaluated.
    Evaluator,
}

/// A denial with its reason.
#[derive(Debug)]
pub struct Denial {
    /// The gate that denied the call.
    pub gate: Gate,
    /// The reason, for the caller and the records.
    pub reason: String,
    /// Whether the agent should stop.
    pub is_abort: bool,
    /// The cause of the denial.
    pub fault: Fault,
    pub(super) trace: Trace,
}

impl Denial {
    /// Its name in output and records.
    pub fn as_str(&self) -> &'static str {
        if self.is_abort { "deny_abort" } else { "deny_continue" }
    }

    /// The verdicts of all gates.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

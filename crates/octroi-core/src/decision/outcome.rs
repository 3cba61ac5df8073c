//! How a decision ends, as values that prove it.

use std::sync::Arc;

use super::gate::Gate;
use super::trace::{Outcome, Trace, Verdict};
use crate::approval::{Approval, ApprovalState, Binding, Refusal};
use crate::name::ServerKey;

/// The outcome of all gates.
#[derive(Debug)]
pub enum Decision {
    /// Go ahead.
    Allow(Permit),
    /// A person is to be asked first.
    Ask(Question),
    /// Refused.
    Deny(Denial),
}

impl Decision {
    /// The word for it everywhere.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(denial) => denial.as_str(),
        }
    }

    /// What every gate said.
    pub fn trace(&self) -> &Trace {
        match self {
            Self::Allow(permit) => &permit.trace,
            Self::Ask(question) => &question.trace,
            Self::Deny(denial) => &denial.trace,
        }
    }
}

/// Proof that a call was decided and allowed. It holds for the server and the tool that it names, and the
/// connection compares both with what it is about to send.
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

    /// Whether it holds for this server and, if a tool is called, for this tool by the server's own name.
    pub fn covers(&self, server: &ServerKey, tool: Option<&str>) -> bool {
        self.server == *server && self.tool.as_deref() == tool
    }

    /// What every gate said.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

/// A call that waits for a person.
#[derive(Debug)]
pub struct Question {
    server: ServerKey,
    tool: Arc<str>,
    trace: Trace,
}

impl Question {
    pub(super) fn new(server: ServerKey, tool: Arc<str>, trace: Trace) -> Self {
        Self { server, tool, trace }
    }

    /// What every gate said.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Makes the permit, once a person has approved exactly this call and the approval was used up for it.
    pub fn granted(mut self, claimed: &Approval, call: &Binding) -> Result<Permit, Refusal> {
        if claimed.state != ApprovalState::Claimed {
            return Err(Refusal::NotClaimed { state: claimed.state });
        }
        if let Some(what) = claimed.binding.differs(call) {
            return Err(Refusal::Differs { what });
        }
        self.trace.push(Verdict {
            gate: Gate::Person,
            outcome: Outcome::Pass,
            reason: claimed.decision_reason.clone(),
            by: claimed.decided_by.clone(),
        });
        Ok(Permit::new(self.server, Some(self.tool), self.trace))
    }
}

/// What a denial comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A gate or a policy said no.
    Policy,
    /// A policy or a gate could not be asked.
    Evaluator,
}

/// A refusal, with its reason.
#[derive(Debug)]
pub struct Denial {
    /// The gate that said no.
    pub gate: Gate,
    /// Why.
    pub reason: String,
    /// Whether the agent should stop.
    pub is_abort: bool,
    /// What it comes from.
    pub fault: Fault,
    pub(super) trace: Trace,
}

impl Denial {
    /// The word for it everywhere.
    pub fn as_str(&self) -> &'static str {
        if self.is_abort { "deny_abort" } else { "deny_continue" }
    }

    /// What every gate said.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

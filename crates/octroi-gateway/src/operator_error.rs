//! Why something that an operator wanted was not done.

use std::path::PathBuf;

use octroi_core::approval::{ApprovalState, Refusal};
use octroi_core::time::show_time;
use octroi_core::{Principal, Role};
use octroi_store::StoreError;

use crate::audit::AuditError;
use crate::policy_error::PolicyError;

/// Why something that somebody wanted was not done. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// An agent tried.
    #[error("only people decide this")]
    NotAPerson,
    /// There is no such approval.
    #[error("there is no approval `{0}`")]
    UnknownApproval(String),
    /// It is decided, or its time has passed.
    #[error("approval {id} cannot be decided: {}", explained(.refusal))]
    Refused {
        /// Which approval.
        id: String,
        /// Why not.
        refusal: Refusal,
    },
    /// Other arguments than the caller's make no sense here.
    #[error("the call cannot be made with these arguments: {0}")]
    Arguments(String),
    /// No rule can be made of the decision.
    #[error("this cannot be remembered: {0}")]
    Unrememberable(String),
    /// The rule cannot be kept where it belongs, because a person's file is there.
    #[error("the policy that the rule belongs to stands in {}", .file.display())]
    PolicyInFile {
        /// The file.
        file: PathBuf,
        /// The rule.
        rule: String,
    },
    /// The rule cannot be kept.
    #[error("the rule cannot be remembered: {problem}")]
    Policy {
        /// Why.
        problem: PolicyError,
        /// The rule.
        rule: String,
    },
    /// Nothing of this name is kept back.
    #[error("no {kind} `{name}` of server `{server}` is kept back")]
    NotHeld {
        /// The server.
        server: String,
        /// What kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing of this name was accepted.
    #[error("nothing of `{0}` was accepted, so there is nothing to forget")]
    NothingAccepted(String),
    /// Several things have this name.
    #[error("`{0}` is the name of several things that were accepted")]
    SeveralAccepted(String),
    /// The server has changed it again.
    #[error("the server has changed {kind} `{name}` again since you looked; it is {hash} now")]
    ChangedAgain {
        /// What kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What it is now.
        hash: String,
    },
    /// What is to be set about an agent makes no sense.
    #[error("{0}")]
    Agent(String),
    /// It cannot be written down.
    #[error("this cannot be recorded, so it is not done: {0}")]
    Unrecorded(#[from] AuditError),
    /// Nothing is kept.
    #[error("this gateway keeps nothing between two runs, so nobody can decide anything")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OperatorError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotAPerson => "ask a person".to_owned(),
            Self::UnknownApproval(_) => "`octroi approvals` lists what waits".to_owned(),
            Self::Refused { id, refusal } => match refusal {
                Refusal::Expired { .. } | Refusal::Cancelled | Refusal::Orphaned => {
                    "the agent can make the call again to ask anew".to_owned()
                }
                _ => format!("`octroi approvals show {id}` tells what became of it"),
            },
            Self::Arguments(_) => "give a JSON object that fits the tool's input schema".to_owned(),
            Self::Unrememberable(_) => {
                "decide without remembering, or write a rule of your own into the policy".to_owned()
            }
            Self::PolicyInFile { rule, .. } | Self::Policy { rule, .. } => {
                format!("decide without remembering, and put the rule into the policy yourself:\n{rule}")
            }
            Self::NotHeld { .. } => "`octroi pins` lists what is kept back".to_owned(),
            Self::NothingAccepted(_) => "`octroi pins lock --file -` lists what is accepted".to_owned(),
            Self::SeveralAccepted(_) => {
                "say which with the kind: tool, prompt, template or server".to_owned()
            }
            Self::ChangedAgain { .. } => "look at it again with `octroi pins`".to_owned(),
            Self::Agent(_) => "`octroi agents` shows what is set".to_owned(),
            Self::Unrecorded(error) => error.hint(),
            Self::NoStore => "run `octroi up`".to_owned(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// Whose decision it was and when, so that nobody has to look it up.
fn explained(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Decided { state, by, at_ms } => {
            let said = match state {
                ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => "denied it",
                _ => "approved it",
            };
            format!("{by} {said} at {} already", show_time(*at_ms))
        }
        other => other.to_string(),
    }
}

pub(crate) fn must_be_person(principal: &Principal) -> Result<(), OperatorError> {
    match principal.role {
        Role::Human => Ok(()),
        Role::Agent => Err(OperatorError::NotAPerson),
    }
}

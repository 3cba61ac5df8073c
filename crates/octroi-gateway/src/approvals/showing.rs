//! What people see of a call that needs approval: everything, with secrets masked until they are revealed.

use std::sync::Arc;

use octroi_core::Principal;
use octroi_core::approval::{Approval, ArgumentsState};
use octroi_core::redact::{MaskedValue, Revealed};
use serde_json::json;

use super::Approvals;
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::{OperatorError, must_be_person};

/// The arguments of a call as people see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownArguments {
    /// JSON text: the whole arguments with secrets masked, or what is left of them.
    pub text: String,
    /// What is masked.
    pub masked: Vec<MaskedValue>,
    /// Whether this is all; a finished approval keeps a short version only.
    pub state: ArgumentsState,
}

impl Approvals {
    /// Why a person cannot be shown these arguments, if so.
    pub(super) fn cannot_be_shown(&self, arguments: &[u8]) -> Option<String> {
        let limit = self.governance.settings().approvals.argument_bytes;
        if arguments.len() > limit {
            let length = arguments.len();
            return Some(format!(
                "a person has to approve the call, but its arguments are too large to show: {length} bytes, and \
                 `max_argument_bytes` of [approvals] is {limit}"
            ));
        }
        let error = self.recorder.view(arguments, &[]).err()?;
        Some(format!("a person has to approve the call, but its arguments cannot be shown: {error}"))
    }

    /// The whole arguments of a call, with secrets masked except those that were revealed.
    pub fn shown(&self, approval: &Approval, revealed: &[String]) -> ShownArguments {
        let state = approval.arguments_state;
        let view = self.recorder.view(approval.arguments.expose().as_bytes(), revealed);
        match view {
            Ok(view) if state == ArgumentsState::Whole => {
                ShownArguments { text: view.text, masked: view.masked, state }
            }
            Ok(_) | Err(_) => {
                ShownArguments { text: approval.arguments_preview.clone(), masked: Vec::new(), state }
            }
        }
    }

    /// Shows one masked value to a person. That they looked is recorded, not what they saw.
    pub async fn reveal(
        self: &Arc<Self>,
        id: &str,
        path: &str,
        by: &Principal,
    ) -> Result<PlannedChange<Revealed, OperatorError>, OperatorError> {
        must_be_person(by)?;
        let approval = self.get(id).await?;
        readable(&approval)?;
        let arguments = approval.arguments.expose().as_bytes();
        let revealed = self.recorder.reveal(arguments, path);
        let revealed = revealed.ok_or_else(|| OperatorError::NotMasked { path: path.to_owned() })?;
        let subject = json!({"approval": approval.id, "path": path});
        let (before, after) = (json!({"revealed": false}), json!({"revealed": true, "revealed_to": by.id}));
        let filed_under = FiledUnder {
            agent: approval.binding.agent.clone(),
            tool: Some(approval.binding.tool.clone()),
            server: None,
        };
        let change = PlannedChange::new(subject, before, after, async move { Ok(revealed) });
        Ok(change.filed_under(filed_under))
    }
}

/// Fails if the store does not have the arguments any more.
pub(super) fn readable(approval: &Approval) -> Result<(), OperatorError> {
    let id = approval.id.clone();
    match approval.arguments_state {
        ArgumentsState::Whole => Ok(()),
        ArgumentsState::Removed => Err(OperatorError::ArgumentsRemoved { id }),
        ArgumentsState::Unreadable => Err(OperatorError::ArgumentsUnreadable { id }),
    }
}

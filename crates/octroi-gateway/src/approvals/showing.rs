//! What people see of a call that needs approval: everything, with secrets masked until they are revealed.

use std::sync::Arc;

use octroi_core::Principal;
use octroi_core::approval::{Approval, ArgumentsState};
use octroi_core::redact::{MaskedValue, Revealed, View};
use serde_json::json;

use super::Approvals;
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::{OperatorError, must_be_person};

/// Begins the paths of masked values among other params. Those of arguments are empty or begin with a slash.
const OTHER_PARAMS: &str = "other_params";

/// The arguments and other params of a call as people see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownArguments {
    /// JSON text: the whole arguments with secrets masked, or what is left of them.
    pub text: String,
    /// The same for what else the call sends, as `params` and `_meta`; `None` if that is nothing.
    pub other_params: Option<String>,
    /// What is masked in both.
    pub masked: Vec<MaskedValue>,
    /// Whether this is all; a finished approval keeps a short version only.
    pub state: ArgumentsState,
}

impl ShownArguments {
    /// A short version.
    pub fn preview(approval: &Approval) -> Self {
        Self {
            text: approval.arguments_preview.clone(),
            other_params: approval.other_params_preview.clone(),
            masked: Vec::new(),
            state: approval.arguments_state,
        }
    }
}

impl Approvals {
    /// Why a person cannot be shown these arguments and other params, if so.
    pub(super) fn cannot_be_shown(&self, arguments: &[u8], other_params: Option<&str>) -> Option<String> {
        let limit = self.governance.settings().approvals.argument_bytes;
        let length = arguments.len() + other_params.map_or(0, str::len);
        if length > limit {
            let what = if other_params.is_some() { "arguments and other params" } else { "arguments" };
            return Some(format!(
                "a person has to approve the call, but its {what} are too large to show: {length} bytes, and \
                 `max_argument_bytes` of [approvals] is {limit}"
            ));
        }
        let cannot = |what: &str, json: &[u8]| {
            let error = self.recorder.view(json, &[]).err()?;
            Some(format!("a person has to approve the call, but its {what} cannot be shown: {error}"))
        };
        let others = || cannot("other params", other_params?.as_bytes());
        cannot("arguments", arguments).or_else(others)
    }

    /// The whole arguments and other params of a call, with secrets masked except those that were revealed.
    pub fn visible_arguments(&self, approval: &Approval, revealed: &[String]) -> ShownArguments {
        self.whole(approval, revealed).unwrap_or_else(|| ShownArguments::preview(approval))
    }

    /// The same, if everything is there.
    fn whole(&self, approval: &Approval, revealed: &[String]) -> Option<ShownArguments> {
        if approval.arguments_state != ArgumentsState::Whole {
            return None;
        }
        let (of_others, of_arguments): (Vec<String>, Vec<String>) =
            revealed.iter().cloned().partition(|path| path.starts_with(OTHER_PARAMS));
        let of_others: Vec<String> =
            of_others.iter().map(|path| path.replacen(OTHER_PARAMS, "", 1)).collect();
        let View { text, mut masked } =
            self.recorder.view(approval.arguments.expose().as_bytes(), &of_arguments).ok()?;
        let other_params = match &approval.other_params {
            None => None,
            Some(others) => {
                let view = self.recorder.view(others.expose().as_bytes(), &of_others).ok()?;
                masked.extend(
                    view.masked
                        .into_iter()
                        .map(|value| MaskedValue { path: format!("{OTHER_PARAMS}{}", value.path), ..value }),
                );
                Some(view.text)
            }
        };
        Some(ShownArguments { text, other_params, masked, state: ArgumentsState::Whole })
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
        let revealed = match (path.strip_prefix(OTHER_PARAMS), &approval.other_params) {
            (Some(path), Some(others)) => self.recorder.reveal(others.expose().as_bytes(), path),
            (Some(_), None) => None,
            (None, _) => self.recorder.reveal(approval.arguments.expose().as_bytes(), path),
        };
        let revealed = revealed.ok_or_else(|| OperatorError::NotMasked { path: path.to_owned() })?;
        let subject = json!({"approval": approval.id, "path": path});
        let (before, after) = (json!({"revealed": false}), json!({"revealed": true, "revealed_to": by.id()}));
        let filed_under = FiledUnder {
            agent: approval.binding.agent.clone(),
            tool: Some(approval.binding.tool.clone()),
            server: None,
        };
        let change = PlannedChange::new(subject, before, after, async move { Ok(revealed) });
        Ok(change.filed_under(filed_under))
    }
}

/// Fails if the store does not have the arguments and other params any more.
pub(super) fn readable(approval: &Approval) -> Result<(), OperatorError> {
    let id = approval.id.clone();
    match approval.arguments_state {
        ArgumentsState::Whole => Ok(()),
        ArgumentsState::Removed => Err(OperatorError::ArgumentsRemoved { id }),
        ArgumentsState::Unreadable => Err(OperatorError::ArgumentsUnreadable { id }),
    }
}

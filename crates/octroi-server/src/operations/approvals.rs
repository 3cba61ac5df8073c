//! Handlers of operations about calls that wait for a person.

mod inbox;

use std::sync::Arc;

use octroi_api::operations::approvals::{
    Approval, ApprovalDecision, ApprovalList, ApprovalRequest, ApprovalsPart, ApproveRequest, ArgumentsKept,
    DecideRequest, Decided, DecidedApproval, DenyRequest, ListApprovalsRequest, MaskedArgument, RememberFor,
    RevealRequest, RevealedArgument, RulePreview,
};
use octroi_core::approval::{Approval as StoredApproval, ArgumentsState, shown_value};
use octroi_core::time::show_time;
use octroi_gateway::{
    ApprovalFilter, ApprovalPart, Approvals, Choice, OperatorError, Remember, RememberScope, ShownArguments,
    Until,
};
use serde_json::{Map, Value, json};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

pub(super) use inbox::{check_arguments, context, decide_many, decided_many, forget_rule};

/// How many approvals are listed unless the request asks for more.
pub(crate) const LISTED_MAX: u32 = 100;
/// The most that are ever listed. If more are pending, the oldest appear once newer ones are decided.
pub(crate) const PENDING_MAX: u32 = 1000;

pub(super) async fn list(
    context: &OperationContext,
    request: ListApprovalsRequest,
) -> Result<ApprovalList, OperationError> {
    let part = match request.part.unwrap_or_default() {
        ApprovalsPart::Pending => ApprovalPart::Pending,
        ApprovalsPart::History => ApprovalPart::History,
        ApprovalsPart::All => ApprovalPart::All,
    };
    let n_max = u32::try_from(request.limit.unwrap_or(LISTED_MAX.into())).unwrap_or(u32::MAX);
    let filter = ApprovalFilter { part, agent: request.agent_id };
    // What others may decide must not push out what the caller may.
    let n_read = if context.principal().is_admin() { n_max.min(PENDING_MAX) } else { PENDING_MAX };
    let mut found = context.gateway.approvals().list(&filter, n_read).await?;
    found.retain(|approval| context.may_see_approval(approval));
    found.truncate(usize::try_from(n_max).unwrap_or(usize::MAX));
    let approvals = found.iter().map(|approval| describe_briefly(context.gateway.approvals(), approval));
    Ok(ApprovalList { count: count(found.len()), approvals: approvals.collect() })
}

pub(super) async fn get(
    context: &OperationContext,
    request: ApprovalRequest,
) -> Result<Approval, OperationError> {
    let approvals = context.gateway.approvals();
    Ok(describe(approvals, &approvals.get(&request.id).await?))
}

pub(super) async fn reveal(context: &OperationContext, request: RevealRequest) -> Plan<RevealedArgument> {
    let approvals = context.gateway.approvals();
    let change = approvals.reveal(&request.id, &request.path, context.principal()).await?;
    Ok(map_response(change, move |revealed| RevealedArgument {
        path: request.path,
        name: revealed.name,
        value: revealed.value,
    }))
}

/// The arguments that a person gives, as JSON text.
fn edited(
    arguments: Option<Map<String, Value>>,
    json: Option<String>,
) -> Result<Option<String>, OperationError> {
    if arguments.is_some() && json.is_some() {
        let reason = "give either `arguments` or `arguments_json`";
        return Err(OperationError::InvalidArguments(reason.to_owned()));
    }
    Ok(json.or_else(|| arguments.map(|arguments| Value::Object(arguments).to_string())))
}

pub(super) async fn decide(context: &OperationContext, request: DecideRequest) -> Plan<Decided> {
    let remember = remember(&request)?;
    must_be_of_agent(context, &request).await?;
    let DecideRequest { call_id, decision, reason, arguments, arguments_json, .. } = request;
    let approvals = Arc::clone(context.gateway.approvals());
    let (by, edited) = (context.principal(), edited(arguments, arguments_json)?);
    let change = approvals.decide(&call_id, choice(decision), by, reason, edited, remember).await?;
    Ok(map_response(change, move |decided| {
        let warning = approvals.hindrance(&decided).map(str::to_owned);
        Decided::Decided(Box::new(DecidedApproval { approval: describe(&approvals, &decided), warning }))
    }))
}

pub(super) async fn approve(context: &OperationContext, request: ApproveRequest) -> Plan<Decided> {
    decide(context, request.into()).await
}

pub(super) async fn deny(context: &OperationContext, request: DenyRequest) -> Plan<Decided> {
    decide(context, request.into()).await
}

/// The rule that a decision would create.
pub(super) async fn preview(
    context: &OperationContext,
    request: DecideRequest,
) -> Result<Decided, OperationError> {
    let remember = remember(&request)?;
    must_be_of_agent(context, &request).await?;
    let remember = remember.ok_or_else(|| {
        let reason = "`preview` shows the rule to remember, so it needs `remember`";
        OperationError::InvalidArguments(reason.to_owned())
    })?;
    let DecideRequest { call_id, decision, arguments, arguments_json, .. } = request;
    let (by, edited) = (context.principal(), edited(arguments, arguments_json)?);
    let approvals = context.gateway.approvals();
    let rule = approvals.remembered_rule(&call_id, choice(decision), by, edited, remember).await?;
    Ok(Decided::Preview(RulePreview { rule }))
}

pub(super) async fn preview_approval(
    context: &OperationContext,
    request: ApproveRequest,
) -> Result<Decided, OperationError> {
    preview(context, request.into()).await
}

pub(super) async fn preview_denial(
    context: &OperationContext,
    request: DenyRequest,
) -> Result<Decided, OperationError> {
    preview(context, request.into()).await
}

fn remember(request: &DecideRequest) -> Result<Option<Remember>, OperationError> {
    let until = match request.until.as_deref() {
        None => None,
        Some(text) => Some(Until::parse(text).ok_or_else(|| {
            let reason = format!("`until` must be a time like `8h`, or `forever`, not `{text}`");
            OperationError::InvalidArguments(reason)
        })?),
    };
    match (request.remember, until) {
        (None, Some(_)) => {
            let reason = "`until` says how long to remember, so it needs `remember`";
            Err(OperationError::InvalidArguments(reason.to_owned()))
        }
        (None, None) => Ok(None),
        (Some(scope), until) => {
            let scope = match scope {
                RememberFor::Exact => RememberScope::Exact,
                RememberFor::Tool => RememberScope::Tool,
            };
            Ok(Some(Remember { scope, until: until.unwrap_or_default() }))
        }
    }
}

/// Fails if the approval belongs to another agent: a request that names both meant a different call.
async fn must_be_of_agent(context: &OperationContext, request: &DecideRequest) -> Result<(), OperationError> {
    let Some(agent) = &request.agent_id else {
        return Ok(());
    };
    let id = &request.call_id;
    let approval = context.gateway.approvals().get(id).await?;
    if approval.binding.agent.as_ref() == Some(agent) {
        Ok(())
    } else {
        Err(OperatorError::UnknownApproval(format!("{agent}/{id}")).into())
    }
}

fn choice(decision: ApprovalDecision) -> Choice {
    match decision {
        ApprovalDecision::Approve => Choice::Approve,
        ApprovalDecision::DenyContinue => Choice::DenyContinue,
        ApprovalDecision::DenyAbort => Choice::DenyAbort,
    }
}

/// Longer arguments and other params are shown whole only where one approval is asked for.
const LISTED_BYTES_MAX: usize = 4 << 10;

/// An approval in a list.
pub(crate) fn describe_briefly(approvals: &Approvals, approval: &StoredApproval) -> Approval {
    if approval.n_bytes() <= LISTED_BYTES_MAX {
        return describe(approvals, approval);
    }
    Approval { arguments: None, ..with_arguments(approvals, approval, ShownArguments::preview(approval)) }
}

/// An approval as people see it: with the whole arguments and other params, in which secrets
/// are masked.
pub(crate) fn describe(approvals: &Approvals, approval: &StoredApproval) -> Approval {
    with_arguments(approvals, approval, approvals.visible_arguments(approval, &[]))
}

fn with_arguments(approvals: &Approvals, approval: &StoredApproval, shown: ShownArguments) -> Approval {
    let masked = shown.masked.into_iter().map(|masked| MaskedArgument {
        path: masked.path,
        kind: masked.kind.to_owned(),
        length: count(masked.length),
    });
    let kept = match shown.state {
        ArgumentsState::Whole => ArgumentsKept::Whole,
        ArgumentsState::Removed => ArgumentsKept::Removed,
        ArgumentsState::Unreadable => ArgumentsKept::Unreadable,
    };
    Approval {
        id: approval.id.clone(),
        call_id: approval.id.clone(),
        invocation_id: approval.call_id.clone(),
        agent_id: approval.binding.agent.clone(),
        principal: approval.binding.principal.clone(),
        tool: approval.binding.tool.clone(),
        args: serde_json::from_str(&shown.text).unwrap_or_else(|_| json!(shown.text)),
        arguments: (kept == ArgumentsKept::Whole).then_some(shown.text),
        masked: masked.collect(),
        arguments_kept: kept,
        other_params: shown.other_params.as_deref().map_or(Value::Null, shown_value),
        risk: approval.risk.clone(),
        side_effects: approval.side_effects.clone(),
        reasons: approval.reasons.clone(),
        approvers: approval.approvers.describe(),
        page: approvals.page_of(&approval.id),
        requested_at: show_time(approval.requested_at_ms),
        expires_at: show_time(approval.expires_at_ms),
        state: approval.state.into(),
        decided_at: approval.decided_at_ms.map(show_time),
        decided_by: approval.decided_by.clone(),
        reason: approval.decision_reason.clone(),
        edited: approval.edited_arguments.is_some(),
        remembered_rule: approval.remembered_rule.clone(),
        claimed_at: approval.claimed_at_ms.map(show_time),
        finished_at: approval.finished_at_ms.map(show_time),
        outcome: approval.outcome.clone(),
    }
}

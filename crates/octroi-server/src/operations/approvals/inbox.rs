//! Handlers for people who decide: what helps to decide about one call, several decisions at once, and the way back.

use std::sync::Arc;

use octroi_api::ApiError;
use octroi_api::operations::approvals::{
    ApprovalContext, ApprovalRequest, CheckArgumentsRequest, CheckedArguments, DecideManyRequest,
    DecidedApproval, DecidedMany, LastCall, ManyError, ManyResult, PastDecision, PossibleRule,
};
use octroi_api::operations::policies::{Explanation, PolicyVersion};
use octroi_core::approval::{Approval as StoredApproval, ArgumentsState};
use octroi_core::audit::Kind;
use octroi_core::time::show_time;
use octroi_gateway::{
    ApprovalFilter, ApprovalPart, AuditFilter, AuditSearch, Choice, OperatorError, Remember, RememberScope,
    Until,
};
use serde_json::Value;

use super::super::context::OperationContext;
use super::super::handler::{Plan, Plans};
use super::super::policies::version;
use super::super::shape::{count, map_response, reshape};
use super::{choice, describe, edited};
use crate::error::OperationError;

/// So many earlier decisions are shown.
const SIMILAR_MAX: usize = 5;
/// So many earlier approvals are looked at for them.
const PAST_MAX: u32 = 500;
/// So many calls are decided at once.
const MANY_MAX: usize = 500;

pub(in super::super) async fn context(
    context: &OperationContext,
    request: ApprovalRequest,
) -> Result<ApprovalContext, OperationError> {
    let approvals = context.gateway.approvals();
    let approval = approvals.get(&request.id).await?;
    let facts = match approval.arguments_state {
        ArgumentsState::Whole => {
            let sent = serde_json::from_str(approval.effective_arguments().expose()).unwrap_or_default();
            explain(context, &approval, &sent).await?.map(|explained| explained.facts)
        }
        ArgumentsState::Removed | ArgumentsState::Unreadable => None,
    };
    Ok(ApprovalContext {
        facts,
        last_call: last_call(context, &approval).await?,
        similar: similar(context, &approval).await?,
        rules: rules(context, &approval).await,
        approval: describe(approvals, &approval),
    })
}

/// What the gates would say now; `None` if the tool is gone.
async fn explain(
    context: &OperationContext,
    approval: &StoredApproval,
    arguments: &Value,
) -> Result<Option<Explanation>, OperationError> {
    let (agent, tool) = (approval.binding.agent.as_deref(), approval.binding.tool.as_str());
    match context.gateway.inspector().why(context.principal(), agent, tool, arguments, None).await {
        Ok(explained) => Ok(Some(reshape(explained)?)),
        Err(_) => Ok(None),
    }
}

/// The last call of the same tool by the same agent that was made before.
async fn last_call(
    context: &OperationContext,
    approval: &StoredApproval,
) -> Result<Option<LastCall>, OperationError> {
    let search = AuditSearch {
        filter: AuditFilter {
            event_types: vec![Kind::ToolInvocationStart.as_str().to_owned()],
            agent: approval.binding.agent.clone(),
            tool: Some(approval.binding.tool.clone()),
            until_ms: Some(approval.requested_at_ms),
            ..AuditFilter::default()
        },
        n_max: 1,
        ..AuditSearch::default()
    };
    let found = context.gateway.audit().search(&search).await?;
    Ok(found.rows.into_iter().next().map(|row| {
        let recorded: Value = serde_json::from_str(&row.context).unwrap_or_default();
        LastCall {
            id: row.call_id.unwrap_or_default(),
            at_ms: u64::try_from(row.at_ms).unwrap_or_default(),
            arguments: recorded.get("arguments").cloned().unwrap_or_default(),
        }
    }))
}

/// The newest decisions of people about calls of the same tool by the same agent.
async fn similar(
    context: &OperationContext,
    approval: &StoredApproval,
) -> Result<Vec<PastDecision>, OperationError> {
    let filter = ApprovalFilter { part: ApprovalPart::History, agent: approval.binding.agent.clone() };
    let past = context.gateway.approvals().list(&filter, PAST_MAX).await?;
    let similar = past.into_iter().filter(|past| {
        past.id != approval.id
            && past.decided_by.is_some()
            && past.binding.tool == approval.binding.tool
            && past.binding.agent == approval.binding.agent
    });
    let described = similar.take(SIMILAR_MAX).map(|past| PastDecision {
        same_arguments: past.binding.arguments_hash == approval.binding.arguments_hash,
        id: past.id,
        state: past.state.into(),
        by: past.decided_by,
        at: past.decided_at_ms.map(show_time),
        reason: past.decision_reason,
    });
    Ok(described.collect())
}

/// The rules that an approval could save. Why one cannot be saved is said by the preview of a decision.
async fn rules(context: &OperationContext, approval: &StoredApproval) -> Vec<PossibleRule> {
    let mut rules = Vec::new();
    for (word, scope) in [("exact", RememberScope::Exact), ("tool", RememberScope::Tool)] {
        let remember = Remember { scope, until: Until::default() };
        let approvals = context.gateway.approvals();
        let rule =
            approvals.remembered_rule(&approval.id, Choice::Approve, context.principal(), None, remember);
        if let Ok(rule) = rule.await {
            rules.push(PossibleRule { remember: word.to_owned(), rule });
        }
    }
    rules
}

pub(in super::super) async fn check_arguments(
    context: &OperationContext,
    request: CheckArgumentsRequest,
) -> Result<CheckedArguments, OperationError> {
    let missing = || OperationError::InvalidArguments("give `arguments` or `arguments_json`".to_owned());
    let text = edited(request.arguments, request.arguments_json)?.ok_or_else(missing)?;
    let approvals = context.gateway.approvals();
    let approval = approvals.get(&request.id).await?;
    let checked = CheckedArguments {
        ok: false,
        complaint: None,
        decision: None,
        reason: None,
        gates: Vec::new(),
        facts: None,
    };
    match approvals.check_edited(&approval, &text) {
        Ok(()) => {}
        Err(OperatorError::Arguments(complaint)) => {
            return Ok(CheckedArguments { complaint: Some(complaint), ..checked });
        }
        Err(error) => return Err(error.into()),
    }
    let arguments: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(explained) = explain(context, &approval, &arguments).await? else {
        let complaint = Some(format!("the tool {} is gone", approval.binding.tool));
        return Ok(CheckedArguments { complaint, ..checked });
    };
    Ok(CheckedArguments {
        ok: true,
        decision: Some(explained.decision),
        reason: explained.reason,
        gates: explained.trace,
        facts: Some(explained.facts),
        ..checked
    })
}

/// Plans one decision for each id; those that cannot be decided say why.
pub(in super::super) async fn decide_many(
    context: &OperationContext,
    request: DecideManyRequest,
) -> Result<Plans<String, DecidedApproval>, OperationError> {
    if request.ids.len() > MANY_MAX {
        let message = format!("at most {MANY_MAX} calls are decided at once");
        return Err(OperationError::InvalidArguments(message));
    }
    let mut plans = Plans::new();
    for id in request.ids {
        if plans.iter().any(|(known, _)| *known == id) {
            continue;
        }
        let plan = plan_one(context, &id, request.decision, request.reason.clone()).await;
        plans.push((id, plan));
    }
    Ok(plans)
}

async fn plan_one(
    context: &OperationContext,
    id: &str,
    decision: octroi_api::operations::approvals::ApprovalDecision,
    reason: Option<String>,
) -> Plan<DecidedApproval> {
    let approvals = Arc::clone(context.gateway.approvals());
    let approval = approvals.get(id).await?;
    // What belongs to somebody else does not exist.
    if !context.may_see_approval(&approval) {
        return Err(OperatorError::UnknownApproval(id.to_owned()).into());
    }
    let change = approvals.decide(id, choice(decision), context.principal(), reason, None, None).await?;
    Ok(map_response(change, move |decided| {
        let warning = approvals.hindrance(&decided).map(str::to_owned);
        DecidedApproval { approval: describe(&approvals, &decided), warning }
    }))
}

/// The answer to several decisions.
pub(in super::super) fn decided_many(
    results: Vec<(String, Result<DecidedApproval, OperationError>)>,
) -> DecidedMany {
    let results: Vec<ManyResult> = results
        .into_iter()
        .map(|(id, result)| match result {
            Ok(decided) => ManyResult { id, decided: Some(Box::new(decided)), error: None },
            Err(error) => {
                let error = ApiError::from(&error);
                let (code, hint) = (error.code.to_string(), error.hint().to_owned());
                let error = ManyError { code, message: error.message, hint };
                ManyResult { id, decided: None, error: Some(error) }
            }
        })
        .collect();
    let n_decided = results.iter().filter(|result| result.decided.is_some()).count();
    DecidedMany { decided: count(n_decided), failed: count(results.len() - n_decided), results }
}

pub(in super::super) async fn forget_rule(
    context: &OperationContext,
    request: ApprovalRequest,
) -> Plan<PolicyVersion> {
    let change = context.gateway.approvals().forget_rule(&request.id, context.principal()).await?;
    Ok(map_response(change, |record| version(&record)))
}

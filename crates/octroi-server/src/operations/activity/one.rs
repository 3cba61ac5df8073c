//! Everything about one call.

use octroi_api::operations::activity::{CallAnswer, CallDetail, CallEvent, CallGate, CallRequest, CallSent};
use octroi_core::approval::Approval;
use octroi_core::audit::{CallId, Kind};
use octroi_core::decision::Outcome;
use octroi_core::redact::REDACTED;
use octroi_gateway::{AuditFilter, AuditRow, AuditSearch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::approvals::describe;
use super::super::context::OperationContext;
use super::joined::{Joined, Lookups, RecordedContext, RecordedVerdict, is_kind, read_context};
use super::{CALL_KINDS, is_call_id};
use crate::error::OperationError;

/// What the context of a record says about what was sent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SentContext {
    arguments: Value,
    params: Value,
    #[serde(rename = "_meta")]
    meta: Value,
    /// The same two, in records of questions.
    other_params: Value,
    risk: Option<String>,
    side_effects: Vec<String>,
    definition: Option<String>,
    mode: Option<String>,
    revision: Option<u64>,
}

impl SentContext {
    fn of(row: &AuditRow) -> Self {
        serde_json::from_str(&row.context).unwrap_or_default()
    }
}

/// Approvals and records take their times from clocks that may differ by so much.
const CLOCKS_MS: i64 = 1_000;
/// So many records of one call are shown.
const RECORDS_MAX: u32 = 100;

pub(in super::super) async fn get(
    context: &OperationContext,
    request: CallRequest,
) -> Result<CallDetail, OperationError> {
    let absent = || {
        OperationError::not_found_in(
            format!("there is no call `{}`", request.id),
            "`octroi calls` lists calls",
        )
    };
    let (mut rows, approval) = records(context, &request.id).await?;
    rows.retain(|row| row.tool.is_some());
    let is_first = |row: &&AuditRow| !is_kind(row, Kind::ToolInvocationEnd);
    let asked = rows.iter().find(|row| is_kind(row, Kind::ApprovalRequested));
    let first = asked.or_else(|| rows.iter().find(is_first)).ok_or_else(absent)?;
    let is_visible = context.may_see(first.agent.as_deref())
        || approval.as_ref().is_some_and(|approval| context.may_see_approval(approval));
    if !is_visible {
        return Err(absent());
    }
    let end = rows.iter().rev().find(|row| is_kind(row, Kind::ToolInvocationEnd));
    // The record of the call that was made has the whole trace; that of the question has none.
    let decided = rows.iter().rev().find(|row| !read_context(row).trace.is_empty()).unwrap_or(first);
    let joined = Joined { first: first.clone(), end: end.cloned(), approval: approval.clone() };
    Ok(CallDetail {
        call: joined.describe(context),
        request: sent(&SentContext::of(first), SentContext::of(decided)),
        answer: end.map(answer),
        gates: read_context(decided).trace.iter().map(gate).collect(),
        events: rows.iter().map(event).collect(),
        approval_record: approval.map(|approval| Box::new(describe(context.gateway.approvals(), &approval))),
    })
}

/// All records of a call, the oldest first, and its approval.
async fn records(
    context: &OperationContext,
    id: &str,
) -> Result<(Vec<AuditRow>, Option<Approval>), OperationError> {
    let lookups = Lookups::new(context);
    let audit = context.gateway.audit();
    let kinds: Vec<String> = CALL_KINDS.iter().map(|kind| kind.as_str().to_owned()).collect();
    let with = async |filter: AuditFilter| {
        let filter = AuditFilter { event_types: kinds.clone(), ..filter };
        let search = AuditSearch { filter, n_max: RECORDS_MAX, ..AuditSearch::default() };
        Ok::<_, OperationError>(audit.search(&search).await?.rows)
    };
    let of_call = async |call: &str| {
        with(AuditFilter { call_id: Some(call.to_owned()), ..AuditFilter::default() }).await
    };
    let mut rows = if is_call_id(id) { of_call(id).await? } else { Vec::new() };
    let named = rows.iter().find_map(|row| read_context(row).approval);
    let named = named.or_else(|| id.starts_with("ap_").then(|| id.to_owned()));
    let approval = lookups.approval(named.as_deref()).await?;
    if let Some(approval) = &approval {
        // The client may have come back to make it as another request.
        let naming = with(AuditFilter {
            agent: approval.binding.agent.clone(),
            tool: Some(approval.binding.tool.clone()),
            since_ms: Some(approval.requested_at_ms.saturating_sub(CLOCKS_MS)),
            until_ms: approval.finished_at_ms.map(|at_ms| at_ms.saturating_add(CLOCKS_MS)),
            text: Some(approval.id.clone()),
            ..AuditFilter::default()
        });
        rows.extend(naming.await?);
        let others: Vec<String> = rows
            .iter()
            .filter(|row| is_kind(row, Kind::ToolInvocationStart))
            .filter_map(|row| row.call_id.clone())
            .filter(|call| CallId::parse(call).is_some() && call != id)
            .collect();
        for call in others {
            rows.extend(of_call(&call).await?);
        }
    }
    rows.sort_by_key(|row| row.seq);
    rows.dedup_by_key(|row| row.seq);
    Ok((rows, approval))
}

fn sent(first: &SentContext, decided: SentContext) -> CallSent {
    let SentContext { arguments, params, meta, other_params, .. } = first;
    let others = [("params", params), ("_meta", meta)].into_iter().filter(|(_, value)| !value.is_null());
    let others: serde_json::Map<String, Value> =
        others.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    CallSent {
        is_whole: arguments.is_object() && !arguments.to_string().contains(REDACTED.trim_end_matches(']')),
        arguments: arguments.clone(),
        other_params: if others.is_empty() { other_params.clone() } else { json!(others) },
        risk: decided.risk.or_else(|| first.risk.clone()),
        side_effects: decided.side_effects,
        definition: decided.definition,
        mode: decided.mode,
        revision: decided.revision,
    }
}

fn answer(end: &AuditRow) -> CallAnswer {
    let RecordedContext { outcome, result_bytes, result, .. } = read_context(end);
    CallAnswer { outcome: outcome.unwrap_or_default(), bytes: result_bytes, summary: result }
}

fn gate(verdict: &RecordedVerdict) -> CallGate {
    match verdict {
        RecordedVerdict::Passed(gate) => CallGate {
            gate: gate.clone(),
            outcome: Outcome::Pass.into(),
            reason: None,
            by: None,
            answered_by: None,
        },
        RecordedVerdict::Said { gate, outcome, reason, by, answered_by } => CallGate {
            gate: gate.clone(),
            // A word of a newer Octroi is not taken for a yes.
            outcome: Outcome::parse(outcome).unwrap_or(Outcome::Deny).into(),
            reason: reason.clone(),
            by: by.clone(),
            answered_by: answered_by.clone(),
        },
    }
}

fn event(row: &AuditRow) -> CallEvent {
    let context: Value = serde_json::from_str(&row.context).unwrap_or_default();
    // A person's decision is recorded as a change, with the state after it.
    let after = |name: &str| {
        let after = context.get("after").and_then(|after| after.get(name));
        after.or_else(|| context.get(name)).and_then(Value::as_str).map(str::to_owned)
    };
    let what = match row.event_type.as_str() {
        "tool_invocation_end" => after("outcome"),
        "approval_requested" => Some("waiting".to_owned()),
        "approval_resolved" => after("state"),
        _ => row.decision.clone(),
    };
    let first_reason = || context["reasons"].get(0).and_then(Value::as_str).map(str::to_owned);
    CallEvent {
        seq: row.seq,
        at_ms: u64::try_from(row.at_ms).unwrap_or_default(),
        kind: row.event_type.clone(),
        by: row.actor_id.clone(),
        what: what.unwrap_or_else(|| row.event_type.clone()),
        reason: after("reason")
            .or_else(|| if row.event_type == "approval_requested" { first_reason() } else { None }),
    }
}

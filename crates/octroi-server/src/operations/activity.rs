//! Handlers of operations about calls: lists of them, what changed since, and everything about one.
//!
//! A call has a record of its beginning and one of its end; one that was asked about has a record of the question, and
//! its approval. Here they are put together.

mod joined;
mod one;

use std::collections::{HashMap, HashSet};

use octroi_api::operations::activity::{Call, CallPage, ListCallsRequest};
use octroi_core::audit::{CallId, Filter, Kind};
use octroi_core::glob::Glob;
use octroi_gateway::audit::Record;
use octroi_gateway::{AuditCursor, AuditFilter, AuditRow, AuditSearch};

use super::context::OperationContext;
use crate::error::OperationError;
use joined::Lookups;

pub(super) use one::get;

const CALLS: u64 = 50;
const CALLS_MAX: u64 = 500;
/// So often one page is filled up before it is returned as it is.
const FILLS_MAX: usize = 40;
/// So many records are read for what changed.
const CHANGES_READ: usize = 2_000;
/// So long may a pattern or a word be.
const SEARCHED_BYTES_MAX: usize = 1_000;

/// The kinds of records that calls are made of.
const CALL_KINDS: [Kind; 5] = [
    Kind::ToolInvocationStart,
    Kind::PolicyViolation,
    Kind::ApprovalRequested,
    Kind::ToolInvocationEnd,
    Kind::ApprovalResolved,
];
/// Those that begin one.
const FIRST_KINDS: [Kind; 3] = [Kind::ToolInvocationStart, Kind::PolicyViolation, Kind::ApprovalRequested];

pub(super) async fn list(
    context: &OperationContext,
    request: ListCallsRequest,
) -> Result<CallPage, OperationError> {
    for (name, searched) in [("tool", &request.tool), ("outcome", &request.outcome)] {
        if searched.as_ref().is_some_and(|searched| searched.len() > SEARCHED_BYTES_MAX) {
            let message = format!("`{name}` is longer than {SEARCHED_BYTES_MAX} bytes");
            return Err(OperationError::InvalidArguments(message));
        }
    }
    match request.after {
        Some(after) if request.before.is_none() => changed(context, &request, after).await,
        Some(_) => {
            let reason = "`after` and `before` cannot be combined";
            Err(OperationError::InvalidArguments(reason.to_owned()))
        }
        None => page(context, &request).await,
    }
}

/// The newest calls that the requester may see.
pub(crate) async fn recent(context: &OperationContext) -> Result<CallPage, OperationError> {
    page(context, &ListCallsRequest::default()).await
}

/// Whether there is a call that the requester may see.
pub(super) async fn is_any(context: &OperationContext) -> Result<bool, OperationError> {
    let newest = ListCallsRequest { limit: Some(1), ..ListCallsRequest::default() };
    Ok(!page(context, &newest).await?.calls.is_empty())
}

/// The agents whose calls the requester may see; `None` for all.
fn visible_agents(context: &OperationContext, request: &ListCallsRequest) -> Option<Vec<String>> {
    // The agent that a request names was checked by the dispatcher.
    if context.principal().is_admin() || request.agent.is_some() {
        return None;
    }
    Some(context.gateway.governance().agents_of(context.principal().user()))
}

/// One page, the newest call first.
async fn page(context: &OperationContext, request: &ListCallsRequest) -> Result<CallPage, OperationError> {
    let audit = context.gateway.audit();
    let agents = visible_agents(context, request);
    let n_max = usize::try_from(limit(request)).unwrap_or(usize::MAX);
    // Ends come just before their beginnings, so both are read together unless only beginnings can match.
    let with_ends = request.decision.is_none();
    let mut kinds: Vec<Kind> = FIRST_KINDS.to_vec();
    kinds.extend(with_ends.then_some(Kind::ToolInvocationEnd));
    let mut search = search(request, agents.clone().unwrap_or_default(), &kinds);
    let is_nobody = agents.is_some_and(|agents| agents.is_empty());
    let (mut calls, mut position, mut ends) = (Vec::new(), None, HashMap::new());
    let lookups = Lookups::new(context);
    let mut next = search.before;
    for _ in 0..FILLS_MAX {
        let n_missing = n_max.saturating_sub(calls.len());
        search.n_max = u32::try_from(n_missing).unwrap_or(u32::MAX).max(1);
        search.before = next;
        let found = audit.search(&search).await?;
        position.get_or_insert_with(|| found.position.saturating_sub(found.n_behind));
        if is_nobody {
            next = None;
            break;
        }
        next = found.next;
        for row in found.rows {
            if row.event_type == Kind::ToolInvocationEnd.as_str() {
                ends.extend(row.call_id.clone().map(|call| (call, row)));
            } else if let Some(joined) = lookups.begun_by(row, &mut ends).await? {
                calls.extend(Some(joined.describe(context)).filter(|call| is_wanted(request, call)));
            }
        }
        if next.is_none() || calls.len() >= n_max {
            break;
        }
    }
    let next = next.and_then(|next| u64::try_from(next.number()).ok());
    Ok(CallPage { calls, next, position: position.unwrap_or_default(), more: false })
}

/// The calls that began or changed after a record, the oldest change first.
async fn changed(
    context: &OperationContext,
    request: &ListCallsRequest,
    after: u64,
) -> Result<CallPage, OperationError> {
    let audit = context.gateway.audit();
    let filter = Filter {
        kinds: CALL_KINDS.to_vec(),
        tool: request.tool.clone(),
        agent: request.agent.clone(),
        ..Filter::default()
    };
    let (records, last) = audit.after(after, filter, CHANGES_READ).await?;
    let rows: Vec<AuditRow> = records.iter().filter_map(row).collect();
    let visible = visible_agents(context, request);
    let is_visible = |row: &AuditRow| {
        visible.as_ref().is_none_or(|own| row.agent.as_ref().is_some_and(|agent| own.contains(agent)))
    };
    let mut lookups = Lookups::new(context);
    lookups.know(&rows);
    let (mut calls, mut seen) = (Vec::<Call>::new(), HashSet::new());
    for row in rows.iter().rev().filter(|row| is_visible(row)) {
        let Some(joined) = lookups.of_record(row).await? else { continue };
        let call = joined.describe(context);
        if seen.insert(call.id.clone()) && is_of_filter(request, &call) && is_wanted(request, &call) {
            calls.push(call);
        }
    }
    calls.reverse();
    let more = audit.log().is_some_and(|log| log.position() > last) && last > after;
    Ok(CallPage { calls, next: None, position: last, more })
}

/// A record of the log in the form of the index.
fn row(record: &Record) -> Option<AuditRow> {
    let entry = record.entry().ok()?;
    entry.tool.is_some().then(|| AuditRow::new("", record.seq, &entry))
}

fn search(request: &ListCallsRequest, agents: Vec<String>, kinds: &[Kind]) -> AuditSearch {
    AuditSearch {
        filter: AuditFilter {
            since_ms: request.since_ms.map(signed),
            until_ms: request.until_ms.map(signed),
            event_types: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            agent: request.agent.clone(),
            agents,
            server: request.server.clone(),
            session: request.session.clone(),
            decision: request.decision.map(|decision| decision.to_string()),
            ..AuditFilter::default()
        },
        tool: request.tool.as_deref().map(Glob::new),
        before: request.before.map(signed).map(AuditCursor::from_number),
        n_max: 1,
    }
}

/// Whether a call has the outcome that is asked for.
fn is_wanted(request: &ListCallsRequest, call: &Call) -> bool {
    let is_failure = || !["completed", "running", "waiting", "approved"].contains(&call.outcome.as_str());
    match request.outcome.as_deref() {
        None => true,
        Some("failure") => is_failure(),
        Some(outcome) => call.outcome == outcome,
    }
}

/// Whether a call that changed is one of those that are asked for.
fn is_of_filter(request: &ListCallsRequest, call: &Call) -> bool {
    let is = |wanted: &Option<String>, value: &Option<String>| wanted.is_none() || wanted == value;
    request.since_ms.is_none_or(|since_ms| call.at_ms >= since_ms)
        && request.until_ms.is_none_or(|until_ms| call.at_ms < until_ms)
        && is(&request.server, &call.server)
        && is(&request.session, &call.caller.session)
        && request.decision.is_none_or(|decision| call.decided.decision == Some(decision))
}

fn limit(request: &ListCallsRequest) -> u64 {
    request.limit.unwrap_or(CALLS).clamp(1, CALLS_MAX)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Whether a text is the id of a call.
fn is_call_id(text: &str) -> bool {
    CallId::parse(text).is_some()
}

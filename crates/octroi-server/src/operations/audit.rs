//! Handlers of operations about the audit log.

mod files;

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::audit::{
    AuditActor, AuditCount, AuditCounts, AuditFollowed, AuditFound, AuditPage, AuditPurgeRequest,
    AuditPurged, AuditQueryRequest, AuditRecord, AuditRecords, AuditReportRequest, AuditShowRequest,
    AuditVerification,
};
use octroi_core::audit::{CallId, Filter};
use octroi_core::glob::Glob;
use octroi_gateway::audit::Record;
use octroi_gateway::{AuditCursor, AuditFilter, AuditRow, AuditSearch};

use super::context::OperationContext;
use super::handler::RecordedByLog;
use super::shape::reshape;
use crate::error::OperationError;

pub(super) use files::{export, prove};

const RECORDS: u64 = 50;
const RECORDS_MAX: u64 = 1_000;
const COUNTS_MAX: u32 = 10_000;
/// So long may a text or a pattern be that is searched for in every record.
const SEARCHED_BYTES_MAX: usize = 1_000;

pub(super) async fn query(
    context: &OperationContext,
    request: AuditQueryRequest,
) -> Result<AuditPage, OperationError> {
    for (name, searched) in [("text", &request.text), ("tool", &request.tool)] {
        if searched.as_ref().is_some_and(|searched| searched.len() > SEARCHED_BYTES_MAX) {
            let message = format!("`{name}` is longer than {SEARCHED_BYTES_MAX} bytes");
            return Err(OperationError::InvalidArguments(message));
        }
    }
    match request.after {
        Some(after) => follow(context, request, after).await.map(AuditPage::Followed),
        None => search(context, request).await.map(AuditPage::Found),
    }
}

async fn search(
    context: &OperationContext,
    request: AuditQueryRequest,
) -> Result<AuditFound, OperationError> {
    let n_max = limit(&request);
    let search = AuditSearch {
        filter: AuditFilter {
            since_ms: request.since_ms.map(signed),
            until_ms: request.until_ms.map(signed),
            event_types: request.kinds.iter().map(ToString::to_string).collect(),
            agent: request.agent,
            server: request.server,
            session: request.session,
            call_id: request.call,
            decision: request.decision.map(|decision| decision.to_string()),
            text: request.text,
            ..AuditFilter::default()
        },
        tool: request.tool.as_deref().map(Glob::new),
        before: request.before.map(signed).map(AuditCursor::from_number),
        n_max: u32::try_from(n_max).unwrap_or(u32::MAX).max(1),
    };
    let found = context.gateway.audit().search(&search).await?;
    Ok(AuditFound {
        records: found.rows.into_iter().map(describe_row).collect(),
        next: found.next.map(AuditCursor::number),
        position: found.position,
        behind: found.n_behind,
    })
}

/// For clients that follow the log: reads the log itself, which can be ahead of the search index.
async fn follow(
    context: &OperationContext,
    request: AuditQueryRequest,
    after: u64,
) -> Result<AuditFollowed, OperationError> {
    for (unfit, is_given) in [
        ("before", request.before.is_some()),
        ("decision", request.decision.is_some()),
        ("call", request.call.is_some()),
    ] {
        if is_given {
            let reason = format!("`after` and `{unfit}` cannot be combined");
            return Err(OperationError::InvalidArguments(reason));
        }
    }
    let n_max = usize::try_from(limit(&request)).unwrap_or(usize::MAX);
    let filter = Filter {
        since_ms: request.since_ms,
        until_ms: request.until_ms,
        kinds: request.kinds.into_iter().map(|kind| kind.0).collect(),
        tool: request.tool,
        agent: request.agent,
        server: request.server,
        session: request.session,
        text: request.text,
    };
    let (records, last) = context.gateway.audit().after(after, filter, n_max).await?;
    Ok(AuditFollowed { records: records.iter().map(describe_record).collect(), last })
}

fn not_found(message: String) -> OperationError {
    OperationError::not_found_in(
        message,
        "`octroi audit list` shows the records, with --json also their calls",
    )
}

pub(super) async fn show(
    context: &OperationContext,
    request: AuditShowRequest,
) -> Result<AuditRecords, OperationError> {
    let audit = context.gateway.audit();
    let records = match (request.seq, request.call) {
        (Some(seq), None) => {
            let record = audit.record(seq).await?;
            let record = record.ok_or_else(|| not_found(format!("there is no record {seq}")))?;
            // A record of a call is shown with all records of that call.
            let call = record.entry().ok().and_then(|entry| entry.call);
            let all = match call {
                Some(call) => audit.of_call(call).await?,
                None => Vec::new(),
            };
            if all.iter().any(|one| one.seq == seq) { all } else { vec![record] }
        }
        (None, Some(call)) => {
            let id = CallId::parse(&call).ok_or_else(|| {
                OperationError::InvalidArguments(format!("`{call}` is not the id of a call"))
            })?;
            let records = audit.of_call(id).await?;
            if records.is_empty() {
                return Err(not_found(format!("there is no call `{call}`")));
            }
            records
        }
        (Some(_), Some(_)) | (None, None) => {
            let reason = "give either `seq` or `call`";
            return Err(OperationError::InvalidArguments(reason.to_owned()));
        }
    };
    let is_visible = |record: &Record| {
        let agent = record.entry().ok().and_then(|entry| entry.agent.map(|agent| agent.to_string()));
        context.may_see(agent.as_deref())
    };
    if !records.iter().all(is_visible) {
        let what = request
            .seq
            .map_or_else(|| "there is no such call".to_owned(), |seq| format!("there is no record {seq}"));
        return Err(OperationError::not_found(what));
    }
    Ok(AuditRecords { records: records.iter().map(describe_record).collect() })
}

pub(super) async fn verify(
    context: &OperationContext,
    _: NoArguments,
) -> Result<AuditVerification, OperationError> {
    reshape(context.gateway.audit().verify().await?.to_json())
}

pub(super) async fn purge(
    context: &OperationContext,
    request: AuditPurgeRequest,
) -> Result<RecordedByLog<AuditPurged>, OperationError> {
    let (audit, by) = (Arc::clone(context.gateway.audit()), context.principal().clone());
    Ok(RecordedByLog(Box::pin(async move {
        let purged = audit.purge(&by, request.before_ms).await?;
        Ok(AuditPurged { segments: purged.n_segments.into(), records: purged.n_records })
    })))
}

pub(super) async fn report(
    context: &OperationContext,
    request: AuditReportRequest,
) -> Result<AuditCounts, OperationError> {
    let since_ms = signed(request.since_ms.unwrap_or_default());
    let counts = context.gateway.audit().counts(since_ms, COUNTS_MAX).await?;
    let counts = counts.into_iter().map(|count| AuditCount {
        kind: count.event_type,
        agent: count.agent,
        tool: count.tool,
        decision: count.decision,
        n: count.n,
    });
    Ok(AuditCounts { since_ms, counts: counts.collect() })
}

fn limit(request: &AuditQueryRequest) -> u64 {
    request.limit.unwrap_or(RECORDS).min(RECORDS_MAX)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A record as it is in the log, with its number.
pub(crate) fn describe_record(record: &Record) -> AuditRecord {
    let read = serde_json::from_slice::<serde_json::Map<_, _>>(&record.body).and_then(|mut members| {
        members.insert("seq".to_owned(), record.seq.into());
        serde_json::from_value(serde_json::Value::Object(members))
    });
    read.unwrap_or_else(|_| AuditRecord { seq: record.seq, unreadable: true, ..AuditRecord::default() })
}

/// A row in the form of the record it was made from.
fn describe_row(row: AuditRow) -> AuditRecord {
    AuditRecord {
        seq: row.seq,
        at_ms: u64::try_from(row.at_ms).ok(),
        kind: Some(row.event_type),
        level: Some(row.level),
        actor: Some(AuditActor { kind: row.actor_kind, id: row.actor_id }),
        agent: row.agent,
        session: row.session,
        server: row.server,
        tool: row.tool,
        source_type: row.source_type,
        project: row.project,
        call: row.call_id,
        decision: row.decision,
        context: serde_json::from_str(&row.context).unwrap_or_default(),
        unreadable: false,
        other: serde_json::Map::default(),
    }
}

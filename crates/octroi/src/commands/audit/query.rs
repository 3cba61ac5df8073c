//! Searching records at a running gateway.

use octroi_api::ErrorCode;
use octroi_api::operations::audit::{
    AuditFollowed, AuditFound, AuditPage, AuditQuery, AuditQueryRequest, AuditRecord, AuditShow,
    AuditShowRequest,
};

use super::lines::{line, table};
use super::{moment, tool_pattern};
use crate::cli::audit::{ListRecords, RecordFilter, ShowRecords};
use crate::client::{Client, unreadable};
use crate::commands::Failure;
use crate::printer;

/// How many records one answer has at most.
const PAGE: u64 = 500;

pub(super) async fn list(options: &ListRecords) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    let mut request = AuditQueryRequest {
        decision: options.decision.map(Into::into),
        call: options.call.clone(),
        ..filter_request(&options.filter)?
    };
    let mut n_left = options.n_max;
    let mut n_behind = 0;
    let mut records = Vec::new();
    while n_left > 0 {
        request.limit = Some(n_left.min(PAGE));
        let found = search(&client, &request).await?;
        n_left = n_left.saturating_sub(u64::try_from(found.records.len()).unwrap_or(u64::MAX));
        if options.target.json {
            found.records.iter().for_each(printer::json);
        } else {
            records.extend(found.records);
        }
        n_behind = n_behind.max(found.behind);
        // A page may be short though there are more.
        match found.next.and_then(|next| u64::try_from(next).ok()) {
            Some(next) => request.before = Some(next),
            None => break,
        }
    }
    if !records.is_empty() {
        printer::table(&table(&records));
    }
    if n_left == options.n_max {
        printer::say("no record matches");
    }
    if n_behind > 0 {
        let newest = printer::count(n_behind, "record");
        printer::warn(&format!("not indexed yet: the newest {newest}; try again in a moment"));
    }
    Ok(())
}

pub(super) async fn show(options: &ShowRecords) -> Result<(), Failure> {
    let request = match options.what.parse::<u64>() {
        Ok(seq) => AuditShowRequest { seq: Some(seq), call: None },
        Err(_) => AuditShowRequest { seq: None, call: Some(options.what.clone()) },
    };
    let shown = Client::find(&options.target)?.call::<AuditShow>(&request).await;
    let shown = shown.map_err(|failure| match failure.code {
        Some(ErrorCode::InvalidArguments) => {
            failure.hint("give the number of a record, or the `call` that `octroi audit list --json` shows")
        }
        _ => failure,
    })?;
    for record in shown.records {
        if options.target.json {
            printer::json(&record);
        } else {
            printer::data(&line(&record));
            printer::json_lines(&record);
        }
    }
    Ok(())
}

/// One page of a search, the newest record first.
pub(super) async fn search(client: &Client, request: &AuditQueryRequest) -> Result<AuditFound, Failure> {
    match client.call::<AuditQuery>(request).await? {
        AuditPage::Found(found) => Ok(found),
        AuditPage::Followed(_) => Err(unreadable(&"the result of a search was expected")),
    }
}

/// The records after a given one, the oldest first, and the number of the last one that was examined.
pub(super) async fn follow(
    client: &Client,
    after: u64,
    filter: &AuditQueryRequest,
) -> Result<(Vec<AuditRecord>, u64), Failure> {
    let request = AuditQueryRequest { after: Some(after), limit: Some(PAGE), ..filter.clone() };
    match client.call::<AuditQuery>(&request).await? {
        AuditPage::Followed(AuditFollowed { records, last }) => Ok((records, last)),
        AuditPage::Found(_) => Err(unreadable(&"the records after a given one were expected")),
    }
}

/// Whether there may be more records than [`follow`] examined.
pub(super) fn is_full_page(after: u64, last: u64) -> bool {
    last.saturating_sub(after) >= PAGE
}

fn filter_request(filter: &RecordFilter) -> Result<AuditQueryRequest, Failure> {
    let time = |typed: &Option<String>| typed.as_deref().map(moment).transpose();
    Ok(AuditQueryRequest {
        since_ms: time(&filter.since)?,
        until_ms: time(&filter.until)?,
        kinds: filter.kinds.iter().copied().map(Into::into).collect(),
        tool: filter.tool.as_deref().map(tool_pattern),
        agent: filter.agent.clone(),
        server: filter.server.clone(),
        session: filter.session.clone(),
        text: filter.text.clone(),
        ..AuditQueryRequest::default()
    })
}

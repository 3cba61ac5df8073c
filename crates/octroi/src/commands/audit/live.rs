//! `octroi tail`: follows the audit log.
//!
//! Asks once a second for records after the last one seen. So nothing is missed when the connection fails,
//! and a restarted gateway is found again.

use std::time::Duration;

use octroi_api::Exit;
use octroi_api::operations::audit::{AuditQueryRequest, AuditRecord};

use super::lines::line;
use super::query::{follow, is_full_page, search};
use super::tool_pattern;
use crate::cli::audit::Tail;
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;

const EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn tail(options: &Tail) -> Result<(), Failure> {
    let newest = AuditQueryRequest { limit: Some(1), ..AuditQueryRequest::default() };
    let position = search(&Client::find(&options.target)?, &newest).await?.position;
    let mut after = position.saturating_sub(options.lines);
    let mut is_lost = false;
    loop {
        match records_after(options, after).await {
            Ok((records, last)) => {
                if std::mem::take(&mut is_lost) {
                    printer::say("the gateway is back");
                }
                for record in &records {
                    let text = if options.target.json { printer::json_text(record) } else { line(record) };
                    if !printer::is_still_read(&text) {
                        return Ok(());
                    }
                }
                let is_more = is_full_page(after, last);
                after = last;
                if is_more {
                    continue;
                }
            }
            // It may be restarting.
            Err(failure) if failure.exit == Exit::Unreachable => {
                if !std::mem::replace(&mut is_lost, true) {
                    printer::warn(&failure.message);
                }
            }
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Looks up the gateway each time, because after a restart it may have another address.
async fn records_after(options: &Tail, after: u64) -> Result<(Vec<AuditRecord>, u64), Failure> {
    let filter = AuditQueryRequest {
        agent: options.agent.clone(),
        tool: options.tool.as_deref().map(tool_pattern),
        ..AuditQueryRequest::default()
    };
    follow(&Client::find(&options.target)?, after, &filter).await
}

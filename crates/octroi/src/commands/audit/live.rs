//! `octroi tail`: what happens, while it happens.
//!
//! Asks once a second for what came after the last record that was seen. So nothing is missed, whatever
//! happens to the connection, and a gateway that starts again is found again.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::lines::line;
use super::tool_pattern;
use crate::cli::audit::Tail;
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;

const EVERY: Duration = Duration::from_secs(1);
const PAGE: u64 = 500;

pub(crate) async fn tail(options: &Tail) -> Result<(), Failure> {
    let first = Client::find(&options.target)?.call("audit_query", json!({"limit": 1})).await?;
    let mut after = first["position"].as_u64().unwrap_or_default().saturating_sub(options.lines);
    let mut is_lost = false;
    loop {
        match read_on(options, after).await {
            Ok((records, last)) => {
                if std::mem::take(&mut is_lost) {
                    printer::say("the gateway is back");
                }
                for record in &records {
                    let text = if options.target.json { record.to_string() } else { line(record) };
                    if !printer::goes_on(&text) {
                        return Ok(());
                    }
                }
                let is_more = last > after && (last - after) >= PAGE;
                after = last;
                if is_more {
                    continue;
                }
            }
            // It may be starting again.
            Err(failure) if failure.exit_code == crate::client::UNREACHABLE => {
                if !std::mem::replace(&mut is_lost, true) {
                    printer::warn(&failure.message);
                }
            }
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// What came after a record, and the last one that was looked at.
async fn read_on(options: &Tail, after: u64) -> Result<(Vec<Value>, u64), Failure> {
    let mut arguments = Map::new();
    arguments.insert("after".to_owned(), json!(after));
    arguments.insert("limit".to_owned(), json!(PAGE));
    if let Some(agent) = &options.agent {
        arguments.insert("agent".to_owned(), json!(agent));
    }
    if let Some(tool) = &options.tool {
        arguments.insert("tool".to_owned(), json!(tool_pattern(tool)));
    }
    let told = Client::find(&options.target)?.call("audit_query", Value::Object(arguments)).await?;
    let records = told["records"].as_array().cloned().unwrap_or_default();
    Ok((records, told["last"].as_u64().unwrap_or(after)))
}

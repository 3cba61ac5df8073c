//! Questions to a running gateway.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::lines::{line, text};
use super::{kinds, moment, tool_pattern};
use crate::cli::audit::{List, ReportOptions, Show, Which};
use crate::client::Client;
use crate::commands::Failure;
use crate::printer::{self, visible};

/// One answer has no more than this.
const PAGE: u64 = 500;

pub(super) async fn list(options: &List) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    let mut arguments = wanted(&options.which)?;
    for (name, value) in [("decision", &options.decision), ("call", &options.call)] {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), json!(value));
        }
    }
    let mut n_left = options.n_max;
    let mut n_behind = 0;
    while n_left > 0 {
        arguments.insert("limit".to_owned(), json!(n_left.min(PAGE)));
        let told = client.call("audit_query", Value::Object(arguments.clone())).await?;
        for record in told["records"].as_array().into_iter().flatten() {
            if options.target.json {
                printer::data(&record.to_string());
            } else {
                printer::data(&line(record));
            }
            n_left = n_left.saturating_sub(1);
        }
        n_behind = told["behind"].as_u64().unwrap_or_default().max(n_behind);
        // A page may be short though there are more.
        match told["next"].as_i64() {
            Some(next) => arguments.insert("before".to_owned(), json!(next)),
            None => break,
        };
    }
    if n_left == options.n_max {
        printer::say("nothing was recorded that is like this");
    }
    if n_behind > 0 {
        printer::warn(&format!("the newest {n_behind} records cannot be found yet; try again in a moment"));
    }
    Ok(())
}

pub(super) async fn show(options: &Show) -> Result<(), Failure> {
    let arguments = match options.what.parse::<u64>() {
        Ok(seq) => json!({ "seq": seq }),
        Err(_) => json!({ "call": options.what }),
    };
    let told = Client::find(&options.target)?.call("audit_show", arguments).await?;
    let records = told["records"].as_array().map(Vec::as_slice).unwrap_or_default();
    for record in records {
        if options.target.json {
            printer::data(&record.to_string());
        } else {
            printer::data(&line(record));
            printer::data(&serde_json::to_string_pretty(record).unwrap_or_default());
        }
    }
    Ok(())
}

pub(super) async fn report(options: &ReportOptions) -> Result<(), Failure> {
    let since_ms = moment(&options.since)?.max(0);
    let told = Client::find(&options.target)?.call("audit_report", json!({ "since_ms": since_ms })).await?;
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let counts = told["counts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let total: u64 = counts.iter().filter_map(|count| count["n"].as_u64()).sum();
    printer::data(&format!("{total} records since {}", octroi_core::time::show_time(since_ms)));
    let groups =
        [("by kind", "kind"), ("by decision", "decision"), ("by agent", "agent"), ("by tool", "tool")];
    for (title, member) in groups {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for count in counts.iter().filter(|count| is_counted(count, member)) {
            if let Some(word) = count[member].as_str() {
                *sums.entry(word).or_default() += count["n"].as_u64().unwrap_or_default();
            }
        }
        if sums.is_empty() {
            continue;
        }
        printer::data(&format!("\n{title}"));
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        for (word, n) in sums {
            printer::data(&format!("  {n:>9}  {}", visible(word)));
        }
    }
    Ok(())
}

/// A call has a start and an end; by tool and agent it is counted once.
fn is_counted(count: &Value, member: &str) -> bool {
    match member {
        "kind" | "decision" => true,
        _ => !matches!(text(&count["kind"]), "tool_invocation_end" | "request_end"),
    }
}

pub(super) fn wanted(which: &Which) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    for (name, value) in [("since_ms", &which.since), ("until_ms", &which.until)] {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), json!(moment(value)?.max(0)));
        }
    }
    if !which.kind.is_empty() {
        let kinds: Vec<&str> =
            kinds(&which.kind)?.into_iter().map(octroi_core::audit::Kind::as_str).collect();
        arguments.insert("kinds".to_owned(), json!(kinds));
    }
    let tool = which.tool.as_deref().map(tool_pattern);
    let texts = [("tool", &tool), ("agent", &which.agent), ("server", &which.server), ("text", &which.text)];
    for (name, value) in texts {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), json!(value));
        }
    }
    Ok(arguments)
}

//! `octroi audit report`: counts of records.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use octroi_api::operations::audit::{AuditCount, AuditReport, AuditReportRequest};
use octroi_core::audit::Kind;
use octroi_core::time::show_time;

use super::moment;
use crate::cli::audit::CountRecords;
use crate::client::Client;
use crate::commands::Failure;
use crate::printer::{self, visible};

pub(super) async fn report(options: &CountRecords) -> Result<(), Failure> {
    let since_ms = moment(&options.since)?;
    let request = AuditReportRequest { since_ms: Some(since_ms) };
    let report = Client::find(&options.target)?.call::<AuditReport>(&request).await?;
    if options.target.json {
        printer::json(&report);
        return Ok(());
    }
    let n_records: u64 = report.counts.iter().map(|count| count.n).sum();
    let since = show_time(i64::try_from(since_ms).unwrap_or(i64::MAX));
    printer::data(&format!("{} since {since}", printer::count(n_records, "record")));
    for line in group_lines(&report.counts) {
        printer::data(&line);
    }
    Ok(())
}

/// The counts grouped by each of their members, the most frequent first.
fn group_lines(counts: &[AuditCount]) -> Vec<String> {
    type Member = fn(&AuditCount) -> Option<&str>;
    let groups: [(&str, Member); 4] = [
        ("by kind", |count| Some(&count.kind)),
        ("by decision", |count| count.decision.as_deref()),
        ("by agent", |count| count.agent.as_deref().filter(|_| is_counted_once(count))),
        ("by tool", |count| count.tool.as_deref().filter(|_| is_counted_once(count))),
    ];
    let mut lines = Vec::new();
    for (title, member) in groups {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for count in counts {
            if let Some(word) = member(count) {
                *sums.entry(word).or_default() += count.n;
            }
        }
        if sums.is_empty() {
            continue;
        }
        lines.push(format!("\n{title}"));
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(_, n)| Reverse(*n));
        lines.extend(sums.into_iter().map(|(word, n)| format!("  {n:>9}  {}", visible(word))));
    }
    lines
}

/// A call has a start and an end; by tool and agent it is counted by its start.
fn is_counted_once(count: &AuditCount) -> bool {
    !matches!(Kind::parse(&count.kind), Some(Kind::ToolInvocationEnd | Kind::RequestEnd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_once_by_tool_and_agent() {
        let count = |kind: Kind, decision: Option<&str>, n: u64| AuditCount {
            kind: kind.as_str().to_owned(),
            agent: Some("coder".to_owned()),
            tool: Some("mcp:a:b".to_owned()),
            decision: decision.map(str::to_owned),
            n,
        };
        let counts = [
            count(Kind::PolicyViolation, Some("deny_continue"), 1),
            count(Kind::ToolInvocationStart, Some("allow"), 2),
            count(Kind::ToolInvocationEnd, None, 2),
        ];
        let lines = group_lines(&counts).join("\n");
        let expected = [
            "\nby kind",
            "          2  tool_invocation_end",
            "          2  tool_invocation_start",
            "          1  policy_violation",
            "\nby decision",
            "          2  allow",
            "          1  deny_continue",
            "\nby agent",
            "          3  coder",
            "\nby tool",
            "          3  mcp:a:b",
        ];
        assert_eq!(lines, expected.join("\n"));
        assert!(group_lines(&[]).is_empty());
    }
}

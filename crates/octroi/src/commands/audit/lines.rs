//! A record in one line.

use octroi_core::time::show_time;
use owo_colors::OwoColorize as _;
use serde_json::Value;

use crate::printer::visible;

/// Number, time, who, what, how it went, how long it took, and why.
pub(super) fn line(record: &Value) -> String {
    let at_ms = record["at_ms"].as_i64().unwrap_or_default();
    let who = record["agent"].as_str().unwrap_or_else(|| text(&record["actor"]["id"]));
    let kind = text(&record["kind"]);
    let what = what(record);
    let (verdict, is_good) = verdict(record, kind);
    let verdict = format!("{verdict:<18}");
    let verdict = match (is_good, text(&record["level"])) {
        (true, _) => verdict.green().to_string(),
        (false, "info") => verdict.cyan().to_string(),
        (false, "error") => verdict.red().bold().to_string(),
        (false, _) => verdict.red().to_string(),
    };
    let context = &record["context"];
    let duration = context["duration_ms"].as_u64().map(|ms| format!(" {ms} ms")).unwrap_or_default();
    let reason = ["reason", "quota", "state"].iter().find_map(|name| context[*name].as_str());
    let reason = reason.map(|reason| format!("  {}", visible(reason))).unwrap_or_default();
    let line = format!(
        "{:>7}  {}  {:<12}  {verdict}  {}{duration}{reason}",
        record["seq"].as_u64().unwrap_or_default(),
        show_time(at_ms).dimmed(),
        visible(who),
        visible(&what),
    );
    line.trim_end().to_owned()
}

/// A tool, or a server with what was asked of it besides tools.
fn what(record: &Value) -> String {
    let context = &record["context"];
    let asked = context["uri"].as_str().or(context["name"].as_str()).zip(context["method"].as_str());
    match (record["tool"].as_str(), record["server"].as_str(), asked) {
        (Some(tool), _, _) => tool.to_owned(),
        (None, Some(server), Some((what, method))) => format!("{server} {method} {what}"),
        (None, server, _) => server.unwrap_or_default().to_owned(),
    }
}

/// What became of it, in a word, and whether that is as everybody hopes.
fn verdict<'a>(record: &'a Value, kind: &'a str) -> (&'a str, bool) {
    match kind {
        "tool_invocation_start" | "request_start" => (text(&record["decision"]), true),
        "tool_invocation_end" | "request_end" => {
            let outcome = text(&record["context"]["outcome"]);
            (outcome, outcome == "completed")
        }
        "policy_violation" => (text(&record["decision"]), false),
        kind => (kind, false),
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_says_who_what_and_how() {
        let end = json!({
            "seq": 7, "at_ms": 0, "kind": "tool_invocation_end", "level": "info",
            "actor": {"kind": "agent", "id": "x"}, "agent": "coder", "tool": "mcp:files:read",
            "context": {"outcome": "completed", "duration_ms": 12},
        });
        let line = anstream::adapter::strip_str(&line(&end)).to_string();
        assert_eq!(
            line,
            "      7  1970-01-01T00:00:00.000Z  coder         completed           mcp:files:read 12 ms"
        );
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        let denied = json!({
            "seq": 8, "at_ms": 0, "kind": "policy_violation", "level": "warn", "decision": "deny_continue",
            "actor": {"kind": "agent", "id": "x"}, "tool": "mcp:a:\u{1b}[2Jb",
            "context": {"reason": "no\r\nseq \u{202e}\u{200b}"},
        });
        let line = anstream::adapter::strip_str(&line(&denied)).to_string();
        assert!(line.contains("deny_continue"), "{line}");
        assert!(!line.contains(['\u{1b}', '\r', '\n', '\u{202e}', '\u{200b}']), "{line:?}");
        assert!(line.contains("no\\r\\nseq \\u{202e}\\u{200b}"), "{line:?}");
    }
}

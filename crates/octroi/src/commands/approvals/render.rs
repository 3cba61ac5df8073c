//! Approvals as people read them.

use octroi_api::operations::approvals::{Approval, ArgumentsKept, MaskedArgument, RevealedArgument};
use octroi_core::approval::ApprovalState;
use octroi_core::redact::indented;
use octroi_core::time::{parse_time, show_span};
use owo_colors::{OwoColorize as _, Style};
use serde_json::Value;

use crate::printer::{count, visible};
use crate::table::{self, Cell, Column, Table};

/// Longer arguments are cut in the list, which says so; `show` has all of them.
const ARGUMENTS_LISTED: usize = 160;

/// Longer arguments and other params of one approval are folded; `--all` shows them to their end.
const ARGUMENTS_FOLDED: usize = 4_000;

/// How much of the arguments is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentLength {
    /// Long ones are folded, with a note of how much is missing.
    Folded,
    /// All.
    Whole,
}

/// One row for each approval. Below it: since when, the arguments, and why it needs approval.
pub(super) fn list_lines(approvals: &[Approval], now_ms: i64, width: usize) -> Vec<String> {
    let mut table = Table::new(&[
        Column::text("id"),
        Column::text("agent_id"),
        Column::text("tool"),
        Column::text("risk"),
        Column::text("state"),
    ]);
    for approval in approvals {
        let is_risky = matches!(approval.risk.as_str(), "high" | "critical");
        table.row([
            Cell::new(&approval.id).styled(Style::new().bold()),
            Cell::new(approval.agent_id.as_ref().unwrap_or(&approval.principal)),
            Cell::new(tool_name(&approval.tool)).styled(Style::new().cyan()),
            Cell::new(&approval.risk).styled(if is_risky { Style::new().red() } else { Style::new() }),
            Cell::new(approval.state.0.as_str()),
        ]);
    }
    let mut rows = table.lines(width).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (row, approval) in rows.zip(approvals) {
        lines.push(row);
        let since = state(approval, now_ms);
        if since != approval.state.0.as_str() {
            lines.push(fitted(&format!("    {since}"), width));
        }
        let below = summary_lines(approval, now_ms).into_iter().skip(1);
        lines.extend(below.map(|line| fitted(&line, width)));
    }
    lines
}

/// A line without colours, cut to this width. An address is of no use without its end.
fn fitted(line: &str, width: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    if plain.trim_start().starts_with("http") { plain } else { table::cut(&plain, width) }
}

/// One approval in up to three lines: the call, its arguments, and why it needs approval.
pub(super) fn summary_lines(approval: &Approval, now_ms: i64) -> Vec<String> {
    let risk = match approval.risk.as_str() {
        risk @ ("high" | "critical") => risk.red().to_string(),
        risk => risk.to_owned(),
    };
    let agent = approval.agent_id.as_ref().unwrap_or(&approval.principal);
    let tool = visible(&tool_name(&approval.tool));
    let mut lines = vec![
        format!(
            "{}  {}  {}  {risk}  {}",
            approval.id.bold(),
            visible(agent),
            tool.cyan(),
            state(approval, now_ms)
        ),
        format!("    {}", cut(&visible(&listed_arguments(approval)), &approval.id)),
    ];
    if !approval.other_params.is_null() {
        lines.push(format!(
            "    also sent: {}",
            cut(&visible(&approval.other_params.to_string()), &approval.id)
        ));
    }
    lines.extend(approval.reasons.iter().map(|reason| format!("    {}", visible(reason).dimmed())));
    let page = approval.page.as_ref().filter(|_| approval.state.0 == ApprovalState::Pending);
    lines.extend(page.map(|page| format!("    {}", visible(page))));
    lines
}

/// A call that waits, for the status: who waits and why, and the page to decide at.
pub(in crate::commands) fn waiting_lines(approval: &Approval) -> Vec<String> {
    let agent = approval.agent_id.as_ref().unwrap_or(&approval.principal);
    let why = approval.reasons.first().map_or_else(|| tool_name(&approval.tool), Clone::clone);
    let mut lines = vec![format!("  {}: {}", visible(agent), visible(&why))];
    lines.push(match &approval.page {
        Some(page) => format!("      {}", visible(page).cyan()),
        None => format!("      {}", approval.id),
    });
    lines
}

/// What became of a call that waited, in one line.
pub(super) fn settled_line(approval: &Approval) -> String {
    let by = approval.decided_by.as_ref().map(|by| format!(" by {}", visible(by))).unwrap_or_default();
    let edited = if approval.edited { " with other arguments" } else { "" };
    let reason = approval.reason.as_ref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
    let state = match approval.state.0 {
        ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => "denied".red().to_string(),
        // It was approved before it was used.
        ApprovalState::Approved | ApprovalState::Claimed | ApprovalState::Done => {
            "approved".green().to_string()
        }
        state @ (ApprovalState::Pending
        | ApprovalState::Expired
        | ApprovalState::Cancelled
        | ApprovalState::Orphaned) => state.as_str().yellow().to_string(),
    };
    format!("{}  {state}{by}{edited}{reason}", approval.id.bold())
}

/// The state of an approval, and since when.
fn state(approval: &Approval, now_ms: i64) -> String {
    let ago =
        |at: Option<&str>| at.and_then(parse_time).map(|at_ms| show_span(now_ms - at_ms)).unwrap_or_default();
    match (approval.state.0, &approval.decided_by) {
        (ApprovalState::Pending, _) => {
            let asked = ago(Some(&approval.requested_at));
            format!("asked {asked} ago, expires in {}", time_left(approval, now_ms))
        }
        (state, Some(person)) => {
            let decided = ago(approval.decided_at.as_deref());
            format!("{} by {} {decided} ago", state.as_str(), visible(person))
        }
        (state, None) => state.as_str().to_owned(),
    }
}

/// How long an approval can still be decided or used.
pub(super) fn time_left(approval: &Approval, now_ms: i64) -> String {
    parse_time(&approval.expires_at).map(|at_ms| show_span(at_ms - now_ms)).unwrap_or_default()
}

/// Every member of an approval, in labelled lines.
pub(super) fn detail_lines(approval: &Approval, length: ArgumentLength) -> Vec<String> {
    let list = |texts: &[String]| Some(texts.join("; ")).filter(|_| !texts.is_empty());
    let masked: Vec<String> = approval.masked.iter().map(masked_line).collect();
    let rows = [
        ("id", Some(approval.id.clone())),
        ("invocation id", Some(approval.invocation_id.clone())),
        ("agent id", approval.agent_id.clone()),
        ("principal", Some(approval.principal.clone())),
        ("tool", Some(approval.tool.clone())),
        ("args", arguments(approval, length)),
        ("also sent", other_params(approval, length)),
        ("masked", Some(masked.join("\n")).filter(|_| !masked.is_empty())),
        ("risk", Some(approval.risk.clone())),
        ("side effects", list(&approval.side_effects)),
        ("reasons", Some(approval.reasons.join("\n")).filter(|reasons| !reasons.is_empty())),
        ("page", approval.page.clone()),
        ("requested at", Some(approval.requested_at.clone())),
        ("expires at", Some(approval.expires_at.clone())),
        ("state", Some(approval.state.to_string())),
        ("decided at", approval.decided_at.clone()),
        ("decided by", approval.decided_by.clone()),
        ("reason", approval.reason.clone()),
        ("edited", approval.edited.then(|| "true".to_owned())),
        ("remembered rule", approval.remembered_rule.clone()),
        ("claimed at", approval.claimed_at.clone()),
        ("finished at", approval.finished_at.clone()),
        ("outcome", approval.outcome.clone()),
    ];
    let line = |(label, value): (&str, Option<String>)| {
        let lines: Vec<String> = value?.lines().map(visible).collect();
        Some(format!("{label:<16}  {}", lines.join("\n                  ")))
    };
    rows.into_iter().filter_map(line).collect()
}

/// The arguments as they were sent, with secrets masked: numbers keep their digits.
fn listed_arguments(approval: &Approval) -> String {
    approval.arguments.clone().unwrap_or_else(|| approval.args.to_string())
}

fn arguments(approval: &Approval, length: ArgumentLength) -> Option<String> {
    let text = match (&approval.arguments, &approval.args) {
        (Some(whole), _) => indented(whole),
        (None, Value::Null) => return None,
        (None, Value::String(text)) => text.clone(),
        (None, arguments) => format!("{arguments:#}"),
    };
    let note = match approval.arguments_kept {
        ArgumentsKept::Whole => "",
        ArgumentsKept::Removed => "\n(a short version: the whole arguments were removed when this was over)",
        ArgumentsKept::Unreadable => "\n(they cannot be read; the call can only be denied)",
    };
    Some(format!("{}{note}", folded(text, length)))
}

/// What else is sent. Text is JSON whose numbers a value would round, or that was cut.
fn other_params(approval: &Approval, length: ArgumentLength) -> Option<String> {
    let text = match &approval.other_params {
        Value::Null => return None,
        Value::String(text) => indented(text),
        others => format!("{others:#}"),
    };
    Some(folded(text, length))
}

fn folded(text: String, length: ArgumentLength) -> String {
    let end = text.floor_char_boundary(ARGUMENTS_FOLDED);
    if length == ArgumentLength::Whole || end == text.len() {
        return text;
    }
    format!("{}…\n({} more bytes: show them with --all)", &text[..end], text.len() - end)
}

/// A masked value: where it is, what it seems to be, how long it is.
fn masked_line(masked: &MaskedArgument) -> String {
    let path = if masked.path.is_empty() { "(everything)" } else { &masked.path };
    format!("{path}  {}, {}", masked.kind, count(masked.length, "byte"))
}

/// A value that was revealed. In a string every line stands on its own.
pub(super) fn revealed_lines(revealed: &RevealedArgument) -> Vec<String> {
    let value = match serde_json::from_str(&revealed.value) {
        Ok(Value::String(text)) => text,
        Ok(_) | Err(_) => revealed.value.clone(),
    };
    let name = revealed.name.as_deref().map(|name| format!(" ({})", visible(name))).unwrap_or_default();
    let mut lines = vec![format!("{}{name}:", visible(&revealed.path))];
    lines.extend(value.lines().map(|line| format!("    {}", visible(line))));
    lines
}

/// `server.tool`, as rules name it.
pub(super) fn tool_name(id: &str) -> String {
    id.strip_prefix("mcp:").map_or_else(|| id.to_owned(), |name| name.replacen(':', ".", 1))
}

fn cut(text: &str, id: &str) -> String {
    match text.char_indices().nth(ARGUMENTS_LISTED) {
        Some((end, _)) => format!("{}… (all of it: octroi approvals show {id})", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn approval(members: Value) -> Approval {
        let mut approval = json!({
            "id": "ap_x", "call_id": "ap_x", "invocation_id": "i", "agent_id": "coder", "principal": "agent:coder",
            "tool": "mcp:files:write", "args": {"path": "/tmp/x"}, "risk": "high", "side_effects": ["fs.write"],
            "reasons": ["it writes", "it is new"], "requested_at": "2027-01-31T12:00:00.000Z",
            "expires_at": "2027-01-31T12:30:00.000Z", "state": "pending", "decided_at": null, "decided_by": null,
            "reason": null, "edited": false, "remembered_rule": null, "claimed_at": null, "finished_at": null,
            "outcome": null,
        });
        for (name, value) in members.as_object().unwrap() {
            approval[name] = value.clone();
        }
        serde_json::from_value(approval).unwrap()
    }

    fn plain(lines: &[String]) -> String {
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn an_approval_is_three_lines() {
        let now_ms = parse_time("2027-01-31T12:01:30Z").unwrap();
        expect![[r#"
            ap_x  coder  files.write  high  asked 90 s ago, expires in 29 min
                {"path":"/tmp/x"}
                it writes
                it is new"#]]
        .assert_eq(&plain(&summary_lines(&approval(json!({})), now_ms)));
        let decided = json!({
            "agent_id": null, "principal": "ann", "state": "denied_continue", "decided_by": "admin\u{1b}",
            "decided_at": "2027-01-31T12:01:00.000Z", "args": "x".repeat(200), "reasons": [],
        });
        let lines = summary_lines(&approval(decided), now_ms);
        assert_eq!(
            plain(&lines[..1]),
            "ap_x  ann  files.write  high  denied_continue by admin\\u{1b} 30 s ago"
        );
        let rest = "… (all of it: octroi approvals show ap_x)";
        assert_eq!((lines.len(), lines[1].chars().count()), (2, 4 + ARGUMENTS_LISTED + rest.chars().count()));
        assert!(lines[1].ends_with(rest), "{lines:?}");
        let expired = summary_lines(&approval(json!({"state": "expired"})), now_ms);
        assert!(plain(&expired).contains("high  expired\n"), "{expired:?}");
    }

    #[test]
    fn approvals_are_rows_with_what_is_asked_below() {
        let now_ms = parse_time("2027-01-31T12:01:30Z").unwrap();
        let decided = json!({
            "agent_id": null, "principal": "ann", "state": "denied_continue", "decided_by": "admin\u{1b}",
            "decided_at": "2027-01-31T12:01:00.000Z", "args": "x".repeat(200), "reasons": [],
        });
        let approvals = [json!({}), decided, json!({"state": "expired"})].map(approval);
        expect![[r#"
            ID    AGENT ID  TOOL         RISK  STATE
            ap_x  coder     files.write  high  pending
                asked 90 s ago, expires in 29 min
                {"path":"/tmp/x"}
                it writes
                it is new
            ap_x  ann       files.write  high  denied_continue
                denied_continue by admin\u{1b} 30 s ago
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            ap_x  coder     files.write  high  expired
                {"path":"/tmp/x"}
                it writes
                it is new"#]]
        .assert_eq(&plain(&list_lines(&approvals, now_ms, 60)));
    }

    #[test]
    fn of_one_approval_everything_is_shown_that_is_known() {
        expect![[r#"
            id                ap_x
            invocation id     i
            agent id          coder
            principal         agent:coder
            tool              mcp:files:write
            args              {
                                "path": "/tmp/x"
                              }
            risk              high
            side effects      fs.write
            reasons           it writes
                              it is new
            requested at      2027-01-31T12:00:00.000Z
            expires at        2027-01-31T12:30:00.000Z
            state             done
            edited            true
            outcome           completed"#]]
        .assert_eq(&plain(&detail_lines(
            &approval(json!({"state": "done", "edited": true, "outcome": "completed"})),
            ArgumentLength::Folded,
        )));
    }

    #[test]
    fn arguments_are_shown_whole_with_what_is_masked() {
        let whole =
            format!(r#"{{"n":12345678901234567890,"token":"[redacted]","x":"{}"}}"#, "y".repeat(5_000));
        let masked = json!([{"path": "/token", "kind": "credential", "length": 20}]);
        let approval = approval(json!({"arguments": whole, "masked": masked}));
        let lines = plain(&detail_lines(&approval, ArgumentLength::Whole));
        assert!(
            lines.contains("\"n\": 12345678901234567890,") && lines.contains(&"y".repeat(5_000)),
            "{lines}"
        );
        assert!(lines.contains("masked            /token  credential, 20 bytes"), "{lines}");
        let folded = plain(&detail_lines(&approval, ArgumentLength::Folded));
        assert!(folded.contains("more bytes: show them with --all)"), "{folded}");
        assert!(folded.contains("/token  credential, 20 bytes"), "{folded}");
        let revealed = RevealedArgument {
            path: "/token".to_owned(),
            name: Some("token".to_owned()),
            value: json!("one\ntwo\u{1b}").to_string(),
        };
        assert_eq!(revealed_lines(&revealed), ["/token (token):", "    one", "    two\\u{1b}"]);
    }

    #[test]
    fn tools_are_named_as_in_rules() {
        for (id, expected) in [("mcp:fs:a:b", "fs.a:b"), ("builtin:now", "builtin:now"), ("", "")] {
            assert_eq!(tool_name(id), expected);
        }
    }
}

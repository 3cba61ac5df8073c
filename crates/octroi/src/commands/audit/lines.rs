//! A record in one line, and records in a table.

use std::borrow::Cow;

use octroi_api::operations::audit::AuditRecord;
use octroi_core::approval::ApprovalState;
use octroi_core::audit::{ActorKind, Kind, Level};
use octroi_core::time::show_time;
use owo_colors::{OwoColorize as _, Style};
use serde_json::Value;

use crate::printer::visible;
use crate::table::{Cell, Column, Table};

/// One row for each record.
pub(super) fn table(records: &[AuditRecord]) -> Table {
    let mut table = Table::new(&[
        Column::number("seq"),
        Column::text("at"),
        Column::text("agent"),
        Column::text("decision"),
        Column::text("tool"),
        Column::number("duration_ms"),
        Column::sentence("reason"),
    ]);
    for record in records {
        let (outcome, is_good) = outcome(record);
        table.row([
            record.seq.to_string().into(),
            Cell::new(to_the_second(&at(record))).styled(Style::new().dimmed()),
            who(record).into(),
            Cell::new(outcome).styled(style(record, is_good)),
            what(record).into(),
            duration_ms(record).map(|ms| ms.to_string()).unwrap_or_default().into(),
            reason(record).unwrap_or_default().into(),
        ]);
    }
    table
}

/// `2027-01-31T12:00:00.000Z` without its fraction, which is of no use in a table.
fn to_the_second(time: &str) -> String {
    let (second, _) = time.split_once('.').unwrap_or((time, ""));
    format!("{}Z", second.trim_end_matches('Z').replace('T', " "))
}

/// Number, time, agent, outcome, tool, duration and reason.
pub(super) fn line(record: &AuditRecord) -> String {
    let (outcome, is_good) = outcome(record);
    let outcome = format!("{outcome:<18}");
    let outcome = outcome.style(style(record, is_good));
    let duration = duration_ms(record).map(|ms| format!(" {ms} ms")).unwrap_or_default();
    let reason = reason(record).map(|reason| format!("  {}", visible(&reason))).unwrap_or_default();
    let line = format!(
        "{:>7}  {}  {:<12}  {outcome}  {}{duration}{reason}",
        record.seq,
        at(record).dimmed(),
        visible(&who(record)),
        visible(&what(record)),
    );
    line.trim_end().to_owned()
}

fn at(record: &AuditRecord) -> String {
    show_time(i64::try_from(record.at_ms.unwrap_or_default()).unwrap_or(i64::MAX))
}

fn style(record: &AuditRecord, is_good: bool) -> Style {
    match (is_good, record.level.as_deref().and_then(Level::parse)) {
        (true, _) => Style::new().green(),
        (false, Some(Level::Info)) => Style::new().cyan(),
        (false, Some(Level::Error)) => Style::new().red().bold(),
        (false, Some(Level::Warn) | None) => Style::new().red(),
    }
}

fn duration_ms(record: &AuditRecord) -> Option<u64> {
    record.context.get("duration_ms").and_then(Value::as_u64)
}

/// Why it was decided like this: what a person said, else the reason or the state after a change.
fn reason(record: &AuditRecord) -> Option<String> {
    let after = |name: &str| record.context.get("after")?.get(name)?.as_str();
    let reason = ["reason", "quota", "state"].iter().find_map(|name| in_context(record, name));
    // A change records the state after it.
    let reason = reason.or_else(|| after("state").or_else(|| after("status"))).map(str::to_owned);
    persons_word(record).or(reason)
}

/// A text from the context of a record; its members depend on the kind.
fn in_context<'a>(record: &'a AuditRecord, name: &str) -> Option<&'a str> {
    record.context.get(name).and_then(Value::as_str)
}

fn kind(record: &AuditRecord) -> Option<Kind> {
    record.kind.as_deref().and_then(Kind::parse)
}

/// The agent, or else the actor. Both, if a person called a tool as an agent; the person alone for what only people
/// do, whoever's call it is about.
fn who(record: &AuditRecord) -> String {
    let actor = record.actor.as_ref();
    let id = actor.map(|actor| actor.id.as_str()).unwrap_or_default();
    let is_person = actor.is_some_and(|actor| ActorKind::parse(&actor.kind) == Some(ActorKind::User));
    let is_call = matches!(
        kind(record),
        Some(
            Kind::ToolInvocationStart
                | Kind::ToolInvocationEnd
                | Kind::PolicyViolation
                | Kind::PolicyDecision
        )
    );
    match &record.agent {
        Some(_) if is_person && kind(record) == Some(Kind::ArgumentRevealed) => id.to_owned(),
        Some(agent) if is_call && is_person => format!("{id} as {agent}"),
        Some(agent) => agent.clone(),
        None => id.to_owned(),
    }
}

/// So many letters of what a client wrote are shown; `--json` has the rest.
const SHOWN: usize = 120;

/// A text of a client, cut for a line.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The tool, or the server with the method and its object.
fn what(record: &AuditRecord) -> String {
    let object = in_context(record, "uri").or(in_context(record, "name"));
    match (&record.tool, &record.server, object.zip(in_context(record, "method"))) {
        (Some(tool), _, _) => tool.clone(),
        (None, Some(server), Some((object, method))) => format!("{server} {method} {}", cut(object)),
        (None, server, _) => server.clone().unwrap_or_default(),
    }
}

/// A member of an approval's record: beside the approval, or where a person decided in the state after it.
fn of_approval<'a>(record: &'a AuditRecord, name: &str) -> Option<&'a Value> {
    let after = record.context.get("after").and_then(|after| after.get(name));
    after.or_else(|| record.context.get(name)).filter(|value| !value.is_null())
}

/// Why a call waits; who decided about it and what they said; who approved a call that is made.
fn persons_word(record: &AuditRecord) -> Option<String> {
    let text = |name: &str| of_approval(record, name).and_then(Value::as_str);
    match kind(record) {
        Some(Kind::ApprovalRequested) => {
            of_approval(record, "reasons")?.as_array()?.first()?.as_str().map(str::to_owned)
        }
        Some(Kind::ApprovalResolved) => {
            let is_set = |name: &str| of_approval(record, name).and_then(Value::as_bool) == Some(true);
            let by = text("decided_by").map(|by| format!("by {by}"));
            let edited = is_set("edited").then(|| "with other arguments".to_owned());
            let remembered = text("rule").map(|_| "and remembered".to_owned());
            let said: Vec<String> = [by, edited, remembered].into_iter().flatten().collect();
            let reason = text("reason").map(str::to_owned);
            let said = Some(said.join(" ")).filter(|said| !said.is_empty());
            Some([said, reason].into_iter().flatten().collect::<Vec<_>>().join(": "))
        }
        Some(Kind::ToolInvocationStart) => {
            let verdicts = record.context.get("trace")?.as_array()?;
            let person = verdicts.iter().rfind(|verdict| verdict["gate"] == "person")?;
            let reason = person["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
            Some(format!("approved by {}{reason}", person["by"].as_str()?))
        }
        _ => None,
    }
}

/// The outcome in one word, and whether it is a good one.
fn outcome(record: &AuditRecord) -> (&str, bool) {
    let decision = record.decision.as_deref().unwrap_or_default();
    match kind(record) {
        Some(Kind::ToolInvocationStart | Kind::RequestStart) => (decision, true),
        Some(Kind::ToolInvocationEnd | Kind::RequestEnd) => {
            let outcome = in_context(record, "outcome").unwrap_or_default();
            (outcome, outcome == "completed")
        }
        Some(Kind::PolicyDecision) => (decision, decision == "allow"),
        Some(Kind::PolicyViolation) => (decision, false),
        Some(Kind::ApprovalRequested) => ("waits", false),
        Some(Kind::ApprovalResolved) => {
            let state = of_approval(record, "state").and_then(Value::as_str);
            match state.and_then(ApprovalState::parse) {
                Some(ApprovalState::DeniedContinue | ApprovalState::DeniedAbort) => ("denied", false),
                Some(state) => (state.as_str(), state == ApprovalState::Approved),
                None => ("approval_resolved", false),
            }
        }
        // A newer gateway may write kinds that this program does not know.
        _ => (record.kind.as_deref().unwrap_or_default(), false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(members: Value) -> AuditRecord {
        serde_json::from_value(members).unwrap()
    }

    #[test]
    fn tables_have_no_fractions_of_seconds() {
        assert_eq!(to_the_second("2027-01-31T12:00:00.123Z"), "2027-01-31 12:00:00Z");
        assert_eq!(to_the_second("2027-01-31T12:00:00Z"), "2027-01-31 12:00:00Z");
    }

    #[test]
    fn a_line_says_who_what_and_how() {
        let end = record(json!({
            "seq": 7, "at_ms": 0, "kind": "tool_invocation_end", "level": "info",
            "actor": {"kind": "agent", "id": "x"}, "agent": "coder", "tool": "mcp:files:read",
            "context": {"outcome": "completed", "duration_ms": 12},
        }));
        let line = anstream::adapter::strip_str(&line(&end)).to_string();
        assert_eq!(
            line,
            "      7  1970-01-01T00:00:00.000Z  coder         completed           mcp:files:read 12 ms"
        );
    }

    #[test]
    fn what_a_person_decided_is_in_the_line() {
        for (kind, context, expected) in [
            (
                "approval_requested",
                json!({"state": "pending", "reasons": ["it writes", "it is new"], "decided_by": null}),
                "waits               mcp:a:b  it writes",
            ),
            (
                "approval_resolved",
                json!({"before": {"state": "pending"}, "after": {
                    "state": "denied_continue", "decided_by": "ann", "reason": "not today", "edited": false,
                    "rule": null,
                }}),
                "denied              mcp:a:b  by ann: not today",
            ),
            (
                "approval_resolved",
                json!({"after": {
                    "state": "approved", "decided_by": "ann", "reason": null, "edited": true, "rule": "[[allow]]",
                }}),
                "approved            mcp:a:b  by ann with other arguments and remembered",
            ),
            (
                "approval_resolved",
                json!({"state": "expired", "decided_by": null, "reason": null}),
                "expired             mcp:a:b",
            ),
            (
                "tool_invocation_start",
                json!({"trace": ["scope", {"gate": "person", "outcome": "pass", "by": "ann", "reason": "ok"}]}),
                "                    mcp:a:b  approved by ann: ok",
            ),
        ] {
            let record =
                record(json!({"seq": 1, "at_ms": 0, "kind": kind, "tool": "mcp:a:b", "context": context}));
            let line = anstream::adapter::strip_str(&line(&record)).to_string();
            assert_eq!(line.get(49..), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_clients_write_does_not_fill_the_screen() {
        let read = record(json!({
            "seq": 7, "at_ms": 0, "kind": "request_start", "decision": "allow", "agent": "coder", "server": "files",
            "context": {"method": "resources/read", "uri": format!("file:///{}", "é".repeat(15_000))},
        }));
        let line = anstream::adapter::strip_str(&line(&read)).to_string();
        assert!(line.contains("files resources/read file:///é") && line.ends_with("é…"), "{line}");
        assert!(line.chars().count() < 250, "{line}");
    }

    #[test]
    fn a_person_who_acts_as_an_agent_is_named_with_it() {
        for (kind, actor, agent, expected) in [
            ("tool_invocation_start", ("agent", "agent:coder"), Some("coder"), "coder"),
            ("tool_invocation_start", ("user", "ann"), Some("coder"), "ann as coder"),
            ("tool_invocation_end", ("user", "ann"), Some("coder"), "ann as coder"),
            ("policy_violation", ("user", "ann"), Some("coder"), "ann as coder"),
            // About an agent, and not as one.
            ("approval_resolved", ("user", "ann"), Some("coder"), "coder"),
            ("administrative_change", ("user", "ann"), None, "ann"),
            // The person saw it, not the agent.
            ("argument_revealed", ("user", "ann"), Some("coder"), "ann"),
        ] {
            let actor = json!({"kind": actor.0, "id": actor.1});
            let record = record(json!({"seq": 1, "kind": kind, "actor": actor, "agent": agent}));
            assert_eq!(who(&record), expected, "{kind} {actor}");
        }
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        let denied = record(json!({
            "seq": 8, "at_ms": 0, "kind": "policy_violation", "level": "warn", "decision": "deny_continue",
            "actor": {"kind": "agent", "id": "x"}, "tool": "mcp:a:\u{1b}[2Jb",
            "context": {"reason": "no\r\nseq \u{202e}\u{200b}"},
        }));
        let line = anstream::adapter::strip_str(&line(&denied)).to_string();
        assert!(line.contains("deny_continue"), "{line}");
        assert!(!line.contains(['\u{1b}', '\r', '\n', '\u{202e}', '\u{200b}']), "{line:?}");
        assert!(line.contains("no\\r\\nseq \\u{202e}\\u{200b}"), "{line:?}");
    }
}

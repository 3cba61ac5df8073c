//! Commands about calls that wait for a person.

use std::time::{SystemTime, UNIX_EPOCH};

use octroi_core::time::parse_time;
use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::Failure;
use crate::cli::people::{Approvals, ApprovalsCommand, Approve, Deny, ListApprovals, OneApproval, Remarks};
use crate::client::Client;
use crate::printer::{self, visible};

const USAGE: u8 = 2;
/// Longer arguments are cut in the list; `show` has all of them.
const ARGUMENTS_SHOWN: usize = 160;

pub(super) async fn run(approvals: &Approvals) -> Result<(), Failure> {
    match &approvals.command {
        Some(ApprovalsCommand::Show(one)) => show(one).await,
        None => list(&approvals.options).await,
    }
}

async fn list(options: &ListApprovals) -> Result<(), Failure> {
    let part = match (options.all, options.history) {
        (true, _) => "all",
        (false, true) => "history",
        (false, false) => "pending",
    };
    let mut arguments = json!({ "part": part });
    if let Some(agent) = &options.agent {
        arguments["agent_id"] = json!(agent);
    }
    let told = Client::find(&options.target)?.call("approvals_list", arguments).await?;
    let approvals = told["approvals"].as_array().map(Vec::as_slice).unwrap_or_default();
    if options.target.json {
        printer::data(&json!(approvals).to_string());
    } else if approvals.is_empty() {
        printer::say(if part == "pending" { "nothing waits for you" } else { "there are none" });
    } else {
        for approval in approvals {
            tell(approval);
        }
        if approvals.iter().any(|approval| approval["state"] == "pending") {
            printer::say("decide with `octroi approve ID` or `octroi deny ID`");
        }
    }
    Ok(())
}

/// One approval in three lines: what, with which arguments, and why it is asked.
fn tell(approval: &Value) {
    let now_ms = now_ms();
    let ago = |name: &str| at(approval, name).map(|at_ms| span(now_ms - at_ms)).unwrap_or_default();
    let state = match text(approval, "state") {
        "pending" => {
            let left = at(approval, "expires_at").map(|at_ms| span(at_ms - now_ms)).unwrap_or_default();
            format!("asked {} ago, expires in {left}", ago("requested_at"))
        }
        state => match approval["decided_by"].as_str() {
            Some(by) => format!("{state} by {} {} ago", visible(by), ago("decided_at")),
            None => state.to_owned(),
        },
    };
    let risk = text(approval, "risk");
    let risk = match risk {
        "high" | "critical" => risk.red().to_string(),
        _ => risk.to_owned(),
    };
    let agent = approval["agent_id"].as_str().or(approval["principal"].as_str()).unwrap_or_default();
    let (id, tool) = (text(approval, "id"), visible(&tool_name(approval)));
    printer::data(&format!("{}  {}  {}  {risk}  {state}", id.bold(), visible(agent), tool.cyan()));
    printer::data(&format!("    {}", cut(&visible(&approval["args"].to_string()))));
    let reasons = texts(&approval["reasons"]);
    if !reasons.is_empty() {
        printer::data(&format!("    {}", visible(&reasons.join("; ")).dimmed()));
    }
}

async fn show(one: &OneApproval) -> Result<(), Failure> {
    let told = Client::find(&one.target)?.call("approvals_get", json!({"id": one.id})).await?;
    if one.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    for (name, value) in told.as_object().into_iter().flatten() {
        let value = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Array(items) if items.is_empty() => continue,
            // The same as `id`, for clients that know it under this name.
            _ if name == "call_id" => continue,
            Value::String(text) => text.clone(),
            Value::Array(_) => texts(value).join("; "),
            Value::Object(_) => format!("{value:#}"),
            other => other.to_string(),
        };
        let shown: Vec<String> = value.lines().map(visible).collect();
        printer::data(&format!("{:<16}  {}", name.replace('_', " "), shown.join("\n                  ")));
    }
    if told["state"] == "pending" {
        printer::say(&format!("decide with `octroi approve {0}` or `octroi deny {0}`", one.id));
    }
    Ok(())
}

pub(super) async fn approve(options: &Approve) -> Result<(), Failure> {
    let mut arguments = json!({});
    if let Some(text) = &options.args {
        let edited: Value = serde_json::from_str(text).map_err(|error| Failure {
            exit_code: USAGE,
            ..Failure::new("--args is not JSON").cause(error).hint("write it like '{\"path\":\"/tmp/x\"}'")
        })?;
        if !edited.is_object() {
            let failure =
                Failure::new("--args must be a JSON object").hint("write it like '{\"path\":\"/tmp/x\"}'");
            return Err(Failure { exit_code: USAGE, ..failure });
        }
        arguments["arguments"] = edited;
    }
    let told = decide(&options.remarks, "agents_approve_request", arguments).await?;
    if options.remarks.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let until = at(&told, "expires_at").map(|at_ms| span(at_ms - now_ms())).unwrap_or_default();
    let edited = if told["edited"] == true { " with your arguments" } else { "" };
    printer::data(&format!(
        "{} approved: {} may be called once{edited}, within {until}",
        options.remarks.id,
        visible(&tool_name(&told)),
    ));
    if let Some(warning) = told["warning"].as_str() {
        printer::warn(warning);
    }
    Ok(())
}

pub(super) async fn deny(options: &Deny) -> Result<(), Failure> {
    let mode = if options.abort { "abort" } else { "continue" };
    let told = decide(&options.remarks, "agents_deny_request", json!({ "mode": mode })).await?;
    if options.remarks.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let then = if options.abort { "the agent is told to stop" } else { "the agent goes on without it" };
    printer::data(&format!("{} denied; {then}", options.remarks.id));
    Ok(())
}

async fn decide(remarks: &Remarks, tool: &str, mut arguments: Value) -> Result<Value, Failure> {
    let client = Client::find(&remarks.target)?;
    arguments["call_id"] = json!(remarks.id);
    if let Some(reason) = &remarks.reason {
        arguments["reason"] = json!(reason);
    }
    if let Some(scope) = remarks.remember {
        arguments["remember"] = json!(scope.as_str());
        if let Some(until) = &remarks.until {
            arguments["until"] = json!(until);
        }
        confirm(&client, remarks, tool, &arguments).await?;
    }
    client.call(tool, arguments).await
}

/// Shows the rule before it is kept.
async fn confirm(client: &Client, remarks: &Remarks, tool: &str, arguments: &Value) -> Result<(), Failure> {
    let mut arguments = arguments.clone();
    // A look has no reason to give.
    if let Some(members) = arguments.as_object_mut() {
        members.remove("reason");
    }
    arguments["preview"] = json!(true);
    let told = client.call(tool, arguments).await?;
    printer::say("this rule will be added to the policy:\n");
    for line in text(&told, "rule").lines() {
        printer::say(&format!("    {}", visible(line)));
    }
    printer::say("");
    if remarks.yes {
        return Ok(());
    }
    match printer::confirm("remember it?") {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new("nothing was decided").hint("leave --remember out to decide once")),
        None => Err(Failure {
            exit_code: USAGE,
            ..Failure::new("nobody can be asked whether the rule is right").hint("add --yes if it is")
        }),
    }
}

/// `server.tool`, as it is written in rules.
fn tool_name(approval: &Value) -> String {
    let id = text(approval, "tool");
    id.strip_prefix("mcp:").map_or_else(|| id.to_owned(), |name| name.replacen(':', ".", 1))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(ARGUMENTS_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn at(value: &Value, name: &str) -> Option<i64> {
    value[name].as_str().and_then(parse_time)
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// A length of time, roughly.
fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rough() {
        for (milliseconds, expected) in [
            (-5, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (86_399_999, "23 h"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(span(milliseconds), expected);
        }
    }

    #[test]
    fn tools_are_named_as_in_rules() {
        for (id, expected) in [("mcp:fs:a:b", "fs.a:b"), ("builtin:now", "builtin:now"), ("", "")] {
            assert_eq!(tool_name(&json!({ "tool": id })), expected);
        }
    }
}

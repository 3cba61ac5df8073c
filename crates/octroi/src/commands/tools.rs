//! Commands about the tools of all servers.

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::Failure;
use crate::cli::tools::{OneTool, Refresh, Tools, ToolsCommand};
use crate::client::Client;
use crate::printer::{self, visible};

pub(super) async fn run(tools: &Tools) -> Result<(), Failure> {
    match &tools.command {
        None => list(tools).await,
        Some(ToolsCommand::Show(one)) => show(one).await,
    }
}

async fn list(options: &Tools) -> Result<(), Failure> {
    let sources = match options.sources.as_slice() {
        [] => json!(["mcp", "extension"]),
        sources => json!(sources),
    };
    let arguments = json!({
        "servers": options.servers,
        "source_types": sources,
        "risk_levels": options.risks,
        "side_effect_tags": options.effects,
    });
    let told = Client::find(&options.target)?.call("tools_list_catalog", arguments).await?;
    let tools = told["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    if options.target.json {
        printer::data(&json!(tools).to_string());
    } else if tools.is_empty() {
        printer::say("no such tools; `octroi status` says which servers run");
    } else {
        table(tools);
        printer::say("look closer with `octroi tools show TOOL`");
    }
    Ok(())
}

fn table(tools: &[Value]) {
    let name = |tool: &Value| visible(text(tool, "wire_name"));
    let width = tools.iter().map(|tool| name(tool).chars().count()).max().unwrap_or_default();
    for tool in tools {
        let line = format!("{:<width$}  {}  {}", name(tool), risk(tool, 8), effects(tool));
        match tool["hidden_because"].as_str() {
            Some(reason) => {
                printer::data(&format!("{line}  {}", format!("hidden: {}", visible(reason)).dimmed()))
            }
            None => printer::data(line.trim_end()),
        }
    }
}

async fn show(one: &OneTool) -> Result<(), Failure> {
    let told = Client::find(&one.target)?.call("tools_get", json!({ "tool_id": one.name })).await?;
    if one.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let yes_or_no = |name: &str| if told[name] == true { "yes" } else { "no" };
    let seen = match told["hidden_because"].as_str() {
        Some(reason) => format!("no: {}", visible(reason)),
        None => "yes".to_owned(),
    };
    let source = format!("{} {}", text(&told, "source_id"), text(&told, "source_version"));
    for (name, value) in [
        ("id", visible(text(&told, "tool_id"))),
        ("called", visible(text(&told, "wire_name"))),
        ("description", visible(text(&told, "description"))),
        ("source", visible(&format!("{}, {}", text(&told, "source_type"), source.trim_end()))),
        ("risk", risk(&told, 0)),
        ("side effects", effects(&told)),
        ("admin token", yes_or_no("requires_admin_token").to_owned()),
        ("trust", text(&told, "trust").to_owned()),
        ("timeout", format!("{} s", told["timeout_ms"].as_u64().unwrap_or_default() / 1_000)),
        ("seen by clients", seen),
        ("definition", text(&told, "definition_hash").to_owned()),
    ] {
        printer::data(format!("{name:<16} {value}").trim_end());
    }
    for (name, member) in [("arguments", "input_schema"), ("result", "output_schema")] {
        if !told[member].is_null() {
            printer::data(name);
            for line in format!("{:#}", told[member]).lines() {
                printer::data(&format!("    {}", visible(line)));
            }
        }
    }
    Ok(())
}

pub(super) async fn refresh(options: &Refresh) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    let told = match &options.server {
        Some(server) => client.call("servers_refresh", json!({ "name": server })).await?,
        None => client.call("servers_refresh", json!({})).await?,
    };
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    match &options.server {
        Some(server) => printer::data(&format!("{server} listed {} tools", told["tools"])),
        None if told["refreshed"] == 1 => printer::data("1 server gave its lists again"),
        None => printer::data(&format!("{} servers gave their lists again", told["refreshed"])),
    }
    for (server, reason) in told["failed"].as_object().into_iter().flatten() {
        printer::warn(&format!("{server}: {}", visible(reason.as_str().unwrap_or_default())));
    }
    Ok(())
}

fn risk(tool: &Value, width: usize) -> String {
    let risk = text(tool, "risk_level");
    let padded = format!("{risk:<width$}");
    if matches!(risk, "high" | "critical") { padded.red().to_string() } else { padded }
}

fn effects(tool: &Value) -> String {
    let tags = tool["side_effect_tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
    tags.map(visible).collect::<Vec<_>>().join(", ")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

//! Commands about the tools of all servers.

use octroi_api::operations::tools::{
    CatalogRequest, ToolDetail, ToolRequest, ToolSummary, ToolsGet, ToolsListCatalog,
};
use octroi_core::tool::{Risk, Source};
use owo_colors::OwoColorize as _;

use crate::cli::tools::{OneTool, Tools, ToolsCommand};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};

/// The sources that are listed by default: all but Octroi's own tools.
const USUAL_SOURCES: [Source; 2] = [Source::Mcp, Source::Extension];

pub(super) async fn run(tools: &Tools) -> Result<(), Failure> {
    match &tools.command {
        None => list(tools).await,
        Some(ToolsCommand::Show(one)) => show(one).await,
    }
}

async fn list(options: &Tools) -> Result<(), Failure> {
    let sources = if options.sources.is_empty() { &USUAL_SOURCES[..] } else { &options.sources };
    let request = CatalogRequest {
        servers: options.servers.clone(),
        source_types: sources.iter().copied().map(Into::into).collect(),
        risk_levels: options.risks.iter().copied().map(Into::into).collect(),
        side_effect_tags: options.effects.clone(),
    };
    let tools = Client::find(&options.target)?.call::<ToolsListCatalog>(&request).await?.tools;
    if options.target.json {
        printer::json(&tools);
    } else if tools.is_empty() {
        printer::say("no such tools; `octroi status` shows which servers are running");
    } else {
        for line in table(&tools) {
            printer::data(&line);
        }
        printer::say("look closer with `octroi tools show TOOL`");
    }
    Ok(())
}

async fn show(one: &OneTool) -> Result<(), Failure> {
    let request = ToolRequest { tool_id: one.name.clone() };
    let tool = Client::find(&one.target)?.call::<ToolsGet>(&request).await?;
    if one.target.json {
        printer::json(&tool);
    } else {
        for line in detail_lines(&tool) {
            printer::data(&line);
        }
    }
    Ok(())
}

fn table(tools: &[ToolSummary]) -> Vec<String> {
    let name = |tool: &ToolSummary| visible(&tool.wire_name);
    let width = tools.iter().map(|tool| name(tool).chars().count()).max().unwrap_or_default();
    let row = |tool: &ToolSummary| {
        let line = format!("{:<width$}  {}  {}", name(tool), risk(tool, 8), effects(tool));
        match &tool.hidden_because {
            Some(reason) => format!("{line}  {}", format!("hidden: {}", visible(reason)).dimmed()),
            None => line.trim_end().to_owned(),
        }
    };
    tools.iter().map(row).collect()
}

fn detail_lines(detail: &ToolDetail) -> Vec<String> {
    let tool = &detail.summary;
    let yes_or_no = |is_so: bool| if is_so { "yes" } else { "no" };
    let seen = match &tool.hidden_because {
        Some(reason) => format!("no: {}", visible(reason)),
        None => "yes".to_owned(),
    };
    let version = tool.source_version.as_deref().unwrap_or_default();
    let source = format!("{}, {} {version}", tool.source_type, tool.source_id);
    let rows = [
        ("id", visible(&tool.tool_id)),
        ("called", visible(&tool.wire_name)),
        ("description", visible(tool.description.as_deref().unwrap_or_default())),
        ("source", visible(source.trim_end())),
        ("risk", risk(tool, 0)),
        ("side effects", effects(tool)),
        ("admin token", yes_or_no(tool.requires_admin_token).to_owned()),
        ("trust", tool.trust.to_string()),
        ("timeout", format!("{} s", tool.timeout_ms / 1_000)),
        ("seen by clients", seen),
        ("definition", detail.definition_hash.clone()),
    ];
    let row = |(name, value): (&str, String)| format!("{name:<16} {value}").trim_end().to_owned();
    let mut lines: Vec<String> = rows.into_iter().map(row).collect();
    for (name, schema) in [("arguments", &detail.input_schema), ("result", &detail.output_schema)] {
        if !schema.is_null() {
            lines.push(name.to_owned());
            lines.extend(format!("{schema:#}").lines().map(|line| format!("    {}", visible(line))));
        }
    }
    lines
}

fn risk(tool: &ToolSummary, width: usize) -> String {
    let padded = format!("{:<width$}", tool.risk_level);
    match tool.risk_level.0 {
        Risk::High | Risk::Critical => padded.red().to_string(),
        Risk::Low | Risk::Medium => padded,
    }
}

fn effects(tool: &ToolSummary) -> String {
    tool.side_effect_tags.iter().map(|tag| visible(tag)).collect::<Vec<_>>().join(", ")
}

//! Commands about the tools of all servers.

use octroi_api::operations::tools::{
    CatalogRequest, ToolDetail, ToolRequest, ToolSummary, ToolsGet, ToolsListCatalog,
};
use octroi_core::tool::{Risk, Source};
use owo_colors::{OwoColorize as _, Style};

use crate::cli::tools::{OneTool, Tools, ToolsCommand};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

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
        risk_level_max: None,
        side_effect_tags: options.effects.clone(),
    };
    let tools = Client::find(&options.target)?.call::<ToolsListCatalog>(&request).await?.tools;
    if options.target.json {
        printer::json(&tools);
    } else if tools.is_empty() {
        printer::say("no such tools; `octroi status` shows which servers are running");
    } else {
        printer::table(&table(&tools));
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

fn table(tools: &[ToolSummary]) -> Table {
    let mut table = Table::new(&[
        Column::text("wire_name"),
        Column::text("risk_level"),
        Column::text("side_effect_tags"),
        Column::sentence("hidden_because"),
    ]);
    for tool in tools {
        table.row([
            Cell::new(&tool.wire_name),
            Cell::new(tool.risk_level.to_string()).styled(style_of(tool.risk_level.0)),
            tool.side_effect_tags.join(", ").into(),
            Cell::new(tool.hidden_because.as_deref().unwrap_or_default()).styled(Style::new().dimmed()),
        ]);
    }
    table
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
        ("risk", tool.risk_level.style(style_of(tool.risk_level.0)).to_string()),
        ("side effects", effects(tool)),
        ("admin token", yes_or_no(tool.requires_admin_token).to_owned()),
        ("trust", tool.trust.to_string()),
        ("timeout", timeout(tool.timeout_ms)),
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

fn style_of(risk: Risk) -> Style {
    match risk {
        Risk::High | Risk::Critical => Style::new().red(),
        Risk::Low | Risk::Medium => Style::new(),
    }
}

/// Timeouts are shown exactly, as they were written.
fn timeout(milliseconds: u64) -> String {
    match milliseconds % 1_000 {
        0 => format!("{} s", milliseconds / 1_000),
        _ => format!("{milliseconds} ms"),
    }
}

fn effects(tool: &ToolSummary) -> String {
    tool.side_effect_tags.iter().map(|tag| visible(tag)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_exact() {
        for (milliseconds, expected) in
            [(500, "500 ms"), (1_500, "1500 ms"), (30_000, "30 s"), (90_000, "90 s")]
        {
            assert_eq!(timeout(milliseconds), expected);
        }
    }
}

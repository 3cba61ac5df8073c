//! Tools about tools: what there is, how risky it is taken to be, and who sees it.

use octroi_core::pin::DefinitionHash;
use octroi_core::tool::{Risk, Source};
use octroi_gateway::{Gateway, RegisteredTool, ToolFilter};
use serde_json::{Value, json};

use super::servers::{Arguments, Tool, tool};

pub(super) const TOOLS: [Tool; 2] = [
    tool(
        "tools_list_catalog",
        "Every tool of every source as the gates see it: its risk, its side effects, and whether clients see it.",
        &[
            ("servers", "array", false, "Only of these servers"),
            ("source_types", "array", false, "Only of these sources: mcp, extension, builtin"),
            ("risk_levels", "array", false, "Only of these risks: low, medium, high, critical"),
            ("side_effect_tags", "array", false, "Only with one of these side effects, as `fs.write`"),
        ],
        true,
    ),
    tool(
        "tools_get",
        "One tool as the gates see it, with its schemas.",
        &[("tool_id", "string", true, "Its id, `server.tool`, or the name that clients call it by")],
        true,
    ),
];

pub(super) fn run(gateway: &Gateway, tool: &str, arguments: &Arguments) -> Result<Value, String> {
    match tool {
        "tools_list_catalog" => Ok(list(gateway, &filter(arguments)?)),
        "tools_get" => {
            let name = arguments.text("tool_id").unwrap_or_default();
            let found =
                gateway.tool(name).map_err(|reason| format!("{reason} (`octroi tools` lists all)"))?;
            Ok(whole(&found))
        }
        other => Err(format!("there is no tool `{other}`")),
    }
}

pub(super) fn list(gateway: &Gateway, filter: &ToolFilter) -> Value {
    let tools: Vec<Value> = gateway.tools(filter).iter().map(shown).collect();
    json!({ "count": tools.len(), "tools": tools })
}

fn filter(arguments: &Arguments) -> Result<ToolFilter, String> {
    Ok(ToolFilter {
        servers: texts(arguments, "servers"),
        sources: words(arguments, "source_types", Source::parse, "mcp, extension or builtin")?,
        risks: words(arguments, "risk_levels", Risk::parse, "low, medium, high or critical")?,
        side_effects: texts(arguments, "side_effect_tags"),
    })
}

fn texts(arguments: &Arguments, name: &str) -> Vec<String> {
    let items = arguments.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn words<T>(
    arguments: &Arguments,
    name: &str,
    parse: impl Fn(&str) -> Option<T>,
    expected: &str,
) -> Result<Vec<T>, String> {
    let word =
        |text: &String| parse(text).ok_or_else(|| format!("`{name}` must be {expected}, not `{text}`"));
    texts(arguments, name).iter().map(word).collect()
}

fn shown(tool: &RegisteredTool) -> Value {
    let descriptor = &tool.descriptor;
    json!({
        "tool_id": descriptor.id.as_str(),
        "name": descriptor.name,
        "wire_name": tool.wire_name,
        "description": definition(tool)["description"],
        "source_type": descriptor.source.as_str(),
        "source_id": descriptor.source_id,
        "source_version": descriptor.version,
        "risk_level": descriptor.risk.as_str(),
        "side_effect_tags": descriptor.side_effects.iter().collect::<Vec<_>>(),
        "requires_admin_token": descriptor.requires_admin,
        "trust": descriptor.trust.as_str(),
        "timeout_ms": descriptor.timeout.as_millis(),
        "enabled": descriptor.enabled,
        "visible": tool.hidden.is_none(),
        "hidden_because": tool.hidden,
    })
}

fn whole(tool: &RegisteredTool) -> Value {
    let definition = definition(tool);
    let mut told = shown(tool);
    told["definition_hash"] = json!(DefinitionHash::from_bytes(tool.descriptor.definition_hash).to_string());
    for (name, member) in
        [("input_schema", "inputSchema"), ("output_schema", "outputSchema"), ("annotations", "annotations")]
    {
        told[name] = definition[member].clone();
    }
    told
}

fn definition(tool: &RegisteredTool) -> Value {
    serde_json::from_slice(&tool.definition).unwrap_or_default()
}

//! Handlers of operations about tools: which there are, their risk, and whether agents see them.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use octroi_api::operations as api;
use octroi_api::operations::tools::{CatalogRequest, ToolCatalog, ToolDetail, ToolRequest, ToolSummary};
use octroi_api::{Face, OperationEntry};
use octroi_core::pin::{DefinitionHash, PinKind};
use octroi_core::tool::{Risk, SideEffects, Source, ToolDescriptor};
use octroi_core::trust::Trust;
use octroi_core::{CanonicalId, OWN_NAME};
use octroi_gateway::{RegisteredTool, ToolFilter};
use serde_json::Value;

use super::calls;
use super::context::OperationContext;
use super::servers;
use super::shape::count;
use crate::error::OperationError;

/// The command that lists tools.
pub(super) const TOOLS_HINT: &str = "`octroi tools` lists all";

/// The management tools of people, which are not in the gateway's registry.
static MANAGEMENT_TOOLS: LazyLock<Vec<RegisteredTool>> =
    LazyLock::new(|| api::all().filter(|entry| entry.has_face(Face::Management)).map(registered).collect());

pub(crate) async fn list(
    context: &OperationContext,
    request: CatalogRequest,
) -> Result<ToolCatalog, OperationError> {
    let (filter, risk_level_max) = filter_of(context, request)?;
    let mut tools = context.gateway.pools().tools(context.principal(), &filter);
    tools.extend(MANAGEMENT_TOOLS.iter().filter(|own| filter.matches(&own.descriptor)).cloned());
    tools.sort_by(|one, other| one.descriptor.id.as_str().cmp(other.descriptor.id.as_str()));
    Ok(catalog(&tools, risk_level_max))
}

/// The tools that an agent sees. Which those are is the answer to its `tools/list`.
pub(super) async fn list_own(
    context: &OperationContext,
    request: CatalogRequest,
) -> Result<ToolCatalog, OperationError> {
    let names = calls::own_names(context).await?;
    let (filter, risk_level_max) = filter_of(context, request)?;
    let mut tools = context.gateway.pools().tools(context.principal(), &filter);
    tools.retain(|tool| names.contains(&tool.wire_name));
    Ok(catalog(&tools, risk_level_max))
}

/// What is asked for, in the names of the caller's pool.
fn filter_of(
    context: &OperationContext,
    request: CatalogRequest,
) -> Result<(ToolFilter, Option<Risk>), OperationError> {
    let pools = context.gateway.pools();
    let mut named = Vec::new();
    for name in &request.servers {
        named.push(match pools.key_for(context.principal(), name) {
            Some(key) => key.to_string(),
            None if name == OWN_NAME => name.clone(),
            None => return Err(servers::unknown(&context.gateway, context.principal(), name)),
        });
    }
    let filter = ToolFilter {
        servers: named,
        sources: request.source_types.into_iter().map(|source| source.0).collect(),
        risks: request.risk_levels.into_iter().map(|risk| risk.0).collect(),
        side_effects: request.side_effect_tags,
    };
    Ok((filter, request.risk_level_max.map(|risk| risk.0)))
}

fn catalog(tools: &[RegisteredTool], risk_max: Option<Risk>) -> ToolCatalog {
    let is_low_enough = |tool: &&RegisteredTool| risk_max.is_none_or(|max| tool.descriptor.risk <= max);
    let tools: Vec<ToolSummary> =
        tools.iter().filter(is_low_enough).map(|tool| summary(tool, &definition(tool))).collect();
    ToolCatalog { count: count(tools.len()), tools }
}

pub(super) async fn get(
    context: &OperationContext,
    request: ToolRequest,
) -> Result<ToolDetail, OperationError> {
    let name = request.tool_id.as_str();
    let is_named = |own: &&RegisteredTool| own.descriptor.id.as_str() == name || own.wire_name == name;
    let found = match MANAGEMENT_TOOLS.iter().find(is_named) {
        Some(own) => own.clone(),
        None => context.gateway.pools().tool(context.principal(), name).map_err(|message| {
            let silent = context.gateway.servers().silent_server_of(context.principal(), name);
            let reason = silent.map(|silent| {
                format!(": server `{}` has no tools: {} ({})", silent.server, silent.reason, silent.hint)
            });
            let message = format!("{message}{}", reason.unwrap_or_default());
            OperationError::not_found_in(message, TOOLS_HINT)
        })?,
    };
    let definition = definition(&found);
    let member = |name: &str| definition.get(name).cloned().unwrap_or_default();
    Ok(ToolDetail {
        summary: summary(&found, &definition),
        definition_hash: DefinitionHash::from_bytes(found.descriptor.definition_hash).to_string(),
        input_schema: member("inputSchema"),
        output_schema: member("outputSchema"),
        annotations: member("annotations"),
    })
}

/// An operation for people as a registered tool.
fn registered(entry: &OperationEntry) -> RegisteredTool {
    let definition = Bytes::from(entry.tool_definition().to_string());
    let hash = DefinitionHash::of(PinKind::Tool, &definition).map(|hash| *hash.as_bytes());
    RegisteredTool {
        descriptor: ToolDescriptor {
            id: CanonicalId::builtin(entry.name),
            source: Source::Builtin,
            source_id: OWN_NAME.into(),
            name: entry.name.into(),
            risk: Risk::Low,
            side_effects: SideEffects::default(),
            requires_admin: false,
            enabled: true,
            off_because: None,
            trust: Trust::High,
            timeout: Duration::from_secs(30),
            version: None,
            definition_hash: hash.unwrap_or_default(),
        },
        wire_name: entry.name.to_owned(),
        definition,
        hidden: None,
    }
}

fn definition(tool: &RegisteredTool) -> Value {
    serde_json::from_slice(&tool.definition).unwrap_or_default()
}

fn summary(tool: &RegisteredTool, definition: &Value) -> ToolSummary {
    let descriptor = &tool.descriptor;
    ToolSummary {
        tool_id: descriptor.id.as_str().to_owned(),
        name: descriptor.name.to_string(),
        wire_name: tool.wire_name.clone(),
        description: definition.get("description").and_then(Value::as_str).map(str::to_owned),
        source_type: descriptor.source.into(),
        source_id: descriptor.source_id.to_string(),
        source_version: descriptor.version.as_deref().map(str::to_owned),
        risk_level: descriptor.risk.into(),
        side_effect_tags: descriptor.side_effects.iter().map(str::to_owned).collect(),
        requires_admin_token: descriptor.requires_admin,
        trust: descriptor.trust.into(),
        timeout_ms: u64::try_from(descriptor.timeout.as_millis()).unwrap_or(u64::MAX),
        enabled: descriptor.enabled,
        visible: tool.hidden.is_none(),
        hidden_because: tool.hidden.clone(),
    }
}

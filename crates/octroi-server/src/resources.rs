//! The contents of every resource of the table. A new resource does not compile until it is handled here.

mod approvals;
mod policies;

use octroi_api::ResourceUri;
use octroi_api::operations::NoArguments;
use octroi_api::operations::agents::AgentMounts;
use octroi_api::operations::audit::AuditRecords;
use octroi_api::operations::pins::ListPinsRequest;
use octroi_api::operations::sessions::ListSessionsRequest;
use octroi_api::operations::templates::ListTemplatesRequest;
use octroi_api::operations::tokens::ListTokensRequest;
use octroi_api::operations::tools::CatalogRequest;
use octroi_api::resource::ServersResource;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::OperationError;
use crate::operations::{self, OperationContext};

const RECENT_RECORDS: usize = 100;

/// One content of a resource. A resource has one, or one for each item under the item's own URI.
struct Block {
    uri: String,
    text: String,
}

/// Reads a resource; the result of `resources/read`. The caller has checked that the requester may.
pub(crate) async fn read(context: &OperationContext, uri: &ResourceUri) -> Result<Value, OperationError> {
    let blocks = match uri {
        ResourceUri::Servers => {
            let list = operations::list_servers(context, NoArguments {}).await?;
            one(uri, &ServersResource { servers: list.servers, problems: list.problems })?
        }
        ResourceUri::Server(key) => one(uri, &operations::server_status(context, key)?)?,
        ResourceUri::Sessions => {
            one(uri, &operations::list_sessions(context, ListSessionsRequest::default()).await?)?
        }
        ResourceUri::SessionMcpConfig(id) => one(uri, &operations::session_mcp_config(context, id)?)?,
        ResourceUri::AgentMounts(agent) => one(uri, &mounts(context, agent))?,
        ResourceUri::CompositorServers => one(uri, &mounts(context, own_agent(context)?))?,
        ResourceUri::CompositorState(server) => {
            let mounts = mounts(context, own_agent(context)?).mounts;
            let found = mounts.into_iter().find(|mount| mount.server == *server);
            one(uri, &found.ok_or_else(|| OperationError::UnknownResource(uri.to_string()))?)?
        }
        ResourceUri::Health => one(uri, &operations::health_by_server(context))?,
        ResourceUri::Templates => {
            one(uri, &operations::list_templates(context, ListTemplatesRequest::default()).await?)?
        }
        ResourceUri::Presets => one(uri, &operations::list_presets(context, NoArguments {}).await?)?,
        ResourceUri::Tools => one(uri, &operations::list_tools(context, CatalogRequest::default()).await?)?,
        ResourceUri::PendingApprovals => approvals::pending(context, None).await?,
        ResourceUri::AgentPendingApprovals(agent) => approvals::pending(context, Some(agent)).await?,
        ResourceUri::AgentPastApprovals(agent) => one(uri, &approvals::past(context, agent).await?)?,
        ResourceUri::AgentApproval { agent, id } => {
            one(uri, &approvals::approval(context, agent, id).await?)?
        }
        ResourceUri::HeldPins => {
            one(uri, &operations::list_pins(context, ListPinsRequest::default()).await?)?
        }
        ResourceUri::Agents => one(uri, &operations::all_agents(context).await?)?,
        ResourceUri::AgentInfo(agent) => one(uri, &operations::agent(context, agent).await?)?,
        ResourceUri::AgentState(agent) => one(uri, &operations::agent_status(context, agent).await?)?,
        ResourceUri::AgentSnapshot(agent) => one(uri, &operations::agent_snapshot(context, agent).await?)?,
        ResourceUri::AgentSession(agent) => one(uri, &operations::agent_session(context, agent))?,
        ResourceUri::Users => one(uri, &operations::list_users(context, NoArguments {}).await?)?,
        ResourceUri::Tokens => {
            one(uri, &operations::list_tokens(context, ListTokensRequest::default()).await?)?
        }
        ResourceUri::ActivePolicy | ResourceUri::ActivePolicyAlias => {
            text(uri, policies::active(context).await?)
        }
        ResourceUri::AgentPolicySource(agent) => text(uri, policies::source(context, agent).await?),
        ResourceUri::AgentPolicyState(agent) => one(uri, &policies::state(context, agent).await?)?,
        ResourceUri::AgentProposals(agent) => one(uri, &policies::proposals(context, agent).await?)?,
        ResourceUri::Proposal(id) => one(uri, &policies::proposal(context, *id).await?)?,
        ResourceUri::RecentCalls => one(uri, &operations::recent_calls(context).await?)?,
        ResourceUri::Gateway => one(uri, &operations::gateway_status(context, NoArguments {}).await?)?,
        ResourceUri::Clients => one(uri, &operations::list_clients(context, NoArguments {}).await?)?,
        ResourceUri::ServerLogs(key) => one(uri, &operations::newest_lines(context, key)?)?,
        ResourceUri::Attention => one(uri, &operations::list_attention(context, NoArguments {}).await?)?,
        ResourceUri::RecentAudit => {
            let records = context.gateway.audit().recent(RECENT_RECORDS).await?;
            one(uri, &AuditRecords { records: records.iter().map(operations::audit_record).collect() })?
        }
    };
    let mime_type = uri.entry().content.mime_type();
    let contents =
        blocks.iter().map(|Block { uri, text }| json!({"uri": uri, "mimeType": mime_type, "text": text}));
    Ok(json!({"contents": contents.collect::<Vec<_>>()}))
}

fn mounts(context: &OperationContext, agent: &str) -> AgentMounts {
    operations::agent_mounts(&context.gateway, agent, context.principal())
}

/// The agent that asks.
fn own_agent(context: &OperationContext) -> Result<&str, OperationError> {
    context.principal().agent_id().map(|agent| &**agent).ok_or(OperationError::PeopleOnly)
}

fn one(uri: &ResourceUri, content: &impl Serialize) -> Result<Vec<Block>, OperationError> {
    Ok(vec![block(uri, content)?])
}

fn text(uri: &ResourceUri, text: String) -> Vec<Block> {
    vec![Block { uri: uri.to_string(), text }]
}

fn block(uri: &ResourceUri, content: &impl Serialize) -> Result<Block, OperationError> {
    let text = serde_json::to_string(content)
        .map_err(|error| OperationError::Internal(format!("the resource cannot be serialized: {error}")))?;
    Ok(Block { uri: uri.to_string(), text })
}

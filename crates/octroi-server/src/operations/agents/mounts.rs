//! The servers of agents.

use std::sync::Arc;

use octroi_api::operations::agents::{
    AgentMcpConfigRequest, AgentMounts, AgentRequest, AttachServerRequest, DetachServerRequest, MountRecord,
};
use octroi_api::operations::servers::ServerStatus;
use octroi_core::principal::TokenName;
use octroi_core::{Lifecycle, Principal, ServerKey};
use octroi_gateway::{ErrorDetail, Gateway, OperatorError, PlannedChange, Sight};

use crate::error::OperationError;
use crate::operations::context::OperationContext;
use crate::operations::handler::Plan;

pub(crate) async fn get(
    context: &OperationContext,
    request: AgentRequest,
) -> Result<AgentMounts, OperationError> {
    Ok(mounts(&context.gateway, &request.agent_id, context.principal()))
}

pub(crate) async fn attach(context: &OperationContext, request: AttachServerRequest) -> Plan<AgentMounts> {
    let AttachServerRequest { agent_id, server, pinned } = request;
    let change = context.gateway.choices().attach(&agent_id, &server, pinned, context.principal()).await?;
    Ok(shown(context, agent_id, change))
}

pub(crate) async fn detach(context: &OperationContext, request: DetachServerRequest) -> Plan<AgentMounts> {
    let DetachServerRequest { agent_id, server } = request;
    let change = context.gateway.choices().detach(&agent_id, &server).await?;
    Ok(shown(context, agent_id, change))
}

pub(crate) async fn update(context: &OperationContext, request: AgentMcpConfigRequest) -> Plan<AgentMounts> {
    let AgentMcpConfigRequest { agent_id, servers } = request;
    let choices = context.gateway.choices();
    let change = choices.set_agent_servers(&agent_id, servers.as_deref(), context.principal()).await?;
    Ok(shown(context, agent_id, change))
}

fn shown(
    context: &OperationContext,
    agent: String,
    change: PlannedChange<(), OperatorError>,
) -> PlannedChange<AgentMounts, OperationError> {
    let (gateway, reader) = (Arc::clone(&context.gateway), context.principal().clone());
    change.map(move |made| {
        made?;
        Ok(mounts(&gateway, &agent, &reader))
    })
}

/// The servers that an agent has, with what is attached to it and switched off.
pub(crate) fn mounts(gateway: &Gateway, agent: &str, reader: &Principal) -> AgentMounts {
    let owner = gateway.identity().owner_of(agent);
    // Only whose it is matters here.
    let as_agent = Principal::agent(agent, &owner, TokenName::labelled(agent));
    let attached = gateway.choices().attached(agent);
    let is_pinned =
        |key: &ServerKey| attached.iter().flatten().any(|(one, is_pinned)| one == key && *is_pinned);
    let members = gateway.membership().members();
    let mounts = members.within_reach(&owner).into_iter().filter_map(|key| {
        let switched_off = match members.sight(&as_agent, &key) {
            Sight::Visible => None,
            Sight::Off(octroi_core::SwitchedOff::NotAttached { .. }) | Sight::Shadowed | Sight::Foreign => {
                return None;
            }
            Sight::Off(switch) => Some(switch.as_str().to_owned()),
        };
        let status = gateway.servers().server_status(&key, ErrorDetail::of(reader))?;
        let (state, error) = state(&status);
        Some(MountRecord {
            server: key.name.to_string(),
            prefix: format!("{}_", key.name),
            pinned: is_pinned(&key),
            state: state.to_owned(),
            error,
            switched_off: switched_off
                .or_else(|| (status.state.0 == Lifecycle::Disabled).then(|| "disabled".to_owned())),
            era: status.era,
            tools: status.tools,
        })
    });
    AgentMounts { agent_id: agent.to_owned(), is_list: attached.is_some(), mounts: mounts.collect() }
}

/// The state of a server in the words of a mount.
fn state(status: &ServerStatus) -> (&'static str, Option<String>) {
    match status.state.0 {
        Lifecycle::Running => ("running", None),
        Lifecycle::Failed | Lifecycle::NeedsAuth | Lifecycle::Disabled => ("failed", status.error.clone()),
        Lifecycle::Stopped | Lifecycle::Starting | Lifecycle::Stopping => {
            ("initializing", status.error.clone())
        }
    }
}

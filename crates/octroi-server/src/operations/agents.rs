//! Handlers of operations about agents: their settings, by which their calls are decided.

use octroi_api::operations::NoArguments;
use octroi_api::operations::agents::{Agent, AgentList, AgentRequest, FreezeSpecRequest, UpdateAgentRequest};
use octroi_core::time::show_time;
use octroi_gateway::{AgentChange, AgentState, SpecChange};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<AgentList, OperationError> {
    let mut agents = context.gateway.governance().agents().await?;
    agents.retain(|agent| context.may_see(Some(&agent.id)));
    Ok(AgentList { count: count(agents.len()), agents: agents.into_iter().map(describe).collect() })
}

pub(super) async fn get(context: &OperationContext, request: AgentRequest) -> Result<Agent, OperationError> {
    Ok(describe(context.gateway.governance().agent(&request.agent_id).await?))
}

pub(super) async fn update(context: &OperationContext, request: UpdateAgentRequest) -> Plan<Agent> {
    let spec = match (request.spec_hash, request.unfreeze) {
        (Some(_), true) => {
            let reason = "`spec_hash` freezes and `unfreeze` opens; give one of them";
            return Err(OperationError::InvalidArguments(reason.to_owned()));
        }
        (Some(hash), false) => Some(SpecChange::Freeze(hash)),
        (None, true) => Some(SpecChange::Unfreeze),
        (None, false) => None,
    };
    let change = AgentChange {
        profile: request.profile.map(|profile| profile.0),
        mode: request.mode.map(|mode| mode.0),
        project: request.project,
        project_root: request.project_root,
        spec,
        blacklist: request.blacklist,
    };
    if change == AgentChange::default() {
        let reason = "there is nothing to set; give profile, mode, project or another of its arguments";
        return Err(OperationError::InvalidArguments(reason.to_owned()));
    }
    set(context, &request.agent_id, change).await
}

pub(super) async fn freeze_spec(context: &OperationContext, request: FreezeSpecRequest) -> Plan<Agent> {
    let spec = Some(SpecChange::Freeze(request.spec_hash));
    set(context, &request.agent_id, AgentChange { spec, ..AgentChange::default() }).await
}

async fn set(context: &OperationContext, agent: &str, change: AgentChange) -> Plan<Agent> {
    let change = context.gateway.governance().change_agent(agent, change, context.principal()).await?;
    Ok(map_response(change, describe))
}

fn describe(agent: AgentState) -> Agent {
    let AgentState { id, context, is_configured, set } = agent;
    let (set_at, set_by) = set.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
    Agent {
        id,
        profile: context.profile.into(),
        mode: context.mode.into(),
        project: context.project.as_deref().map(str::to_owned),
        project_root: context.project_root.as_deref().map(str::to_owned),
        spec_hash: context.spec_hash.as_deref().map(str::to_owned),
        spec_frozen: context.is_spec_frozen,
        blacklist: context.blacklist.iter().map(ToString::to_string).collect(),
        configured: is_configured,
        set_at,
        set_by,
    }
}

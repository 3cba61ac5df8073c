//! Handlers of operations about agents: their settings, by which their calls are decided, and their life.

use octroi_api::operations::NoArguments;
use octroi_api::operations::agents::{
    AbortedWork, Agent, AgentList, AgentReasonRequest, AgentRequest, CreateAgentRequest, FreezeSpecRequest,
    UpdateAgentRequest,
};
use octroi_core::policy::Level;
use octroi_core::pool::Reach;
use octroi_core::preset::Preset;
use octroi_gateway::{AgentChange, AgentPreset, AgentState, NewAgent, PlannedChange, SpecChange};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

pub(super) mod mounts;
mod showing;

use showing::WaitingCalls;
pub(crate) use showing::{session, snapshot, status};

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<AgentList, OperationError> {
    let agents = all(context).await?;
    Ok(AgentList { count: count(agents.len()), agents })
}

/// All agents that the caller may see, by id.
pub(crate) async fn all(context: &OperationContext) -> Result<Vec<Agent>, OperationError> {
    let mut agents = context.gateway.governance().agents().await?;
    agents.retain(|agent| context.may_see(Some(&agent.id)));
    let waiting = WaitingCalls::of_all(&context.gateway).await?;
    Ok(agents.into_iter().map(|agent| waiting.describe(&context.gateway, agent)).collect())
}

/// One agent.
pub(crate) async fn one(context: &OperationContext, id: &str) -> Result<Agent, OperationError> {
    let agent = context.gateway.governance().agent(id).await?;
    Ok(WaitingCalls::of(&context.gateway, id).await?.describe(&context.gateway, agent))
}

pub(super) async fn get(context: &OperationContext, request: AgentRequest) -> Result<Agent, OperationError> {
    one(context, &request.agent_id).await
}

pub(super) async fn create(context: &OperationContext, request: CreateAgentRequest) -> Plan<Agent> {
    let CreateAgentRequest {
        agent_id,
        title,
        owner,
        profile,
        mode,
        project,
        project_root,
        blacklist,
        preset,
    } = request;
    only_admins_hand_over(context, owner.as_deref())?;
    let is_from_preset = preset.is_some();
    let preset = match preset {
        Some(name) => usable_preset(context, &name).await?,
        None => Preset::default(),
    };
    let settings = AgentChange {
        title,
        profile: profile.map(|profile| profile.0).or(preset.profile),
        mode: mode.map(|mode| mode.0).or(preset.mode),
        project: project.or(preset.project),
        project_root,
        blacklist,
        ..AgentChange::default()
    };
    let kept = AgentPreset { name: preset.name, system_prompt: preset.system_prompt };
    let kept = is_from_preset.then_some(kept);
    let new = NewAgent { id: agent_id, owner, settings, preset: kept, policy: preset.policy };
    let change = context.gateway.governance().create_agent(new, context.principal())?;
    Ok(described(context, change))
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
    only_admins_hand_over(context, request.owner.as_deref())?;
    let change = AgentChange {
        title: request.title,
        owner: request.owner,
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

pub(super) async fn stop(context: &OperationContext, request: AgentReasonRequest) -> Plan<Agent> {
    let AgentReasonRequest { agent_id, reason } = request;
    let governance = context.gateway.governance();
    let change = governance.pause_agent(&agent_id, reason, context.principal()).await?;
    Ok(described(context, change))
}

pub(super) async fn boot(context: &OperationContext, request: AgentRequest) -> Plan<Agent> {
    let governance = context.gateway.governance();
    let change = governance.resume_agent(&request.agent_id, context.principal()).await?;
    Ok(described(context, change))
}

pub(super) async fn abort(context: &OperationContext, request: AgentReasonRequest) -> Plan<AbortedWork> {
    let AgentReasonRequest { agent_id, reason } = request;
    let change = context.gateway.abort_agent(&agent_id, reason.as_deref(), context.principal()).await?;
    Ok(map_response(change, move |work| AbortedWork {
        agent_id,
        calls: count(work.n_calls),
        approvals: count(work.n_waiting),
        tasks: count(work.n_tasks),
    }))
}

pub(super) async fn delete(context: &OperationContext, request: AgentRequest) -> Plan<Agent> {
    let removed = one(context, &request.agent_id).await?;
    let change = context.gateway.remove_agent(&request.agent_id, context.principal()).await?;
    let gateway = context.gateway.clone();
    Ok(map_response(change, move |_| removed).then(async move { Ok(gateway.people_changed().await?) }))
}

/// A preset with a policy that can be used now.
async fn usable_preset(context: &OperationContext, name: &str) -> Result<Preset, OperationError> {
    let presets = context.gateway.offers().presets();
    let preset = presets
        .find(name)
        .map_err(|message| OperationError::not_found_in(message, "list them with `octroi presets`"))?
        .clone();
    if let Some(policy) = &preset.policy {
        let reach = Reach::of(context.principal());
        let complaints = context.gateway.governance().check_policy(Level::Agent, policy, reach).await;
        if let Some(first) = complaints.first() {
            let message = format!("the policy of preset `{name}` cannot be used: {first}");
            return Err(OperationError::InvalidArguments(message));
        }
    }
    Ok(preset)
}

fn only_admins_hand_over(context: &OperationContext, owner: Option<&str>) -> Result<(), OperationError> {
    let principal = context.principal();
    match owner {
        Some(owner) if !principal.is_admin() && **principal.user() != *owner => {
            Err(OperationError::AdminsOnly)
        }
        Some(_) | None => Ok(()),
    }
}

async fn set(context: &OperationContext, agent: &str, change: AgentChange) -> Plan<Agent> {
    let change = context.gateway.governance().change_agent(agent, change, context.principal()).await?;
    Ok(described(context, change))
}

fn described(
    context: &OperationContext,
    change: PlannedChange<AgentState, octroi_gateway::OperatorError>,
) -> PlannedChange<Agent, OperationError> {
    let gateway = context.gateway.clone();
    change.and_then(move |agent| async move {
        let waiting = WaitingCalls::of(&gateway, &agent.id).await?;
        Ok(waiting.describe(&gateway, agent))
    })
}

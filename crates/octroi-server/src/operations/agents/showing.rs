//! Agents as people and agents see them: settings, what they are doing, and everything at once.

use std::collections::HashMap;

use octroi_api::operations::agents::{
    Agent, AgentActivity, AgentCapabilities, AgentPause, AgentRunning, AgentServer, AgentSession,
    AgentSettings, AgentSnapshot, AgentStatus,
};
use octroi_api::operations::approvals::Approval;
use octroi_core::agent::{AgentContext, RunPhase, RunState, run_state};
use octroi_core::time::show_time;
use octroi_gateway::{AgentRun, AgentState, ApprovalFilter, ApprovalPart, Gateway};

use super::super::context::OperationContext;
use super::super::shape::count;
use super::super::{PENDING_MAX, describe_listed_approval, servers};
use crate::error::OperationError;

/// Where the loop of every agent runs: in its own program.
const BRIDGE: &str = "bridge";
/// The version of what a session shows.
const SESSION_VERSION: u32 = 1;

/// The calls of agents that wait for approval: how many, and since when.
#[derive(Debug, Default)]
pub(super) struct WaitingCalls {
    by_agent: HashMap<String, (u64, i64)>,
}

/// What an agent is doing, in the words of the table.
struct Doing {
    state: RunState,
    phase: RunPhase,
    run: AgentRun,
    n_waiting: u64,
    /// Since when.
    since_ms: Option<i64>,
}

impl WaitingCalls {
    /// Of all agents.
    pub(super) async fn of_all(gateway: &Gateway) -> Result<Self, OperationError> {
        Self::find(gateway, None).await
    }

    /// Of one agent.
    pub(super) async fn of(gateway: &Gateway, agent: &str) -> Result<Self, OperationError> {
        Self::find(gateway, Some(agent.to_owned())).await
    }

    async fn find(gateway: &Gateway, agent: Option<String>) -> Result<Self, OperationError> {
        let filter = ApprovalFilter { part: ApprovalPart::Pending, agent };
        let mut waiting = Self::default();
        for approval in gateway.approvals().list(&filter, PENDING_MAX).await? {
            let Some(agent) = approval.binding.agent else { continue };
            let (n_waiting, since_ms) = waiting.by_agent.entry(agent).or_insert((0, i64::MAX));
            *n_waiting += 1;
            *since_ms = (*since_ms).min(approval.requested_at_ms);
        }
        Ok(waiting)
    }

    fn doing(&self, gateway: &Gateway, agent: &AgentState) -> Doing {
        let run = gateway.governance().agent_run(&agent.id);
        let (n_waiting, asked_at_ms) = self.by_agent.get(&agent.id).copied().unwrap_or_default();
        let (state, phase) = run_state(run.n_running, n_waiting, agent.paused.is_some());
        let since_ms = match (&agent.paused, phase) {
            (Some(paused), _) => Some(paused.at_ms),
            (None, RunPhase::WaitingApproval) => Some(asked_at_ms),
            (None, RunPhase::WaitingTool | RunPhase::Idle) => run.since_ms,
        };
        Doing { state, phase, run, n_waiting, since_ms }
    }

    /// An agent with what it is doing.
    pub(super) fn describe(&self, gateway: &Gateway, agent: AgentState) -> Agent {
        let doing = self.doing(gateway, &agent);
        let AgentState { id, context, is_configured, title, owner, created, paused, preset, set } = agent;
        let (set_at, set_by) = set.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
        let (created_at, created_by) = created.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
        Agent {
            name: title.clone().unwrap_or_else(|| id.clone()),
            title,
            owner: owner.to_string(),
            settings: settings(&context),
            activity: AgentActivity {
                agent_mode: BRIDGE.to_owned(),
                live: is_live(gateway, &id, doing.run),
                state: doing.state.into(),
                run_phase: doing.phase.into(),
                active_run_id: run_id(&id, doing.run),
                pending_approvals: doing.n_waiting,
                capabilities: AgentCapabilities::default(),
            },
            preset: preset.as_ref().map(|preset| preset.name.clone()),
            system_prompt: preset.and_then(|preset| preset.system_prompt),
            configured: is_configured,
            created_at,
            created_by,
            paused: paused.map(pause),
            set_at,
            set_by,
            id,
        }
    }
}

/// The state of an agent.
pub(crate) async fn status(context: &OperationContext, id: &str) -> Result<AgentStatus, OperationError> {
    let agent = context.gateway.governance().agent(id).await?;
    let doing = WaitingCalls::of(&context.gateway, id).await?.doing(&context.gateway, &agent);
    Ok(AgentStatus {
        agent_id: agent.id,
        state: doing.state.into(),
        phase: doing.phase.into(),
        timestamp: doing.since_ms.map(show_time),
        paused: agent.paused.map(pause),
    })
}

/// The session of an agent.
pub(crate) fn session(context: &OperationContext, id: &str) -> AgentSession {
    let gateway = &context.gateway;
    let run = gateway.governance().agent_run(id);
    let status = if is_live(gateway, id, run) { "connected" } else { "disconnected" };
    AgentSession {
        session_id: id.to_owned(),
        version: SESSION_VERSION,
        status: status.to_owned(),
        clients: count(gateway.n_clients_of(id)),
        active_run_id: run_id(id, run),
        run_counter: run.n_runs,
        run: run_id(id, run).map(|run_id| AgentRunning {
            run_id,
            status: RunState::Running.as_str().to_owned(),
            started_at: run.since_ms.map(show_time),
        }),
    }
}

/// Everything about an agent.
pub(crate) async fn snapshot(context: &OperationContext, id: &str) -> Result<AgentSnapshot, OperationError> {
    let gateway = &context.gateway;
    let filter = ApprovalFilter { part: ApprovalPart::Pending, agent: Some(id.to_owned()) };
    let pending = gateway.approvals().list(&filter, PENDING_MAX).await?;
    let pending: Vec<Approval> =
        pending.iter().map(|approval| describe_listed_approval(gateway.approvals(), approval)).collect();
    Ok(AgentSnapshot {
        agent: super::one(context, id).await?,
        state: status(context, id).await?,
        session: session(context, id),
        pending_approvals: pending,
        mcp: servers::all(context)
            .into_iter()
            .map(|one| AgentServer { name: one.name, state: one.state, health: one.health })
            .collect(),
    })
}

fn settings(context: &AgentContext) -> AgentSettings {
    AgentSettings {
        profile: context.profile.into(),
        mode: context.mode.into(),
        project: context.project.as_deref().map(str::to_owned),
        project_root: context.project_root.as_deref().map(str::to_owned),
        spec_hash: context.spec_hash.as_deref().map(str::to_owned),
        spec_frozen: context.is_spec_frozen,
        blacklist: context.blacklist.iter().map(ToString::to_string).collect(),
    }
}

fn pause(paused: octroi_gateway::Pause) -> AgentPause {
    AgentPause { at: show_time(paused.at_ms), by: paused.by, reason: paused.reason }
}

fn is_live(gateway: &Gateway, agent: &str, run: AgentRun) -> bool {
    run.n_running > 0 || gateway.n_clients_of(agent) > 0
}

fn run_id(agent: &str, run: AgentRun) -> Option<String> {
    (run.n_running > 0).then(|| format!("{agent}-{}", run.n_runs))
}

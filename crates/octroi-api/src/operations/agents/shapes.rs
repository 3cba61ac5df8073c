//! What is shown of agents.

use octroi_core::agent::{Mode, Profile, RunPhase, RunState};
use octroi_core::{Health, Lifecycle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operations::approvals::Approval;
use crate::wire::Wire;

/// An agent, its settings and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its id
    pub id: String,
    /// Its title, or else its id
    pub name: String,
    /// Its title for people
    pub title: Option<String>,
    /// The user it belongs to
    pub owner: String,
    /// What decides about its calls
    #[serde(flatten)]
    pub settings: AgentSettings,
    /// What it is doing
    #[serde(flatten)]
    pub activity: AgentActivity,
    /// The preset that it was created from
    pub preset: Option<String>,
    /// What its model is told first
    pub system_prompt: Option<String>,
    /// Whether it is in the configuration
    pub configured: bool,
    /// When it was created, if somebody created it
    pub created_at: Option<String>,
    /// Who created it
    pub created_by: Option<String>,
    /// Who paused it, if it is paused
    pub paused: Option<AgentPause>,
    /// When its settings were last changed, apart from the configuration
    pub set_at: Option<String>,
    /// Who changed them
    pub set_by: Option<String>,
}

/// What decides about an agent's calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSettings {
    /// How strict the gates are with it
    pub profile: Wire<Profile>,
    /// Whether it may act or only read
    pub mode: Wire<Mode>,
    /// The project it works on
    pub project: Option<String>,
    /// The directory of the project
    pub project_root: Option<String>,
    /// The hash of its specification
    pub spec_hash: Option<String>,
    /// Whether the specification is frozen
    pub spec_frozen: bool,
    /// Side effects that it must not have
    pub blacklist: Vec<String>,
}

/// What an agent is doing, as far as Octroi sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentActivity {
    /// Where its loop runs: `bridge` is elsewhere, in its own program
    pub agent_mode: String,
    /// Whether a client of it listens or has a call under way
    pub live: bool,
    /// running: a call is under way; suspended: it waits for a person or is paused
    pub state: Wire<RunState>,
    /// What it waits for
    pub run_phase: Wire<RunPhase>,
    /// What it does now, if it does something
    pub active_run_id: Option<String>,
    /// The number of its calls that wait for approval
    pub pending_approvals: u64,
    /// What Octroi can do with it
    pub capabilities: AgentCapabilities,
}

/// What Octroi can do with an agent. One whose loop runs elsewhere has neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCapabilities {
    /// Whether people can write to it here
    pub chat: bool,
    /// Whether its loop runs here
    pub agent_loop: bool,
}

/// Why an agent is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPause {
    /// Since when
    pub at: String,
    /// Who paused it
    pub by: String,
    /// Why
    pub reason: Option<String>,
}

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    /// The agent
    pub agent_id: String,
    /// running: a call is under way; suspended: it waits for a person or is paused
    pub state: Wire<RunState>,
    /// What it waits for
    pub phase: Wire<RunPhase>,
    /// Since when; nothing if it has done nothing since Octroi started
    pub timestamp: Option<String>,
    /// Who paused it, if it is paused
    pub paused: Option<AgentPause>,
}

/// The session of an agent. One whose loop runs elsewhere has one, which begins with Octroi.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSession {
    /// Its id: the agent's
    pub session_id: String,
    /// The version of this format
    pub version: u32,
    /// connected: a client of it listens or has a call under way
    pub status: String,
    /// The number of its clients that listen
    pub clients: u64,
    /// What it does now, if it does something
    pub active_run_id: Option<String>,
    /// How often it began to do something since Octroi started
    pub run_counter: u64,
    /// What it does now, if it does something
    pub run: Option<AgentRunning>,
}

/// A time in which an agent has calls under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRunning {
    /// Its id
    pub run_id: String,
    /// running, or else it is not shown
    pub status: String,
    /// When it began
    pub started_at: Option<String>,
}

/// A server of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentServer {
    /// Its name, which its tools begin with
    pub name: String,
    /// Its state
    pub state: Wire<Lifecycle>,
    /// Its health
    pub health: Wire<Health>,
}

/// Everything about an agent at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSnapshot {
    /// The agent
    pub agent: Agent,
    /// Its state
    pub state: AgentStatus,
    /// Its session and what it does now
    pub session: AgentSession,
    /// Its calls that wait for approval
    pub pending_approvals: Vec<Approval>,
    /// Its servers, by name
    pub mcp: Vec<AgentServer>,
}

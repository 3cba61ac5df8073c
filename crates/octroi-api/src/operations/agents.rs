//! Operations on agents: creating and removing them, what decides about their calls, and pausing them.

mod lifecycle;
mod mounts;
mod shapes;

use octroi_core::agent::{Mode, Profile};
use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

pub use lifecycle::{
    AbortedWork, AgentReasonRequest, AgentsAbort, AgentsBoot, AgentsCreate, AgentsDelete, AgentsStop,
    CreateAgentRequest,
};
pub use mounts::{
    AgentMcpConfigRequest, AgentMounts, AgentsAttachServer, AgentsDetachServer, AgentsGetMcpConfig,
    AgentsUpdateMcpConfig, AttachServerRequest, DetachServerRequest, MountRecord,
};
pub use shapes::{
    Agent, AgentActivity, AgentCapabilities, AgentPause, AgentRunning, AgentServer, AgentSession,
    AgentSettings, AgentSnapshot, AgentStatus,
};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AgentsList>(),
    OperationEntry::of::<AgentsGet>(),
    OperationEntry::of::<AgentsCreate>(),
    OperationEntry::of::<AgentsUpdate>(),
    OperationEntry::of::<SpecsFreeze>(),
    OperationEntry::of::<AgentsStop>(),
    OperationEntry::of::<AgentsBoot>(),
    OperationEntry::of::<AgentsAbort>(),
    OperationEntry::of::<AgentsDelete>(),
    OperationEntry::of::<AgentsGetMcpConfig>(),
    OperationEntry::of::<AgentsAttachServer>(),
    OperationEntry::of::<AgentsDetachServer>(),
    OperationEntry::of::<AgentsUpdateMcpConfig>(),
];

/// Lists all agents.
pub struct AgentsList;

/// All agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// The agents, by id
    pub agents: Vec<Agent>,
    /// The number of agents
    pub count: u64,
}

impl Operation for AgentsList {
    type Request = NoArguments;
    type Response = AgentList;

    const NAME: &'static str = "agents_list";
    const TITLE: &'static str = "List agents";
    const DESCRIPTION: &'static str = "All agents and their settings.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows one agent.
pub struct AgentsGet;

/// One agent, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentRequest {
    /// The agent
    pub agent_id: String,
}

impl Operation for AgentsGet {
    type Request = AgentRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_get";
    const TITLE: &'static str = "Show an agent";
    const DESCRIPTION: &'static str = "One agent and its settings.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &AgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Changes settings of an agent.
pub struct AgentsUpdate;

/// Settings of an agent to change. Omitted ones stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAgentRequest {
    /// The agent
    pub agent_id: String,
    /// Its title for people; empty removes it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The user it belongs to from now on; only administrators hand agents over
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How strict the gates are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Wire<Profile>>,
    /// planning: it may only read; execution: it may act
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Wire<Mode>>,
    /// The project it works on; empty restores the configured one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The directory of the project; empty restores the configured one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_root: Option<String>,
    /// Freeze its specification with this hash
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// Unfreeze its specification
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfreeze: bool,
    /// Side effects that it must not have
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blacklist: Option<Vec<String>>,
}

impl Operation for AgentsUpdate {
    type Request = UpdateAgentRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_update";
    const TITLE: &'static str = "Change an agent's settings";
    const DESCRIPTION: &'static str = "Change settings of an agent. They take effect with its next call; omitted settings stay unchanged. What the \
         agent's entry in the configuration writes is changed there.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::ManagedByFile,
        ErrorCode::AdminsOnly,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(request: &UpdateAgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Freezes an agent's specification.
pub struct SpecsFreeze;

/// The agent, and the hash of its specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreezeSpecRequest {
    /// The agent
    pub agent_id: String,
    /// The hash of the specification
    pub spec_hash: String,
}

impl Operation for SpecsFreeze {
    type Request = FreezeSpecRequest;
    type Response = Agent;

    const NAME: &'static str = "specs_freeze";
    const TITLE: &'static str = "Freeze an agent's specification";
    const DESCRIPTION: &'static str =
        "Freeze an agent's specification by its hash, so that it may act on it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(request: &FreezeSpecRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

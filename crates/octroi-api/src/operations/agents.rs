//! Operations about agents: what is set about them, which their calls are decided by.

use octroi_core::audit::Kind;
use octroi_core::decision::{Mode, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AgentsList>(),
    OperationEntry::of::<AgentsGet>(),
    OperationEntry::of::<AgentsUpdate>(),
    OperationEntry::of::<SpecsFreeze>(),
];

/// An agent and what is set about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its id
    pub id: String,
    /// How strict the gates are with it
    pub profile: Wire<Profile>,
    /// Whether it may act or only look
    pub mode: Wire<Mode>,
    /// What it works on
    pub project: Option<String>,
    /// The directory of that
    pub project_root: Option<String>,
    /// The hash of its specification
    pub spec_hash: Option<String>,
    /// Whether the specification is frozen
    pub spec_frozen: bool,
    /// Side effects that it must not have
    pub blacklist: Vec<String>,
    /// Whether the configuration names it
    pub configured: bool,
    /// When something was last set about it, besides the configuration
    pub set_at: Option<String>,
    /// By whom
    pub set_by: Option<String>,
}

/// Lists every agent.
pub struct AgentsList;

/// Every agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// The agents, by id
    pub agents: Vec<Agent>,
    /// How many there are
    pub count: u64,
}

impl Operation for AgentsList {
    type Request = NoArguments;
    type Response = AgentList;

    const NAME: &'static str = "agents_list";
    const TITLE: &'static str = "List agents";
    const DESCRIPTION: &'static str = "Every agent and what is set about it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Looks at one agent.
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
    const DESCRIPTION: &'static str = "One agent and what is set about it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &AgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Sets something about an agent.
pub struct AgentsUpdate;

/// What to set about an agent. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAgentRequest {
    /// The agent
    pub agent_id: String,
    /// How strict the gates are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Wire<Profile>>,
    /// planning: it may look, not touch; execution: it acts
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Wire<Mode>>,
    /// What it works on; empty leaves it to the configuration
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The directory of that; empty leaves it to the configuration
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_root: Option<String>,
    /// Freeze its specification with this hash
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// Open its specification again
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
    const TITLE: &'static str = "Set something about an agent";
    const DESCRIPTION: &'static str =
        "Set something about an agent. It takes effect with its next call; what is left out stays as it is.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AdministrativeChange };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &UpdateAgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Freezes an agent's specification.
pub struct SpecsFreeze;

/// Which agent, and the hash of its specification.
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
    const DESCRIPTION: &'static str = "Settle what an agent is to build, so that it may act on it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AdministrativeChange };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &FreezeSpecRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

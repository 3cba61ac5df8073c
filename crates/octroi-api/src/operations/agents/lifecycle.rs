//! The life of an agent: created, paused, resumed, aborted, removed.

use octroi_core::agent::{Mode, Profile};
use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Agent, AgentRequest};
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};
use crate::wire::Wire;

/// Creates an agent.
pub struct AgentsCreate;

/// The new agent. What is omitted has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgentRequest {
    /// Its id: letters, digits, `.`, `_` and `-`
    pub agent_id: String,
    /// Its title for people
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The user it belongs to, if not the caller; only administrators name another
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// How strict the gates are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Wire<Profile>>,
    /// planning: it may only read; execution: it may act
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Wire<Mode>>,
    /// The project it works on
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The directory of the project
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_root: Option<String>,
    /// Side effects that it must not have
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blacklist: Option<Vec<String>>,
    /// The preset to create it from; what is given here comes before it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
}

impl Operation for AgentsCreate {
    type Request = CreateAgentRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_create";
    const TITLE: &'static str = "Create an agent";
    const DESCRIPTION: &'static str =
        "Create an agent. It belongs to whoever creates it; `tokens_create` makes the token for its client.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::Conflict,
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::AdminsOnly,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &CreateAgentRequest) -> ObjectRef<'_> {
        ObjectRef::NewAgent(&request.agent_id)
    }
}

/// Removes an agent.
pub struct AgentsDelete;

impl Operation for AgentsDelete {
    type Request = AgentRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_delete";
    const TITLE: &'static str = "Remove an agent";
    const DESCRIPTION: &'static str = "Remove an agent with its settings: its tokens are revoked, what it has under way \
         is aborted, its policies are retired. Its id stays reserved for its owner, who can still read what is recorded \
         of it. An agent of the configuration is removed there.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];
    const DESTRUCTIVE: bool = true;

    fn object(request: &AgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Pauses an agent.
pub struct AgentsStop;

/// An agent, and why something is done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentReasonRequest {
    /// The agent
    pub agent_id: String,
    /// Why, for the agent and for the records
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Operation for AgentsStop {
    type Request = AgentReasonRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_stop";
    const TITLE: &'static str = "Pause an agent";
    const DESCRIPTION: &'static str = "Pause an agent: its calls are refused, and what was approved is not made, until \
         `agents_boot` resumes it. Calls that are under way go on; `agents_abort` cancels them.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &AgentReasonRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Resumes an agent.
pub struct AgentsBoot;

impl Operation for AgentsBoot {
    type Request = AgentRequest;
    type Response = Agent;

    const NAME: &'static str = "agents_boot";
    const TITLE: &'static str = "Resume an agent";
    const DESCRIPTION: &'static str = "Resume an agent that was paused. One that was not stays as it is.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &AgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Aborts what an agent does.
pub struct AgentsAbort;

/// What was aborted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbortedWork {
    /// The agent
    pub agent_id: String,
    /// The number of calls that were being made
    pub calls: u64,
    /// The number of calls that waited for approval, or were approved and not made yet
    pub approvals: u64,
    /// The number of calls that had become tasks
    pub tasks: u64,
}

impl Operation for AgentsAbort {
    type Request = AgentReasonRequest;
    type Response = AbortedWork;

    const NAME: &'static str = "agents_abort";
    const TITLE: &'static str = "Abort what an agent does";
    const DESCRIPTION: &'static str = "Cancel what an agent has under way: calls at their servers, calls that wait for \
         approval, and tasks. The agent can make new calls; `agents_stop` prevents that.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AgentChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &AgentReasonRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

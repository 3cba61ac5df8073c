//! Operations on the servers of an agent.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AgentRequest;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};

const CHANGES: Effect = Effect::Changes { audit: Kind::AdministrativeChange };

/// The servers of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMounts {
    /// The agent
    pub agent_id: String,
    /// Whether it has only what is attached to it; otherwise it has all servers of its owner
    pub is_list: bool,
    /// Its servers
    pub mounts: Vec<MountRecord>,
}

/// A server as an agent has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountRecord {
    /// The server
    pub server: String,
    /// What the names of its tools begin with
    pub prefix: String,
    /// Whether it cannot be detached
    pub pinned: bool,
    /// initializing, running or failed
    pub state: String,
    /// Why it failed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The switch that keeps it off for the agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched_off: Option<String>,
    /// The protocol era, once known: legacy or modern
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The number of its tools
    pub tools: u64,
}

/// Shows the servers of an agent.
pub struct AgentsGetMcpConfig;

impl Operation for AgentsGetMcpConfig {
    type Request = AgentRequest;
    type Response = AgentMounts;

    const NAME: &'static str = "agents_get_mcp_config";
    const TITLE: &'static str = "Show the servers of an agent";
    const DESCRIPTION: &'static str = "The servers that an agent has, and their state.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(request: &AgentRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Attaches a server to an agent.
pub struct AgentsAttachServer;

/// A server to attach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachServerRequest {
    /// The agent
    pub agent_id: String,
    /// The server, by name or id
    pub server: String,
    /// Whether it cannot be detached [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

impl Operation for AgentsAttachServer {
    type Request = AttachServerRequest;
    type Response = AgentMounts;

    const NAME: &'static str = "agents_attach_server";
    const TITLE: &'static str = "Attach a server to an agent";
    const DESCRIPTION: &'static str = "Attach a server to an agent. With the first one, the agent has only what is attached \
        to it; before, it has all servers of its owner.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &AttachServerRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Detaches a server from an agent.
pub struct AgentsDetachServer;

/// A server to detach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetachServerRequest {
    /// The agent
    pub agent_id: String,
    /// The server, by name or id
    pub server: String,
}

impl Operation for AgentsDetachServer {
    type Request = DetachServerRequest;
    type Response = AgentMounts;

    const NAME: &'static str = "agents_detach_server";
    const TITLE: &'static str = "Detach a server from an agent";
    const DESCRIPTION: &'static str = "Detach a server from an agent. A pinned one stays.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];

    fn object(request: &DetachServerRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

/// Sets the servers of an agent.
pub struct AgentsUpdateMcpConfig;

/// The servers that an agent has from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentMcpConfigRequest {
    /// The agent
    pub agent_id: String,
    /// The servers, by name or id; none: all that its owner has
    pub servers: Option<Vec<String>>,
}

impl Operation for AgentsUpdateMcpConfig {
    type Request = AgentMcpConfigRequest;
    type Response = AgentMounts;

    const NAME: &'static str = "agents_update_mcp_config";
    const TITLE: &'static str = "Set the servers of an agent";
    const DESCRIPTION: &'static str =
        "Replace the servers of an agent, or give it all that its owner has. Pinned ones stay.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = CHANGES;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &AgentMcpConfigRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent_id)
    }
}

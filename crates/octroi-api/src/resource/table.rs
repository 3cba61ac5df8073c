//! Every resource, defined once. No other module of the workspace contains one of these URIs.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::change::Topic;
use super::{Content, ResourceEntry, ResourceKind};
use crate::access::Access;
use crate::operations::activity::CallPage;
use crate::operations::agents::{Agent, AgentMounts, AgentSession, AgentSnapshot, AgentStatus, MountRecord};
use crate::operations::approvals::Approval;
use crate::operations::attention::Attention;
use crate::operations::audit::AuditRecords;
use crate::operations::clients::ClientList;
use crate::operations::gateway::GatewayStatus;
use crate::operations::health::HealthByServer;
use crate::operations::pins::HeldPins;
use crate::operations::policies::{PolicyState, PolicyVersion};
use crate::operations::presets::PresetList;
use crate::operations::proposals::ProposalList;
use crate::operations::servers::{LogLines, ServerStatus};
use crate::operations::sessions::{SessionList, SessionMcpConfig};
use crate::operations::templates::TemplateList;
use crate::operations::tokens::TokenList;
use crate::operations::tools::ToolCatalog;
use crate::operations::users::UserList;

/// The list of servers as a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServersResource {
    /// All servers, by name
    pub servers: Vec<ServerStatus>,
    /// Problems of the configuration
    pub problems: Vec<String>,
}

/// The past approvals of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastApprovals {
    /// The agent
    pub agent_id: String,
    /// Those that are decided or over, newest first
    pub timeline: Vec<Approval>,
    /// Those that wait for a decision, newest first
    pub pending: Vec<Approval>,
    /// The number of those that are decided or over
    pub count: u64,
}

const fn json<T: JsonSchema>() -> Content {
    Content::Json(SchemaGenerator::subschema_for::<T>)
}

const fn of_people(
    kind: ResourceKind,
    uri: &'static str,
    names: (&'static str, &'static str),
    description: &'static str,
    content: Content,
    changed_by: &'static [Topic],
) -> ResourceEntry {
    let (name, title) = names;
    ResourceEntry { kind, uri, name, title, description, content, access: Access::People, changed_by }
}

impl ResourceEntry {
    /// Lets administrators read it only.
    const fn of_admins(mut self) -> Self {
        self.access = Access::Admins;
        self
    }

    /// Lets agents read their own, and nobody else.
    const fn of_own_agent(mut self) -> Self {
        self.access = Access::OwnAgent;
        self
    }

    /// Lets agents read their own.
    const fn or_own_agent(mut self) -> Self {
        self.access = Access::PeopleAndOwnAgent;
        self
    }
}

/// All resources. If two match a URI, the one that is not a template comes first.
pub static RESOURCES: [ResourceEntry; 35] = [
    of_people(
        ResourceKind::Servers,
        "resource://servers/list",
        ("servers", "Servers"),
        "All servers and their status",
        json::<ServersResource>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Server,
        "resource://servers/{id}",
        ("server", "Server"),
        "One server and its status",
        json::<ServerStatus>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Sessions,
        "resource://sessions/list",
        ("sessions", "Sessions"),
        "The open sessions that the reader may see",
        json::<SessionList>(),
        &[Topic::Sessions],
    ),
    of_people(
        ResourceKind::SessionMcpConfig,
        "resource://sessions/{id}/mcp-config",
        ("session-mcp-config", "Servers of a session"),
        "The servers that are used in a session, and those that could be",
        json::<SessionMcpConfig>(),
        &[Topic::Sessions],
    ),
    of_people(
        ResourceKind::CompositorServers,
        "resource://compositor_meta/servers",
        ("compositor-servers", "Servers of this agent"),
        "The servers that the agent has, and their state",
        json::<AgentMounts>(),
        &[Topic::Mounts],
    )
    .of_own_agent(),
    of_people(
        ResourceKind::CompositorState,
        "resource://compositor_meta/state/{server}",
        ("compositor-state", "State of a server of this agent"),
        "Whether a server that the agent has is initializing, running or failed",
        json::<MountRecord>(),
        &[Topic::Mounts],
    )
    .of_own_agent(),
    of_people(
        ResourceKind::Health,
        "resource://health/servers",
        ("health", "Health"),
        "The health of all servers",
        json::<HealthByServer>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Templates,
        "resource://templates/list",
        ("templates", "Templates"),
        "Servers that are known, and what must be filled in to add one",
        json::<TemplateList>(),
        &[Topic::Templates],
    ),
    of_people(
        ResourceKind::Tools,
        "resource://tools/list",
        ("tools", "Tools"),
        "All tools of all sources as the gates see them",
        json::<ToolCatalog>(),
        &[Topic::Tools],
    ),
    of_people(
        ResourceKind::PendingApprovals,
        "resource://approvals/pending",
        ("approvals", "Pending approvals"),
        "All calls that are pending approval",
        Content::JsonItems(SchemaGenerator::subschema_for::<Approval>),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::AgentPendingApprovals,
        "resource://agents/{agent_id}/approvals/pending",
        ("pending approvals of an agent", "Pending approvals of an agent"),
        "The calls of an agent that are pending approval",
        Content::JsonItems(SchemaGenerator::subschema_for::<Approval>),
        &[Topic::Approvals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentPastApprovals,
        "resource://agents/{agent_id}/approvals/history",
        ("past approvals of an agent", "Past approvals of an agent"),
        "An agent's calls that needed approval: the newest hundred, and those that wait",
        json::<PastApprovals>(),
        &[Topic::Approvals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentApproval,
        "resource://agents/{agent_id}/approvals/{id}",
        ("approval", "Approval"),
        "One call that needs or needed approval",
        json::<Approval>(),
        &[Topic::Approvals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::HeldPins,
        "resource://pins/held",
        ("held definitions", "Quarantined definitions"),
        "All quarantined definitions and their changes",
        json::<HeldPins>(),
        &[Topic::Pins],
    ),
    of_people(
        ResourceKind::Agents,
        "resource://agents/list",
        ("agents", "Agents"),
        "All agents, their settings and what they are doing",
        json::<Vec<Agent>>(),
        &[Topic::Agents],
    ),
    of_people(
        ResourceKind::AgentInfo,
        "resource://agents/{agent_id}/info",
        ("agent", "Agent"),
        "One agent, its settings and what it is doing",
        json::<Agent>(),
        &[Topic::Agents],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentState,
        "resource://agents/{agent_id}/state",
        ("agent-state", "State of an agent"),
        "Whether an agent is idle, running or suspended, and since when",
        json::<AgentStatus>(),
        &[Topic::Agents],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentSnapshot,
        "resource://agents/{agent_id}/snapshot",
        ("agent-snapshot", "Snapshot of an agent"),
        "Everything about an agent: settings, what it is doing, waiting calls, servers",
        json::<AgentSnapshot>(),
        &[Topic::Agents],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentSession,
        "resource://agents/{agent_id}/session/state",
        ("agent-session", "Session of an agent"),
        "Whether clients of an agent are connected, and what it is doing",
        json::<AgentSession>(),
        &[Topic::Agents],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentMounts,
        "resource://agents/{agent_id}/mcp/state",
        ("agent-mounts", "Servers of an agent"),
        "The servers that an agent has, and their state",
        json::<AgentMounts>(),
        &[Topic::Mounts],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::Presets,
        "resource://presets/list",
        ("presets", "Presets"),
        "Agents that are described once, to be created by name",
        json::<PresetList>(),
        &[Topic::Presets],
    ),
    of_people(
        ResourceKind::Users,
        "resource://users/list",
        ("users", "Users"),
        "The users that the reader may see",
        json::<UserList>(),
        &[Topic::Users],
    ),
    of_people(
        ResourceKind::Tokens,
        "resource://tokens/list",
        ("tokens", "Tokens"),
        "The valid tokens that the reader may see, without their secrets",
        json::<TokenList>(),
        &[Topic::Users],
    ),
    of_people(
        ResourceKind::ActivePolicy,
        "resource://approval-policy/policy",
        ("policy", "Active policy"),
        "The active policy: an agent's own for the agent, the global one for a person",
        Content::Toml,
        &[Topic::Policies],
    )
    .or_own_agent(),
    // Other programs look for it under this name.
    of_people(
        ResourceKind::ActivePolicyAlias,
        "resource://approval-policy/policy.py",
        ("policy-alias", "Active policy (alias)"),
        "The same as resource://approval-policy/policy",
        Content::Toml,
        &[Topic::Policies],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentPolicyState,
        "resource://agents/{agent_id}/policy/state",
        ("policy-state", "Policy and proposals of an agent"),
        "An agent's policy and its proposals",
        json::<PolicyState>(),
        &[Topic::Proposals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentPolicySource,
        "resource://agents/{agent_id}/policy/source",
        ("policy-source", "Policy of an agent"),
        "An agent's policy as text",
        Content::Toml,
        &[Topic::Proposals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::AgentProposals,
        "resource://agents/{agent_id}/policy/proposals",
        ("policy-proposals", "Proposals of an agent"),
        "The proposals of an agent",
        json::<ProposalList>(),
        &[Topic::Proposals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::Proposal,
        "resource://approval-policy/proposals/{id}",
        ("policy-proposal", "Proposal"),
        "One proposal",
        json::<PolicyVersion>(),
        &[Topic::Proposals],
    )
    .or_own_agent(),
    of_people(
        ResourceKind::RecentAudit,
        "resource://audit/recent",
        ("audit", "Recent audit records"),
        "The newest audit records, newest first",
        json::<AuditRecords>(),
        &[Topic::Audit],
    )
    .of_admins(),
    of_people(
        ResourceKind::RecentCalls,
        "resource://calls/recent",
        ("calls", "Recent calls"),
        "The newest fifty calls, and the position from which `calls_list` continues with what comes later",
        json::<CallPage>(),
        &[Topic::Calls],
    ),
    of_people(
        ResourceKind::Attention,
        "resource://attention/list",
        ("attention", "What needs a person"),
        "What waits for a decision, fails or expires, and the steps after the first start",
        json::<Attention>(),
        &[
            Topic::Servers,
            Topic::Approvals,
            Topic::Pins,
            Topic::Proposals,
            Topic::Users,
            Topic::Attention,
            Topic::Clients,
        ],
    ),
    of_people(
        ResourceKind::Clients,
        "resource://clients/list",
        ("clients", "Clients"),
        "The clients that are connected",
        json::<ClientList>(),
        &[Topic::Clients],
    ),
    of_people(
        ResourceKind::ServerLogs,
        "resource://servers/{id}/logs",
        ("server-logs", "Log of a server"),
        "The newest lines that a server wrote to its standard error; `servers_logs` continues with `from`",
        json::<LogLines>(),
        &[Topic::ServerLog],
    )
    .of_admins(),
    of_people(
        ResourceKind::Gateway,
        "resource://gateway/status",
        ("gateway", "Gateway"),
        "The gateway itself: version, uptime, data directory, audit log, and everything that is wrong",
        json::<GatewayStatus>(),
        &[Topic::Servers],
    )
    .of_admins(),
];

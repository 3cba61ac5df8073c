//! Typed URIs of resources.

use std::fmt;

use octroi_core::ServerKey;

use super::table::RESOURCES;
use super::{ResourceEntry, ResourceKind};
use crate::access::ObjectRef;

const ESCAPED_SLASH: &str = "%2F";

/// The URI of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResourceUri {
    /// All servers.
    Servers,
    /// One server.
    Server(ServerKey),
    /// All sessions.
    Sessions,
    /// The servers of a session, by its id.
    SessionMcpConfig(String),
    /// The servers of the agent that asks.
    CompositorServers,
    /// The state of a server of the agent that asks, by its name.
    CompositorState(String),
    /// The health of all servers.
    Health,
    /// All templates of servers.
    Templates,
    /// All tools.
    Tools,
    /// All pending calls.
    PendingApprovals,
    /// The pending calls of an agent, by its id.
    AgentPendingApprovals(String),
    /// The past approvals of an agent, by its id.
    AgentPastApprovals(String),
    /// An approval of an agent's call.
    AgentApproval {
        /// The id of the agent.
        agent: String,
        /// The id of the approval.
        id: String,
    },
    /// The quarantined definitions.
    HeldPins,
    /// All agents.
    Agents,
    /// About an agent, by its id.
    AgentInfo(String),
    /// The state of an agent, by its id.
    AgentState(String),
    /// Everything about an agent, by its id.
    AgentSnapshot(String),
    /// The session of an agent, by its id.
    AgentSession(String),
    /// The servers of an agent, by its id.
    AgentMounts(String),
    /// All presets of agents.
    Presets,
    /// All users.
    Users,
    /// All tokens.
    Tokens,
    /// The active policy: an agent's own for the agent, the global one for a person.
    ActivePolicy,
    /// The same under an alias.
    ActivePolicyAlias,
    /// An agent's policy and its proposals, by its id.
    AgentPolicyState(String),
    /// An agent's policy as text, by its id.
    AgentPolicySource(String),
    /// The proposals of an agent, by its id.
    AgentProposals(String),
    /// One proposal.
    Proposal(i64),
    /// The newest audit records.
    RecentAudit,
    /// The newest calls.
    RecentCalls,
    /// What needs a person.
    Attention,
    /// The clients that are connected.
    Clients,
    /// What a server wrote.
    ServerLogs(ServerKey),
    /// The gateway itself.
    Gateway,
}

impl ResourceUri {
    /// The URI of one approval.
    pub fn approval(agent: &str, id: &str) -> Self {
        Self::AgentApproval { agent: agent.to_owned(), id: id.to_owned() }
    }

    /// Parses a URI; `None` if it is not one of Octroi's own.
    pub fn parse(uri: &str) -> Option<Self> {
        RESOURCES.iter().find_map(|entry| {
            let parts = match_template(entry.uri, uri)?;
            Self::of(entry.kind, &parts)
        })
    }

    fn of(kind: ResourceKind, parts: &[&str]) -> Option<Self> {
        let text = |place: usize| parts.get(place).map(|part| (*part).to_owned());
        Some(match kind {
            ResourceKind::Servers => Self::Servers,
            ResourceKind::Server => Self::Server(server_of(&text(0)?)?),
            ResourceKind::Sessions => Self::Sessions,
            ResourceKind::SessionMcpConfig => Self::SessionMcpConfig(text(0)?),
            ResourceKind::CompositorServers => Self::CompositorServers,
            ResourceKind::CompositorState => Self::CompositorState(text(0)?),
            ResourceKind::Health => Self::Health,
            ResourceKind::Templates => Self::Templates,
            ResourceKind::Tools => Self::Tools,
            ResourceKind::PendingApprovals => Self::PendingApprovals,
            ResourceKind::AgentPendingApprovals => Self::AgentPendingApprovals(text(0)?),
            ResourceKind::AgentPastApprovals => Self::AgentPastApprovals(text(0)?),
            ResourceKind::AgentApproval => Self::AgentApproval { agent: text(0)?, id: text(1)? },
            ResourceKind::HeldPins => Self::HeldPins,
            ResourceKind::Agents => Self::Agents,
            ResourceKind::AgentInfo => Self::AgentInfo(text(0)?),
            ResourceKind::AgentState => Self::AgentState(text(0)?),
            ResourceKind::AgentSnapshot => Self::AgentSnapshot(text(0)?),
            ResourceKind::AgentSession => Self::AgentSession(text(0)?),
            ResourceKind::AgentMounts => Self::AgentMounts(text(0)?),
            ResourceKind::Presets => Self::Presets,
            ResourceKind::Users => Self::Users,
            ResourceKind::Tokens => Self::Tokens,
            ResourceKind::ActivePolicy => Self::ActivePolicy,
            ResourceKind::ActivePolicyAlias => Self::ActivePolicyAlias,
            ResourceKind::AgentPolicyState => Self::AgentPolicyState(text(0)?),
            ResourceKind::AgentPolicySource => Self::AgentPolicySource(text(0)?),
            ResourceKind::AgentProposals => Self::AgentProposals(text(0)?),
            ResourceKind::Proposal => Self::Proposal(number(&text(0)?)?),
            ResourceKind::RecentAudit => Self::RecentAudit,
            ResourceKind::RecentCalls => Self::RecentCalls,
            ResourceKind::Attention => Self::Attention,
            ResourceKind::Clients => Self::Clients,
            ResourceKind::ServerLogs => Self::ServerLogs(server_of(&text(0)?)?),
            ResourceKind::Gateway => Self::Gateway,
        })
    }

    /// The kind of resource, and the variables of its template.
    fn parts(&self) -> (ResourceKind, Vec<String>) {
        match self {
            Self::Servers => (ResourceKind::Servers, vec![]),
            Self::Server(key) => (ResourceKind::Server, vec![segment_of(key)]),
            Self::Sessions => (ResourceKind::Sessions, vec![]),
            Self::SessionMcpConfig(id) => (ResourceKind::SessionMcpConfig, vec![id.clone()]),
            Self::CompositorServers => (ResourceKind::CompositorServers, vec![]),
            Self::CompositorState(server) => (ResourceKind::CompositorState, vec![server.clone()]),
            Self::Health => (ResourceKind::Health, vec![]),
            Self::Templates => (ResourceKind::Templates, vec![]),
            Self::Tools => (ResourceKind::Tools, vec![]),
            Self::PendingApprovals => (ResourceKind::PendingApprovals, vec![]),
            Self::AgentPendingApprovals(agent) => (ResourceKind::AgentPendingApprovals, vec![agent.clone()]),
            Self::AgentPastApprovals(agent) => (ResourceKind::AgentPastApprovals, vec![agent.clone()]),
            Self::AgentApproval { agent, id } => {
                (ResourceKind::AgentApproval, vec![agent.clone(), id.clone()])
            }
            Self::HeldPins => (ResourceKind::HeldPins, vec![]),
            Self::Agents => (ResourceKind::Agents, vec![]),
            Self::AgentInfo(agent) => (ResourceKind::AgentInfo, vec![agent.clone()]),
            Self::AgentState(agent) => (ResourceKind::AgentState, vec![agent.clone()]),
            Self::AgentSnapshot(agent) => (ResourceKind::AgentSnapshot, vec![agent.clone()]),
            Self::AgentSession(agent) => (ResourceKind::AgentSession, vec![agent.clone()]),
            Self::AgentMounts(agent) => (ResourceKind::AgentMounts, vec![agent.clone()]),
            Self::Presets => (ResourceKind::Presets, vec![]),
            Self::Users => (ResourceKind::Users, vec![]),
            Self::Tokens => (ResourceKind::Tokens, vec![]),
            Self::ActivePolicy => (ResourceKind::ActivePolicy, vec![]),
            Self::ActivePolicyAlias => (ResourceKind::ActivePolicyAlias, vec![]),
            Self::AgentPolicyState(agent) => (ResourceKind::AgentPolicyState, vec![agent.clone()]),
            Self::AgentPolicySource(agent) => (ResourceKind::AgentPolicySource, vec![agent.clone()]),
            Self::AgentProposals(agent) => (ResourceKind::AgentProposals, vec![agent.clone()]),
            Self::Proposal(id) => (ResourceKind::Proposal, vec![id.to_string()]),
            Self::RecentAudit => (ResourceKind::RecentAudit, vec![]),
            Self::RecentCalls => (ResourceKind::RecentCalls, vec![]),
            Self::Attention => (ResourceKind::Attention, vec![]),
            Self::Clients => (ResourceKind::Clients, vec![]),
            Self::ServerLogs(key) => (ResourceKind::ServerLogs, vec![segment_of(key)]),
            Self::Gateway => (ResourceKind::Gateway, vec![]),
        }
    }

    /// Its entry in the table.
    pub fn entry(&self) -> &'static ResourceEntry {
        &RESOURCES[self.parts().0 as usize]
    }

    /// Whether it may change so often that a subscriber hears of it only a few times a second.
    pub const fn is_frequent(&self) -> bool {
        matches!(
            self,
            Self::RecentAudit | Self::RecentCalls | Self::Attention | Self::Clients | Self::ServerLogs(_)
        )
    }

    /// The object that the access rule checks.
    pub fn object(&self) -> ObjectRef<'_> {
        match self {
            Self::Server(key) | Self::ServerLogs(key) => ObjectRef::ServerKey(key),
            Self::SessionMcpConfig(id) => ObjectRef::Session(id),
            Self::AgentInfo(agent)
            | Self::AgentState(agent)
            | Self::AgentSnapshot(agent)
            | Self::AgentSession(agent)
            | Self::AgentMounts(agent)
            | Self::AgentPendingApprovals(agent)
            | Self::AgentPastApprovals(agent)
            | Self::AgentPolicyState(agent)
            | Self::AgentPolicySource(agent)
            | Self::AgentProposals(agent) => ObjectRef::Agent(agent),
            Self::AgentApproval { id, .. } => ObjectRef::Approval(id),
            Self::ActivePolicy
            | Self::ActivePolicyAlias
            | Self::CompositorServers
            | Self::CompositorState(_) => ObjectRef::Caller,
            Self::Proposal(id) => ObjectRef::Proposal(*id),
            Self::Servers
            | Self::Sessions
            | Self::Health
            | Self::Templates
            | Self::Tools
            | Self::PendingApprovals
            | Self::HeldPins
            | Self::Agents
            | Self::Presets
            | Self::Users
            | Self::Tokens
            | Self::RecentAudit
            | Self::RecentCalls
            | Self::Attention
            | Self::Clients
            | Self::Gateway => ObjectRef::Gateway,
        }
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, parts) = self.parts();
        let mut parts = parts.into_iter();
        for (place, segment) in RESOURCES[kind as usize].uri.split('/').enumerate() {
            if place > 0 {
                formatter.write_str("/")?;
            }
            let part = if is_place(segment) { parts.next() } else { None };
            formatter.write_str(part.as_deref().unwrap_or(segment))?;
        }
        Ok(())
    }
}

fn is_place(segment: &str) -> bool {
    segment.starts_with('{')
}

/// The variables of a template in a URI. Each matches one non-empty segment.
fn match_template<'a>(template: &str, uri: &'a str) -> Option<Vec<&'a str>> {
    let (mut expected, mut given) = (template.split('/'), uri.split('/'));
    let mut parts = Vec::new();
    loop {
        match (expected.next(), given.next()) {
            (None, None) => return Some(parts),
            (Some(place), Some(part)) if is_place(place) && !part.is_empty() => parts.push(part),
            (Some(segment), Some(part)) if segment == part => {}
            _ => return None,
        }
    }
}

/// A server in one segment of a URI: the separator of its owner and its name is escaped.
fn segment_of(key: &ServerKey) -> String {
    key.to_string().replace('/', ESCAPED_SLASH)
}

fn server_of(segment: &str) -> Option<ServerKey> {
    ServerKey::parse(&segment.replace(ESCAPED_SLASH, "/")).filter(|key| segment_of(key) == segment)
}

/// A number in canonical form only, so that no resource has two URIs.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| *number >= 0 && number.to_string() == text)
}

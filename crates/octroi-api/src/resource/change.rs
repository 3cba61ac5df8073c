//! Changes of resources, and the notifications that follow.

use octroi_core::ServerKey;

use super::ResourceUri;

/// The topic of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Servers were added or removed, or their status changed.
    Servers,
    /// Templates of servers were added, removed or changed.
    Templates,
    /// Tools were added, removed or changed.
    Tools,
    /// An approval was requested, decided, used or cancelled.
    Approvals,
    /// A definition was quarantined, accepted, rejected or forgotten.
    Pins,
    /// An agent was created, changed or removed, or began or ended something.
    Agents,
    /// The policies in effect changed.
    Policies,
    /// A policy was proposed, decided, or changed at its level.
    Proposals,
    /// Presets of agents were added, removed or changed.
    Presets,
    /// A user or a token was added, changed or removed.
    Users,
    /// A session was created, changed or closed.
    Sessions,
    /// The servers of an agent, or their state, changed.
    Mounts,
    /// An audit record was written.
    Audit,
    /// A call began, or was decided about, or ended.
    Calls,
    /// An agent made its first call.
    Attention,
    /// A client connected or disconnected.
    Clients,
    /// A server wrote to its standard error.
    ServerLog,
}

impl Topic {
    /// All topics.
    pub const ALL: [Self; 17] = [
        Self::Servers,
        Self::Templates,
        Self::Tools,
        Self::Approvals,
        Self::Pins,
        Self::Agents,
        Self::Policies,
        Self::Proposals,
        Self::Presets,
        Self::Users,
        Self::Sessions,
        Self::Mounts,
        Self::Audit,
        Self::Calls,
        Self::Attention,
        Self::Clients,
        Self::ServerLog,
    ];

    /// When it happens, for the reference page.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Servers => "servers are added or removed, or their status changes",
            Self::Templates => "templates of servers are added, removed or changed",
            Self::Tools => "tools are added, removed or changed",
            Self::Approvals => "an approval is requested, decided, used or cancelled",
            Self::Pins => "a definition is quarantined, accepted, rejected or forgotten",
            Self::Agents => "an agent is created, changed or removed, or begins or ends something",
            Self::Policies => "the policies in effect change",
            Self::Proposals => "a policy is proposed, decided, or changed",
            Self::Presets => "presets of agents are added, removed or changed",
            Self::Users => "a user or a token is added, changed or removed",
            Self::Sessions => "a session is created, changed or closed",
            Self::Mounts => "the servers of an agent, or their state, change",
            Self::Audit => "an audit record is written",
            Self::Calls => "a call begins, is decided about, or ends",
            Self::Attention => "an agent makes its first call",
            Self::Clients => "a client connects or disconnects",
            Self::ServerLog => "the server writes to its standard error",
        }
    }
}

/// A change that has happened.
#[derive(Clone, Copy, Debug)]
pub enum ResourceChange<'a> {
    /// Of servers, with all that exist now.
    Servers(&'a [ServerKey]),
    /// Of templates of servers.
    Templates,
    /// Of presets of agents.
    Presets,
    /// Of tools.
    Tools,
    /// Of an approval.
    Approval {
        /// Its id.
        id: &'a str,
        /// The agent whose call it covers; `None` for a person's.
        agent: Option<&'a str>,
    },
    /// Of several approvals of an agent, or of a person.
    Approvals {
        /// The agent whose calls they cover; `None` for a person's.
        agent: Option<&'a str>,
    },
    /// Of quarantined definitions.
    Pins,
    /// Of an agent: its settings, or what it does.
    Agent {
        /// Its id.
        agent: &'a str,
    },
    /// Of the policies in effect.
    Policies,
    /// Of one policy, proposed or set.
    Policy {
        /// Its id.
        id: i64,
        /// Its agent; `None` for the floor and the global policy.
        agent: Option<&'a str>,
    },
    /// Of a session: its servers, or whether it is open.
    Session {
        /// Its id.
        id: &'a str,
    },
    /// Of the servers of an agent, or of their state.
    Mounts {
        /// The agent.
        agent: &'a str,
        /// All servers that exist now.
        servers: &'a [ServerKey],
    },
    /// Of users or tokens.
    Users,
    /// Of the audit log.
    Audit,
    /// Of calls.
    Calls,
    /// Of the steps after the first start.
    Attention,
    /// Of the clients that are connected.
    Clients,
    /// Of what a server wrote.
    ServerLog(&'a ServerKey),
}

impl ResourceChange<'_> {
    /// The topic of the change.
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Servers(_) => Topic::Servers,
            Self::Templates => Topic::Templates,
            Self::Presets => Topic::Presets,
            Self::Tools => Topic::Tools,
            Self::Approval { .. } | Self::Approvals { .. } => Topic::Approvals,
            Self::Pins => Topic::Pins,
            Self::Agent { .. } => Topic::Agents,
            Self::Policies => Topic::Policies,
            Self::Policy { .. } => Topic::Proposals,
            Self::Session { .. } => Topic::Sessions,
            Self::Mounts { .. } => Topic::Mounts,
            Self::Users => Topic::Users,
            Self::Audit => Topic::Audit,
            Self::Calls => Topic::Calls,
            Self::Attention => Topic::Attention,
            Self::Clients => Topic::Clients,
            Self::ServerLog(_) => Topic::ServerLog,
        }
    }

    /// The resources that changed.
    pub fn resources(&self) -> Vec<ResourceUri> {
        match *self {
            Self::Servers(keys) => {
                let mut uris = vec![
                    ResourceUri::Servers,
                    ResourceUri::Health,
                    ResourceUri::Attention,
                    ResourceUri::Gateway,
                ];
                uris.extend(keys.iter().cloned().map(ResourceUri::Server));
                uris
            }
            Self::Templates => vec![ResourceUri::Templates],
            Self::Presets => vec![ResourceUri::Presets],
            Self::Tools => vec![ResourceUri::Tools],
            Self::Approval { id, agent } => {
                let mut uris = ResourceChange::Approvals { agent }.resources();
                uris.extend(agent.map(|agent| ResourceUri::approval(agent, id)));
                uris
            }
            Self::Approvals { agent } => {
                let mut uris = vec![ResourceUri::PendingApprovals, ResourceUri::Attention];
                uris.extend(agent.into_iter().flat_map(|agent| {
                    let agent = agent.to_owned();
                    [
                        ResourceUri::AgentPendingApprovals(agent.clone()),
                        ResourceUri::AgentPastApprovals(agent),
                    ]
                }));
                uris
            }
            Self::Pins => vec![ResourceUri::HeldPins, ResourceUri::Attention],
            Self::Agent { agent } => {
                let agent = || agent.to_owned();
                vec![
                    ResourceUri::Agents,
                    ResourceUri::AgentInfo(agent()),
                    ResourceUri::AgentState(agent()),
                    ResourceUri::AgentSnapshot(agent()),
                    ResourceUri::AgentSession(agent()),
                ]
            }
            Self::Policies => vec![ResourceUri::ActivePolicy, ResourceUri::ActivePolicyAlias],
            Self::Policy { id, agent } => {
                let mut uris = vec![ResourceUri::Proposal(id), ResourceUri::Attention];
                uris.extend(agent.into_iter().flat_map(|agent| {
                    let agent = agent.to_owned();
                    [
                        ResourceUri::AgentPolicyState(agent.clone()),
                        ResourceUri::AgentPolicySource(agent.clone()),
                        ResourceUri::AgentProposals(agent),
                    ]
                }));
                uris
            }
            Self::Session { id } => {
                vec![ResourceUri::Sessions, ResourceUri::SessionMcpConfig(id.to_owned())]
            }
            Self::Mounts { agent, servers } => {
                let mut uris =
                    vec![ResourceUri::AgentMounts(agent.to_owned()), ResourceUri::CompositorServers];
                let names = servers.iter().map(|key| key.name.to_string());
                uris.extend(names.map(ResourceUri::CompositorState));
                uris
            }
            Self::Users => vec![ResourceUri::Users, ResourceUri::Tokens, ResourceUri::Attention],
            Self::Audit => vec![ResourceUri::RecentAudit],
            Self::Calls => vec![ResourceUri::RecentCalls],
            Self::Attention => vec![ResourceUri::Attention],
            Self::Clients => vec![ResourceUri::Clients, ResourceUri::Attention],
            Self::ServerLog(key) => vec![ResourceUri::ServerLogs(key.clone())],
        }
    }
}

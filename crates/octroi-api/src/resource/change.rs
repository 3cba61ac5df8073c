//! What makes resources change, and which of them have to be reported.

use octroi_core::ServerName;

use super::ResourceUri;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Servers came, went, or are doing otherwise.
    Servers,
    /// Tools came, went or changed.
    Tools,
    /// An approval was asked for, decided, used or given up.
    Approvals,
    /// A definition was quarantined, accepted, rejected or forgotten.
    Pins,
    /// Something was set about an agent.
    Agents,
    /// Other policies are in effect.
    Policies,
    /// A policy was proposed, decided about, or changed at its level.
    Proposals,
    /// Something was recorded.
    Audit,
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Servers,
        Self::Tools,
        Self::Approvals,
        Self::Pins,
        Self::Agents,
        Self::Policies,
        Self::Proposals,
        Self::Audit,
    ];

    /// When it happens, for the reference page.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Servers => "servers come, go, or are doing otherwise",
            Self::Tools => "tools come, go or change",
            Self::Approvals => "an approval is asked for, decided, used or given up",
            Self::Pins => "a definition is quarantined, accepted, rejected or forgotten",
            Self::Agents => "something is set about an agent",
            Self::Policies => "other policies take effect",
            Self::Proposals => "a policy is proposed, decided about, or changed",
            Self::Audit => "something is recorded",
        }
    }
}

/// A change that has happened.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Of servers; these are all that there are.
    Servers(&'a [ServerName]),
    /// Of tools.
    Tools,
    /// Of an approval.
    Approval {
        /// Which one.
        id: &'a str,
        /// Whose call it is about; none for a person's.
        agent: Option<&'a str>,
    },
    /// Of several approvals of an agent, or of a person.
    Approvals {
        /// Whose calls they are about; none for a person's.
        agent: Option<&'a str>,
    },
    /// Of what is quarantined.
    Pins,
    /// Of what is set about agents.
    Agents,
    /// Of the policies in effect.
    Policies,
    /// Of one policy, proposed or set.
    Policy {
        /// Which one.
        id: i64,
        /// Whose it is; none for the floor and the global one.
        agent: Option<&'a str>,
    },
    /// Of the audit log.
    Audit,
}

impl Change<'_> {
    /// What it is about.
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Servers(_) => Topic::Servers,
            Self::Tools => Topic::Tools,
            Self::Approval { .. } | Self::Approvals { .. } => Topic::Approvals,
            Self::Pins => Topic::Pins,
            Self::Agents => Topic::Agents,
            Self::Policies => Topic::Policies,
            Self::Policy { .. } => Topic::Proposals,
            Self::Audit => Topic::Audit,
        }
    }

    /// The resources that are not what they were.
    pub fn resources(&self) -> Vec<ResourceUri> {
        match *self {
            Self::Servers(names) => {
                let mut uris = vec![ResourceUri::Servers, ResourceUri::Health];
                uris.extend(names.iter().cloned().map(ResourceUri::Server));
                uris
            }
            Self::Tools => vec![ResourceUri::Tools],
            Self::Approval { id, agent } => {
                let mut uris = Change::Approvals { agent }.resources();
                uris.push(ResourceUri::approval(agent, id));
                uris
            }
            Self::Approvals { agent } => {
                let mut uris = vec![ResourceUri::PendingApprovals];
                uris.extend(agent.into_iter().flat_map(|agent| {
                    let agent = agent.to_owned();
                    [
                        ResourceUri::AgentPendingApprovals(agent.clone()),
                        ResourceUri::AgentPastApprovals(agent),
                    ]
                }));
                uris
            }
            Self::Pins => vec![ResourceUri::HeldPins],
            Self::Agents => vec![ResourceUri::Agents],
            Self::Policies => vec![ResourceUri::ActivePolicy, ResourceUri::ActivePolicyAlias],
            Self::Policy { id, agent } => {
                let mut uris = vec![ResourceUri::Proposal(id)];
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
            Self::Audit => vec![ResourceUri::RecentAudit],
        }
    }
}

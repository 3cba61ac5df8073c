//! Every resource, once. No other place in the workspace spells one of these URIs.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::change::Topic;
use super::{Content, ResourceEntry, ResourceKind};
use crate::access::{Access, AgentSetting};
use crate::operations::agents::AgentList;
use crate::operations::approvals::Approval;
use crate::operations::audit::AuditRecords;
use crate::operations::health::HealthByServer;
use crate::operations::pins::HeldPins;
use crate::operations::policies::{PolicyState, PolicyVersion};
use crate::operations::proposals::ProposalList;
use crate::operations::servers::ServerStatus;
use crate::operations::tools::ToolCatalog;

/// What the list of servers shows as a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServersResource {
    /// Every server, by name
    pub servers: Vec<ServerStatus>,
    /// What is wrong with the configuration
    pub problems: Vec<String>,
}

/// The past approvals of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastApprovals {
    /// The agent
    pub agent_id: String,
    /// How many these are
    pub count: u64,
    /// The approvals, the newest first
    pub approvals: Vec<Approval>,
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
    ResourceEntry {
        kind,
        uri,
        name,
        title,
        description,
        content,
        access: Access::People,
        agent_setting: None,
        changed_by,
    }
}

impl ResourceEntry {
    /// Lets agents read what is their own, where they may propose policies.
    const fn or_own_agent(mut self) -> Self {
        self.access = Access::PeopleAndOwnAgent;
        self.agent_setting = Some(AgentSetting::Proposals);
        self
    }
}

/// All resources. Where two can match a URI, the one without places to fill comes first.
pub static RESOURCES: [ResourceEntry; 18] = [
    of_people(
        ResourceKind::Servers,
        "resource://servers/list",
        ("servers", "Servers"),
        "Every server and how it is doing",
        json::<ServersResource>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Server,
        "resource://servers/{id}",
        ("server", "Server"),
        "One server and how it is doing",
        json::<ServerStatus>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Health,
        "resource://health/servers",
        ("health", "Health"),
        "How well every server answers",
        json::<HealthByServer>(),
        &[Topic::Servers],
    ),
    of_people(
        ResourceKind::Tools,
        "resource://tools/list",
        ("tools", "Tools"),
        "Every tool of every source as the gates see it",
        json::<ToolCatalog>(),
        &[Topic::Tools],
    ),
    of_people(
        ResourceKind::PendingApprovals,
        "resource://approvals/pending",
        ("approvals", "Pending approvals"),
        "Every call that waits for a person",
        Content::JsonItems(SchemaGenerator::subschema_for::<Approval>),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::Approval,
        "resource://approvals/{id}",
        ("approval of a person", "Approval of a person's call"),
        "One call of a person about which a person was asked",
        json::<Approval>(),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::AgentPendingApprovals,
        "resource://agents/{agent_id}/approvals/pending",
        ("pending approvals of an agent", "Pending approvals of an agent"),
        "The calls of an agent that wait for a person",
        Content::JsonItems(SchemaGenerator::subschema_for::<Approval>),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::AgentPastApprovals,
        "resource://agents/{agent_id}/approvals/history",
        ("past approvals of an agent", "Past approvals of an agent"),
        "The newest hundred of an agent's calls about which a person was asked",
        json::<PastApprovals>(),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::AgentApproval,
        "resource://agents/{agent_id}/approvals/{id}",
        ("approval", "Approval"),
        "One call about which a person was asked",
        json::<Approval>(),
        &[Topic::Approvals],
    ),
    of_people(
        ResourceKind::HeldPins,
        "resource://pins/held",
        ("held definitions", "Quarantined definitions"),
        "Every definition that is quarantined, and what changed",
        json::<HeldPins>(),
        &[Topic::Pins],
    ),
    of_people(
        ResourceKind::Agents,
        "resource://agents/list",
        ("agents", "Agents"),
        "Every agent and what is set about it",
        json::<AgentList>(),
        &[Topic::Agents],
    ),
    of_people(
        ResourceKind::ActivePolicy,
        "resource://approval-policy/policy",
        ("policy", "Active policy"),
        "The active policy: an agent's own for the agent, the one for everybody for a person",
        Content::Toml,
        &[Topic::Policies],
    )
    .or_own_agent(),
    // Other programs look for it under this name.
    of_people(
        ResourceKind::ActivePolicyAlias,
        "resource://approval-policy/policy.py",
        ("policy-alias", "Active policy, under its other name"),
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
        "What an agent proposed",
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
        "What was recorded last, the newest first",
        json::<AuditRecords>(),
        &[Topic::Audit],
    ),
];

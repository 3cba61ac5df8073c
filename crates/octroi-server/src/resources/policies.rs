//! Resources that show policies and proposals.

use octroi_api::ResourceUri;
use octroi_api::operations::policies::{PolicyState, PolicyVersion, ProposalState};
use octroi_api::operations::proposals::ProposalList;
use octroi_core::policy::Level;
use octroi_gateway::{PolicyError, PolicyLevel, PolicyRefusal};

use crate::error::OperationError;
use crate::operations::{OperationContext, policy_version};

/// The active policy: an agent's own for the agent, everybody's for a person.
pub(super) async fn active(context: &OperationContext) -> Result<String, OperationError> {
    let principal = context.principal();
    match principal.agent_id() {
        Some(agent) => source(context, agent).await,
        None => Ok(active_at(context, PolicyLevel::Global).await?.0),
    }
}

/// An agent's policy; empty if it has none.
pub(super) async fn source(context: &OperationContext, agent: &str) -> Result<String, OperationError> {
    Ok(active_at(context, PolicyLevel::Agent(agent.to_owned())).await?.0)
}

pub(super) async fn state(context: &OperationContext, agent: &str) -> Result<PolicyState, OperationError> {
    let (source, version) = active_at(context, PolicyLevel::Agent(agent.to_owned())).await?;
    let listed = proposals(context, agent).await?.proposals;
    let listed = listed.iter().map(|proposal| ProposalState { id: proposal.id, status: proposal.status });
    Ok(PolicyState {
        agent_id: agent.to_owned(),
        level: Level::Agent.into(),
        version,
        content: source,
        proposals: listed.collect(),
        active_policy_uri: ResourceUri::AgentPolicySource(agent.to_owned()).to_string(),
    })
}

pub(super) async fn proposals(
    context: &OperationContext,
    agent: &str,
) -> Result<ProposalList, OperationError> {
    let found = context.gateway.governance().proposals(Some(agent)).await?;
    Ok(ProposalList { proposals: found.iter().map(policy_version).collect() })
}

pub(super) async fn proposal(context: &OperationContext, id: i64) -> Result<PolicyVersion, OperationError> {
    let found = context.gateway.governance().proposal(id, None).await?;
    Ok(policy_version(&found.ok_or(PolicyError::Refused(PolicyRefusal::Unknown))?))
}

/// The active policy of a level and its version; an empty one if there is none.
async fn active_at(context: &OperationContext, level: PolicyLevel) -> Result<(String, i64), OperationError> {
    let active = context.gateway.governance().active_policy(&level).await?;
    let of = |record: octroi_gateway::PolicyRecord| (record.draft.source, record.version.unwrap_or_default());
    Ok(active.map(of).unwrap_or_default())
}

//! Resources that show approvals.

use octroi_api::ResourceUri;
use octroi_api::operations::approvals::Approval;
use octroi_api::resource::PastApprovals;
use octroi_gateway::{ApprovalFilter, ApprovalPart, OperatorError};

use super::{Block, block};
use crate::error::OperationError;
use crate::operations::{
    LISTED_MAX, OperationContext, PENDING_MAX, describe_approval, describe_listed_approval,
};

/// Pending approvals of one agent or of all, each under its own URI, so that a client can tell which are new.
pub(super) async fn pending(
    context: &OperationContext,
    agent: Option<&str>,
) -> Result<Vec<Block>, OperationError> {
    let filter = ApprovalFilter { part: ApprovalPart::Pending, agent: agent.map(str::to_owned) };
    let pending = context.gateway.approvals().list(&filter, PENDING_MAX).await?;
    // Versions before agents made all calls recorded calls of people. Those have no URI; `approvals_list` has them.
    let of_agents =
        pending.iter().filter_map(|approval| Some((approval.binding.agent.as_deref()?, approval)));
    let visible = of_agents.filter(|(_, approval)| context.may_see_approval(approval));
    let blocks = visible.map(|(agent, approval)| {
        let uri = ResourceUri::approval(agent, &approval.id);
        block(&uri, &describe_listed_approval(context.gateway.approvals(), approval))
    });
    blocks.collect()
}

pub(super) async fn past(context: &OperationContext, agent: &str) -> Result<PastApprovals, OperationError> {
    let approvals = context.gateway.approvals();
    let listed = async |part| {
        let filter = ApprovalFilter { part, agent: Some(agent.to_owned()) };
        let found = approvals.list(&filter, LISTED_MAX).await?;
        let described = found.iter().map(|approval| describe_listed_approval(approvals, approval));
        Ok::<Vec<Approval>, OperationError>(described.collect())
    };
    let timeline = listed(ApprovalPart::History).await?;
    let pending = listed(ApprovalPart::Pending).await?;
    let count = u64::try_from(timeline.len()).unwrap_or(u64::MAX);
    Ok(PastApprovals { agent_id: agent.to_owned(), timeline, pending, count })
}

/// One approval, if it is about a call of this agent.
pub(super) async fn approval(
    context: &OperationContext,
    agent: &str,
    id: &str,
) -> Result<Approval, OperationError> {
    let found = context.gateway.approvals().get(id).await?;
    if found.binding.agent.as_deref() == Some(agent) {
        Ok(describe_approval(context.gateway.approvals(), &found))
    } else {
        Err(OperatorError::UnknownApproval(id.to_owned()).into())
    }
}

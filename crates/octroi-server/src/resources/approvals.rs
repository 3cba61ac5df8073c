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
    let visible = pending.iter().filter(|approval| context.may_see_approval(approval));
    let blocks = visible.map(|approval| {
        let uri = ResourceUri::approval(approval.binding.agent.as_deref(), &approval.id);
        block(&uri, &describe_listed_approval(context.gateway.approvals(), approval))
    });
    blocks.collect()
}

pub(super) async fn past(context: &OperationContext, agent: &str) -> Result<PastApprovals, OperationError> {
    let filter = ApprovalFilter { part: ApprovalPart::History, agent: Some(agent.to_owned()) };
    let past = context.gateway.approvals().list(&filter, LISTED_MAX).await?;
    let describe = |approval| describe_listed_approval(context.gateway.approvals(), approval);
    let approvals: Vec<Approval> = past.iter().map(describe).collect();
    let count = u64::try_from(approvals.len()).unwrap_or(u64::MAX);
    Ok(PastApprovals { agent_id: agent.to_owned(), count, approvals })
}

/// One approval, if it is about a call of this agent, or of a person.
pub(super) async fn approval(
    context: &OperationContext,
    agent: Option<&str>,
    id: &str,
) -> Result<Approval, OperationError> {
    let found = context.gateway.approvals().get(id).await?;
    if found.binding.agent.as_deref() == agent {
        Ok(describe_approval(context.gateway.approvals(), &found))
    } else {
        Err(OperatorError::UnknownApproval(id.to_owned()).into())
    }
}

//! Handlers of operations about policies that agents propose for themselves, and people decide about.

use octroi_api::operations::policies::{PolicyVersion, WhyRequest};
use octroi_api::operations::proposals::{
    CheckOwnRequest, CheckedOwn, ListProposalsRequest, ProposalList, ProposalRequest, ProposeRequest,
    RejectProposalRequest,
};
use octroi_core::policy::Level;
use octroi_gateway::{PolicyError, PolicyRefusal, check_length};

use super::context::OperationContext;
use super::handler::Plan;
use super::policies::{self, version};
use super::shape::map_response;
use crate::error::OperationError;

pub(super) async fn list(
    context: &OperationContext,
    request: ListProposalsRequest,
) -> Result<ProposalList, OperationError> {
    let found = context.gateway.governance().proposals(request.agent_id.as_deref()).await?;
    let mut proposals: Vec<PolicyVersion> = found.iter().map(version).collect();
    proposals.retain(|proposal| {
        request.status.is_none_or(|status| proposal.status == status)
            && context.may_see(proposal.agent.as_deref())
    });
    Ok(ProposalList { proposals })
}

pub(super) async fn get(
    context: &OperationContext,
    request: ProposalRequest,
) -> Result<PolicyVersion, OperationError> {
    let found = context.gateway.governance().proposal(request.id, None).await?;
    Ok(version(&found.ok_or(PolicyError::Refused(PolicyRefusal::Unknown))?))
}

pub(super) async fn approve(context: &OperationContext, request: ProposalRequest) -> Plan<PolicyVersion> {
    let change = context.gateway.governance().approve_proposal(context.principal(), request.id).await?;
    Ok(map_response(change, |record| version(&record)))
}

pub(super) async fn reject(
    context: &OperationContext,
    request: RejectProposalRequest,
) -> Plan<PolicyVersion> {
    let governance = context.gateway.governance();
    let change = governance.reject_proposal(context.principal(), request.id, &request.reason).await?;
    Ok(map_response(change, |record| version(&record)))
}

pub(super) async fn propose(context: &OperationContext, request: ProposeRequest) -> Plan<PolicyVersion> {
    let governance = context.gateway.governance();
    let ProposeRequest { source, rationale } = request;
    let change = governance.propose_policy(context.principal(), &source, &rationale).await?;
    Ok(map_response(change, |record| version(&record)))
}

pub(super) async fn withdraw(context: &OperationContext, request: ProposalRequest) -> Plan<PolicyVersion> {
    let change = context.gateway.governance().withdraw_policy(context.principal(), request.id).await?;
    Ok(map_response(change, |record| version(&record)))
}

pub(super) async fn check(
    context: &OperationContext,
    request: CheckOwnRequest,
) -> Result<CheckedOwn, OperationError> {
    match (request.source, request.tool) {
        (Some(source), None) => {
            check_length(&source)?;
            Ok(CheckedOwn::Policy(policies::check_source(context, Level::Agent, &source).await))
        }
        (None, Some(tool)) => {
            let agent_id = context.principal().agent_id().map(ToString::to_string);
            let arguments = request.arguments;
            let explained = policies::why(context, WhyRequest { tool, arguments, agent_id, mode: None });
            Ok(CheckedOwn::Call(Box::new(explained.await?)))
        }
        (Some(_), Some(_)) | (None, None) => {
            let reason = "give either `source`, or `tool` and `arguments`";
            Err(OperationError::InvalidArguments(reason.to_owned()))
        }
    }
}

//! Operations on policies that agents propose for themselves, and people decide about.

use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::policies::{Explanation, PolicyCheck, PolicyStatus, PolicyVersion};
use crate::access::{Access, AgentSetting, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<PolicyProposals>(),
    OperationEntry::of::<PolicyProposal>(),
    OperationEntry::of::<AgentsApproveProposal>(),
    OperationEntry::of::<AgentsRejectProposal>(),
    OperationEntry::of::<PolicyPropose>(),
    OperationEntry::of::<PolicyWithdraw>(),
    OperationEntry::of::<PolicyCheckOwn>(),
];

/// Lists proposals.
pub struct PolicyProposals;

/// The proposals to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListProposalsRequest {
    /// Only proposals of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Only proposals with this status
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PolicyStatus>,
}

/// Proposals of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalList {
    /// The proposals, newest first
    pub proposals: Vec<PolicyVersion>,
}

impl Operation for PolicyProposals {
    type Request = ListProposalsRequest;
    type Response = ProposalList;

    const NAME: &'static str = "policy_proposals";
    const TITLE: &'static str = "List proposals";
    const DESCRIPTION: &'static str = "Policies that agents propose, newest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(request: &ListProposalsRequest) -> ObjectRef<'_> {
        request.agent_id.as_deref().map_or(ObjectRef::Gateway, ObjectRef::Agent)
    }
}

/// One proposal, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalRequest {
    /// The proposal
    #[schemars(range(min = 0))]
    pub id: i64,
}

/// Shows one proposal.
pub struct PolicyProposal;

impl Operation for PolicyProposal {
    type Request = ProposalRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_proposal";
    const TITLE: &'static str = "Show a proposal";
    const DESCRIPTION: &'static str = "One proposal, with its source.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ProposalRequest) -> ObjectRef<'_> {
        ObjectRef::Proposal(request.id)
    }
}

/// Activates a proposed policy.
pub struct AgentsApproveProposal;

impl Operation for AgentsApproveProposal {
    type Request = ProposalRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "agents_approve_proposal";
    const TITLE: &'static str = "Approve a proposal";
    const DESCRIPTION: &'static str = "Activate a proposed policy.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ProposalResolved };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::InvalidPolicy,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &ProposalRequest) -> ObjectRef<'_> {
        ObjectRef::Proposal(request.id)
    }
}

/// Rejects a proposed policy.
pub struct AgentsRejectProposal;

/// The proposal to reject, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectProposalRequest {
    /// The proposal
    #[schemars(range(min = 0))]
    pub id: i64,
    /// The reason, for the agent
    pub reason: String,
}

impl Operation for AgentsRejectProposal {
    type Request = RejectProposalRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "agents_reject_proposal";
    const TITLE: &'static str = "Reject a proposal";
    const DESCRIPTION: &'static str = "Reject a proposed policy.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ProposalResolved };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];

    fn object(request: &RejectProposalRequest) -> ObjectRef<'_> {
        ObjectRef::Proposal(request.id)
    }
}

/// Proposes a policy, as an agent for itself.
pub struct PolicyPropose;

/// A policy that an agent proposes for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeRequest {
    /// The whole policy, as TOML; it replaces your active one
    pub source: String,
    /// The reason, for the person who decides
    pub rationale: String,
}

impl Operation for PolicyPropose {
    type Request = ProposeRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_propose";
    const TITLE: &'static str = "Propose a policy";
    const DESCRIPTION: &'static str =
        "Propose a policy for yourself. A person decides about it; until then nothing changes.";
    const ACCESS: Access = Access::OwnAgent;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ProposalCreated };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::InvalidArguments,
        ErrorCode::LimitReached,
        ErrorCode::ManagedByFile,
        ErrorCode::StorageUnavailable,
    ];
    const AGENT_SETTING: Option<AgentSetting> = Some(AgentSetting::Proposals);

    fn object(_: &ProposeRequest) -> ObjectRef<'_> {
        ObjectRef::Caller
    }
}

/// Withdraws a proposal, as the agent that made it.
pub struct PolicyWithdraw;

impl Operation for PolicyWithdraw {
    type Request = ProposalRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "policy_withdraw";
    const TITLE: &'static str = "Withdraw a proposal";
    const DESCRIPTION: &'static str = "Withdraw one of your proposals.";
    const ACCESS: Access = Access::OwnAgent;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ProposalResolved };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::Conflict, ErrorCode::StorageUnavailable];
    const AGENT_SETTING: Option<AgentSetting> = Some(AgentSetting::Proposals);

    fn object(request: &ProposalRequest) -> ObjectRef<'_> {
        ObjectRef::Proposal(request.id)
    }
}

/// Checks a policy or a call, as an agent for itself. For people, another operation has this name.
pub struct PolicyCheckOwn;

/// A policy to check, or a call to explain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOwnRequest {
    /// A policy, as TOML
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Instead of a policy: the tool of a call, as server.tool
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// The check of the policy, or the decision about the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CheckedOwn {
    /// A policy was given.
    Policy(PolicyCheck),
    /// A call was given.
    Call(Box<Explanation>),
}

impl Operation for PolicyCheckOwn {
    type Request = CheckOwnRequest;
    type Response = CheckedOwn;

    const NAME: &'static str = "policy_check";
    const TITLE: &'static str = "Check a policy or a call";
    const DESCRIPTION: &'static str =
        "List the problems of a policy, or explain the decision about a call. Nothing is called or changed.";
    const ACCESS: Access = Access::OwnAgent;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments, ErrorCode::NotFound];
    const AGENT_SETTING: Option<AgentSetting> = Some(AgentSetting::Proposals);

    fn object(_: &CheckOwnRequest) -> ObjectRef<'_> {
        ObjectRef::Caller
    }
}

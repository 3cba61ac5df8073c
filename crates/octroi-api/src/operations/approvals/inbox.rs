//! What people who decide about calls need beside one call: what it would do, what came before it, several decisions
//! at once, and the way back.

use octroi_core::audit::{Kind, Ruling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Approval, ApprovalDecision, ApprovalRequest, DecidedApproval};
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation};
use crate::operations::policies::{CallFacts, GateVerdict, PolicyVersion};
use crate::wire::Wire;

/// Shows what helps to decide about a call.
pub struct ApprovalsContext;

/// What helps to decide about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalContext {
    /// The approval
    pub approval: Approval,
    /// The facts from its arguments; null if the arguments are no longer kept, or the tool is gone
    pub facts: Option<CallFacts>,
    /// The last call of the same tool by the same agent that was made; null if there is none
    pub last_call: Option<LastCall>,
    /// The newest decisions about calls of the same tool by the same agent, newest first: at most five
    pub similar: Vec<PastDecision>,
    /// The rules that `remember` would save with an approval, for eight hours; none where that is not possible
    pub rules: Vec<PossibleRule>,
}

/// A call that was made earlier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LastCall {
    /// Its id
    pub id: String,
    /// When it was made, in milliseconds since 1970
    pub at_ms: u64,
    /// Its arguments as recorded, with secrets redacted; text if they were shortened
    pub arguments: Value,
}

/// A decision about an earlier call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastDecision {
    /// The approval, ap_…
    pub id: String,
    /// Its state
    pub state: Wire<octroi_core::approval::ApprovalState>,
    /// Who decided
    pub by: Option<String>,
    /// When
    pub at: Option<String>,
    /// The reason they gave
    pub reason: Option<String>,
    /// Whether its arguments were exactly the same
    pub same_arguments: bool,
}

/// A rule that a decision could save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleRule {
    /// `exact` for exactly these arguments, `tool` for any
    pub remember: String,
    /// The rule, as it would be in the policy
    pub rule: String,
}

impl Operation for ApprovalsContext {
    type Request = ApprovalRequest;
    type Response = ApprovalContext;

    const NAME: &'static str = "approvals_context";
    const TITLE: &'static str = "Show what helps to decide";
    const DESCRIPTION: &'static str = "What a call would touch, the last call of the same tool, earlier decisions about \
        such calls, and the rules that could be saved.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];

    fn object(request: &ApprovalRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}

/// Checks other arguments for a call before it is approved with them.
pub struct ApprovalsCheckArguments;

/// The arguments to check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckArgumentsRequest {
    /// The approval, ap_…
    pub id: String,
    /// The arguments
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The same as JSON text, in which numbers stay as they are written
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_json: Option<String>,
}

/// Whether a call could be made with other arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedArguments {
    /// Whether they fit the tool's schema
    pub ok: bool,
    /// What is wrong with them
    pub complaint: Option<String>,
    /// What the gates would decide about the call with them; null if they do not fit
    pub decision: Option<Wire<Ruling>>,
    /// Why it would not simply be allowed
    pub reason: Option<String>,
    /// The verdicts of all gates, in their order
    pub gates: Vec<GateVerdict>,
    /// The facts from them
    pub facts: Option<CallFacts>,
}

impl Operation for ApprovalsCheckArguments {
    type Request = CheckArgumentsRequest;
    type Response = CheckedArguments;

    const NAME: &'static str = "approvals_check_arguments";
    const TITLE: &'static str = "Check edited arguments";
    const DESCRIPTION: &'static str = "Check arguments against the schema of the tool and the gates, before the call is approved with them.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];

    fn object(request: &CheckArgumentsRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}

/// Decides about several pending calls in the same way.
pub struct ApprovalsDecideMany;

/// Calls to decide about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideManyRequest {
    /// The approvals, ap_…: at most 500
    pub ids: Vec<String>,
    /// The decision about each
    pub decision: ApprovalDecision,
    /// The reason, for the agents and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of each call. Each decision stands for itself: one that fails changes nothing about the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedMany {
    /// One for each id, in the order of the request
    pub results: Vec<ManyResult>,
    /// How many were decided
    pub decided: u64,
    /// How many were not
    pub failed: u64,
}

/// What became of one of several calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManyResult {
    /// The approval, ap_…
    pub id: String,
    /// The approval after the decision; null if it failed
    pub decided: Option<Box<DecidedApproval>>,
    /// Why it failed
    pub error: Option<ManyError>,
}

/// Why one of several decisions failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManyError {
    /// The code of the error
    pub code: String,
    /// The error for people
    pub message: String,
    /// How to go on
    pub hint: String,
}

impl Operation for ApprovalsDecideMany {
    type Request = DecideManyRequest;
    type Response = DecidedMany;

    const NAME: &'static str = "approvals_decide_many";
    const TITLE: &'static str = "Decide about several calls";
    const DESCRIPTION: &'static str = "Decide about several pending calls in the same way. Each decision is recorded and stands for itself.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = super::DECIDES;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::InvalidArguments];

    fn object(_: &DecideManyRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Removes the rule that was saved with a decision.
pub struct ApprovalsForgetRule;

impl Operation for ApprovalsForgetRule {
    type Request = ApprovalRequest;
    type Response = PolicyVersion;

    const NAME: &'static str = "approvals_forget_rule";
    const TITLE: &'static str = "Remove a remembered rule";
    const DESCRIPTION: &'static str = "Remove the rule that was saved with a decision from the policy of the agent. The call itself stays decided.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::PolicyChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::Conflict,
        ErrorCode::ManagedByFile,
        ErrorCode::InvalidPolicy,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &ApprovalRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}

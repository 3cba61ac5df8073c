//! Operations on calls that need approval.

use octroi_core::approval::ApprovalState;
use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

mod inbox;
mod reveal;

pub use inbox::{
    ApprovalContext, ApprovalsCheckArguments, ApprovalsContext, ApprovalsDecideMany, ApprovalsForgetRule,
    CheckArgumentsRequest, CheckedArguments, DecideManyRequest, DecidedMany, LastCall, ManyError, ManyResult,
    PastDecision, PossibleRule,
};
pub use reveal::{ApprovalsReveal, RevealRequest, RevealedArgument};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AgentsDecideRequest>(),
    OperationEntry::of::<AgentsApproveRequest>(),
    OperationEntry::of::<AgentsDenyRequest>(),
    OperationEntry::of::<ApprovalsList>(),
    OperationEntry::of::<ApprovalsGet>(),
    OperationEntry::of::<ApprovalsReveal>(),
    OperationEntry::of::<ApprovalsContext>(),
    OperationEntry::of::<ApprovalsCheckArguments>(),
    OperationEntry::of::<ApprovalsDecideMany>(),
    OperationEntry::of::<ApprovalsForgetRule>(),
];

const DECIDING: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::NotAnApprover,
    ErrorCode::InvalidArguments,
    ErrorCode::Conflict,
    ErrorCode::ManagedByFile,
    ErrorCode::InvalidPolicy,
    ErrorCode::StorageUnavailable,
];
const DECIDES: Effect = Effect::Changes { audit: Kind::ApprovalResolved };

/// Whether the arguments and other params of a call are still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ArgumentsKept {
    /// They are there.
    #[default]
    Whole,
    /// The approval is over, and they were removed.
    Removed,
    /// They are encrypted with another key.
    Unreadable,
}

/// A value of the arguments or other params that is not shown until somebody asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MaskedArgument {
    /// Where it is: a JSON pointer, after `other_params` for those; `#3` is the fourth member, if its name cannot be shown
    pub path: String,
    /// The kind of secret that it seems to hold
    pub kind: String,
    /// Its length in bytes
    pub length: u64,
}

/// A call that needs or needed approval. Secrets in what it sends are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id, ap_…
    pub id: String,
    /// The same id, for clients that expect it under this name
    pub call_id: String,
    /// The id of the call in the audit log
    pub invocation_id: String,
    /// The agent that called; null for a person
    pub agent_id: Option<String>,
    /// The principal that called
    pub principal: String,
    /// The canonical id of the tool
    pub tool: String,
    /// The arguments with secrets masked; a short version where `arguments` is null
    pub args: Value,
    /// The whole arguments as JSON text, with secrets masked and numbers as they were sent; null for long ones in lists
    #[serde(default)]
    pub arguments: Option<String>,
    /// What is masked; `approvals_reveal` shows it
    #[serde(default)]
    pub masked: Vec<MaskedArgument>,
    /// Whether the arguments and other params are still there
    #[serde(default)]
    pub arguments_kept: ArgumentsKept,
    /// What else the call sends, as `params` and `_meta`, with secrets masked; JSON text if a value would round its
    /// numbers, and a short version where `arguments` is null; null if nothing
    #[serde(default)]
    pub other_params: Value,
    /// The risk level of the tool
    pub risk: String,
    /// The side effects of the tool
    pub side_effects: Vec<String>,
    /// Why approval is needed
    pub reasons: Vec<String>,
    /// Who may decide, where a rule says it; otherwise the owner of the agent and administrators may
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<String>,
    /// The address of the page where a person can decide about it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// When it was requested
    pub requested_at: String,
    /// When it can no longer be decided or used
    pub expires_at: String,
    /// Its current state
    pub state: Wire<ApprovalState>,
    /// When it was decided, expired or cancelled
    pub decided_at: Option<String>,
    /// Who decided
    pub decided_by: Option<String>,
    /// The reason they gave
    pub reason: Option<String>,
    /// Whether the approver changed the arguments
    pub edited: bool,
    /// The rule that was saved with the decision
    pub remembered_rule: Option<String>,
    /// When the approval was used
    pub claimed_at: Option<String>,
    /// When the call ended
    pub finished_at: Option<String>,
    /// The outcome of the call, as one word
    pub outcome: Option<String>,
}

/// A decision about a pending call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApprovalDecision {
    /// It may be made, once.
    Approve,
    /// It is denied; the agent may go on.
    DenyContinue,
    /// It is denied, and the agent should stop.
    DenyAbort,
}

/// What a denial means for the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DenyMode {
    /// It may go on.
    #[default]
    Continue,
    /// It should stop.
    Abort,
}

/// The calls that a saved rule covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RememberFor {
    /// The tool with exactly these arguments and other params.
    Exact,
    /// The tool with any arguments.
    Tool,
}

/// A decision about a pending call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// The agent; must be the one that called
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// The decision
    pub decision: ApprovalDecision,
    /// The reason, for the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other arguments for the call; all gates are evaluated again
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The same as JSON text, in which numbers stay as they are written
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_json: Option<String>,
    /// Save a rule: `exact` for exactly these arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule is valid: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would save; nothing is decided
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

/// The result of a decision, or the rule of a preview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Decided {
    /// The decision was made.
    Decided(Box<DecidedApproval>),
    /// It was a preview.
    Preview(RulePreview),
}

/// An approval that was just decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedApproval {
    /// The approval after the decision.
    #[serde(flatten)]
    pub approval: Approval,
    /// Why the call may still not be made
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The rule that a decision would save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulePreview {
    /// The rule, as it would be in the policy
    pub rule: String,
}

fn effect_of(is_preview: bool) -> Effect {
    if is_preview { Effect::Reads } else { DECIDES }
}

/// Decides about a pending call.
pub struct AgentsDecideRequest;

impl Operation for AgentsDecideRequest {
    type Request = DecideRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_decide_request";
    const TITLE: &'static str = "Decide about a pending call";
    const DESCRIPTION: &'static str =
        "Decide about a call that is pending approval. The first decision stands.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = DECIDES;
    const ERRORS: &'static [ErrorCode] = DECIDING;

    fn object(request: &DecideRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.call_id)
    }

    fn effect(request: &DecideRequest) -> Effect {
        effect_of(request.preview)
    }
}

/// Approves a pending call.
pub struct AgentsApproveRequest;

/// The call to approve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// The agent; must be the one that called
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// The reason, for the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other arguments for the call; all gates are evaluated again
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The same as JSON text, in which numbers stay as they are written
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_json: Option<String>,
    /// Save a rule: `exact` for exactly these arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule is valid: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would save; nothing is decided
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

impl From<ApproveRequest> for DecideRequest {
    fn from(request: ApproveRequest) -> Self {
        let ApproveRequest { agent_id, call_id, reason, arguments, arguments_json, remember, until, preview } =
            request;
        let decision = ApprovalDecision::Approve;
        Self { agent_id, call_id, decision, reason, arguments, arguments_json, remember, until, preview }
    }
}

impl Operation for AgentsApproveRequest {
    type Request = ApproveRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_approve_request";
    const TITLE: &'static str = "Approve a pending call";
    const DESCRIPTION: &'static str = "Approve a pending call: it can be made once, exactly as requested.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = DECIDES;
    const ERRORS: &'static [ErrorCode] = DECIDING;

    fn object(request: &ApproveRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.call_id)
    }

    fn effect(request: &ApproveRequest) -> Effect {
        effect_of(request.preview)
    }
}

/// Denies a pending call.
pub struct AgentsDenyRequest;

/// The call to deny.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenyRequest {
    /// The agent; must be the one that called
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// continue: the agent may go on; abort: it should stop [default: continue]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<DenyMode>,
    /// The reason, for the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Save a rule: `exact` for exactly these arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule is valid: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would save; nothing is decided
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

impl From<DenyRequest> for DecideRequest {
    fn from(request: DenyRequest) -> Self {
        let DenyRequest { agent_id, call_id, mode, reason, remember, until, preview } = request;
        let decision = match mode.unwrap_or_default() {
            DenyMode::Continue => ApprovalDecision::DenyContinue,
            DenyMode::Abort => ApprovalDecision::DenyAbort,
        };
        Self {
            agent_id,
            call_id,
            decision,
            reason,
            arguments: None,
            arguments_json: None,
            remember,
            until,
            preview,
        }
    }
}

impl Operation for AgentsDenyRequest {
    type Request = DenyRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_deny_request";
    const TITLE: &'static str = "Deny a pending call";
    const DESCRIPTION: &'static str = "Deny a pending call. It is not made.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = DECIDES;
    const ERRORS: &'static [ErrorCode] = DECIDING;

    fn object(request: &DenyRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.call_id)
    }

    fn effect(request: &DenyRequest) -> Effect {
        effect_of(request.preview)
    }
}

/// Lists approvals.
pub struct ApprovalsList;

/// The approvals to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListApprovalsRequest {
    /// Only calls of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Pending ones, past ones, or all [default: pending]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ApprovalsPart>,
    /// The maximum number [default: 100]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A subset of all approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApprovalsPart {
    /// Those that are pending.
    #[default]
    Pending,
    /// Those that are no longer pending.
    History,
    /// All of them.
    All,
}

/// Approvals, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalList {
    /// The approvals, newest first
    pub approvals: Vec<Approval>,
    /// The number of these approvals
    pub count: u64,
}

impl Operation for ApprovalsList {
    type Request = ListApprovalsRequest;
    type Response = ApprovalList;

    const NAME: &'static str = "approvals_list";
    const TITLE: &'static str = "List approvals";
    const DESCRIPTION: &'static str = "Calls that need or needed approval, newest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(request: &ListApprovalsRequest) -> ObjectRef<'_> {
        request.agent_id.as_deref().map_or(ObjectRef::Gateway, ObjectRef::Agent)
    }
}

/// Shows one approval.
pub struct ApprovalsGet;

/// One approval, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The approval, ap_…
    pub id: String,
}

impl Operation for ApprovalsGet {
    type Request = ApprovalRequest;
    type Response = Approval;

    const NAME: &'static str = "approvals_get";
    const TITLE: &'static str = "Show an approval";
    const DESCRIPTION: &'static str = "One call that needs or needed approval.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ApprovalRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}

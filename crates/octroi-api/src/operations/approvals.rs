//! Operations about calls that wait for a person.

use octroi_core::approval::ApprovalState;
use octroi_core::audit::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<AgentsDecideRequest>(),
    OperationEntry::of::<AgentsApproveRequest>(),
    OperationEntry::of::<AgentsDenyRequest>(),
    OperationEntry::of::<ApprovalsList>(),
    OperationEntry::of::<ApprovalsGet>(),
];

const DECIDING: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::InvalidArguments,
    ErrorCode::Conflict,
    ErrorCode::ManagedByFile,
    ErrorCode::InvalidPolicy,
    ErrorCode::StorageUnavailable,
];
const DECIDES: Effect = Effect::Changes { audit: Kind::ApprovalResolved };

/// A call about which a person was or is asked. Its arguments are shown without secrets, and shortened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id, ap_…
    pub id: String,
    /// The same again, for clients that know it under this name
    pub call_id: String,
    /// The call in the audit log
    pub invocation_id: String,
    /// The agent that asked; null for a person
    pub agent_id: Option<String>,
    /// The principal that asked
    pub principal: String,
    /// The canonical id of the tool
    pub tool: String,
    /// The arguments; a text if they were cut
    pub args: Value,
    /// How risky the tool is taken to be
    pub risk: String,
    /// What the tool does to the world
    pub side_effects: Vec<String>,
    /// Why a person is asked
    pub reasons: Vec<String>,
    /// When it was asked for
    pub requested_at: String,
    /// When it can no longer be decided or used
    pub expires_at: String,
    /// What has become of it
    pub state: Wire<ApprovalState>,
    /// When it was decided, expired or cancelled
    pub decided_at: Option<String>,
    /// Who decided
    pub decided_by: Option<String>,
    /// What they said about it
    pub reason: Option<String>,
    /// Whether the approver put other arguments in their place
    pub edited: bool,
    /// The rule that was made of the decision
    pub remembered_rule: Option<String>,
    /// When the approval was used
    pub claimed_at: Option<String>,
    /// When the call was over
    pub finished_at: Option<String>,
    /// How it went, in a word
    pub outcome: Option<String>,
}

/// What a person says to a call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApprovalDecision {
    /// It may be made, once.
    Approve,
    /// It may not; the agent goes on.
    DenyContinue,
    /// It may not, and the agent should stop.
    DenyAbort,
}

/// What a denial means to the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DenyMode {
    /// It goes on.
    #[default]
    Continue,
    /// It should stop.
    Abort,
}

/// For which calls a decision is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RememberFor {
    /// The tool with exactly these arguments.
    Exact,
    /// The tool with any arguments.
    Tool,
}

/// A decision about a call that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// The agent; must be the one that asked
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// What to say
    pub decision: ApprovalDecision,
    /// What to tell the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other arguments to make the call with; it is decided again with them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Make a rule of it: `exact` for these very arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule holds: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would make; nothing is decided
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

/// The answer to a decision: what was decided, or the rule that a preview shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Decided {
    /// It is decided.
    Decided(Box<DecidedApproval>),
    /// It was a preview.
    Preview(RulePreview),
}

/// An approval that was just decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedApproval {
    /// What has become of it.
    #[serde(flatten)]
    pub approval: Approval,
    /// Why the call may still not be made
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The rule that a decision would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RulePreview {
    /// The rule, as it would stand in the policy
    pub rule: String,
}

fn effect_of(is_preview: bool) -> Effect {
    if is_preview { Effect::Reads } else { DECIDES }
}

/// Decides about a call that waits.
pub struct AgentsDecideRequest;

impl Operation for AgentsDecideRequest {
    type Request = DecideRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_decide_request";
    const TITLE: &'static str = "Decide about a waiting call";
    const DESCRIPTION: &'static str =
        "Decide about a call that waits for a person. The first decision stands.";
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

/// Approves a call that waits.
pub struct AgentsApproveRequest;

/// Which call to approve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveRequest {
    /// The agent; must be the one that asked
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// What to tell the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other arguments to make the call with; it is decided again with them
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Make a rule of it: `exact` for these very arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule holds: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would make; nothing is decided
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

impl From<ApproveRequest> for DecideRequest {
    fn from(request: ApproveRequest) -> Self {
        let ApproveRequest { agent_id, call_id, reason, arguments, remember, until, preview } = request;
        let decision = ApprovalDecision::Approve;
        Self { agent_id, call_id, decision, reason, arguments, remember, until, preview }
    }
}

impl Operation for AgentsApproveRequest {
    type Request = ApproveRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_approve_request";
    const TITLE: &'static str = "Approve a waiting call";
    const DESCRIPTION: &'static str =
        "Approve a call that waits: it can be made once, exactly as it was asked for.";
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

/// Denies a call that waits.
pub struct AgentsDenyRequest;

/// Which call to deny.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenyRequest {
    /// The agent; must be the one that asked
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The approval, ap_…
    pub call_id: String,
    /// continue: the agent goes on; abort: it should stop [default: continue]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<DenyMode>,
    /// What to tell the agent and the history
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Make a rule of it: `exact` for these very arguments, `tool` for any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// How long the rule holds: a time like `8h`, or `forever` [default: 8h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only show the rule that `remember` would make; nothing is decided
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
        Self { agent_id, call_id, decision, reason, arguments: None, remember, until, preview }
    }
}

impl Operation for AgentsDenyRequest {
    type Request = DenyRequest;
    type Response = Decided;

    const NAME: &'static str = "agents_deny_request";
    const TITLE: &'static str = "Deny a waiting call";
    const DESCRIPTION: &'static str = "Deny a call that waits. It is not made.";
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

/// Which approvals to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListApprovalsRequest {
    /// Only those of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Those that wait, those that do not, or all [default: pending]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ApprovalsPart>,
    /// How many at most [default: 100]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A part of all approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ApprovalsPart {
    /// Those that wait for a person.
    #[default]
    Pending,
    /// Those that do not.
    History,
    /// All of them.
    All,
}

/// Approvals, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalList {
    /// The approvals, the newest first
    pub approvals: Vec<Approval>,
    /// How many these are
    pub count: u64,
}

impl Operation for ApprovalsList {
    type Request = ListApprovalsRequest;
    type Response = ApprovalList;

    const NAME: &'static str = "approvals_list";
    const TITLE: &'static str = "List approvals";
    const DESCRIPTION: &'static str = "Calls about which a person was or is asked, the newest first.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(request: &ListApprovalsRequest) -> ObjectRef<'_> {
        request.agent_id.as_deref().map_or(ObjectRef::Gateway, ObjectRef::Agent)
    }
}

/// Looks at one approval.
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
    const DESCRIPTION: &'static str = "One call about which a person was or is asked.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ApprovalRequest) -> ObjectRef<'_> {
        ObjectRef::Approval(&request.id)
    }
}

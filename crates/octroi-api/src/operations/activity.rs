//! Operations on calls: what agents asked for, what was decided about it, and how it went.

use octroi_core::audit::Ruling;
use octroi_core::decision::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approvals::Approval;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] =
    &[OperationEntry::of::<CallsList>(), OperationEntry::of::<CallsGet>()];

/// A call of a tool, put together from its audit records. A call that was asked about is one, from the question to
/// its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Its id
    pub id: String,
    /// The number of its first audit record
    pub seq: u64,
    /// When it was received, in milliseconds since 1970
    pub at_ms: u64,
    /// Who called, and for which agent
    pub caller: Caller,
    /// The server
    pub server: Option<String>,
    /// The canonical id of the tool
    pub tool: String,
    /// What was decided, and why
    pub decided: CallDecision,
    /// `running`, `waiting` for a person, `approved` and not made yet, `denied`, or how it ended, as `completed`
    pub outcome: String,
    /// How long the server took, in milliseconds
    pub duration_ms: Option<u64>,
    /// The approval that was asked for, ap_…
    pub approval: Option<String>,
}

/// Who called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caller {
    /// The agent
    pub agent: Option<String>,
    /// The owner of the agent
    pub owner: Option<String>,
    /// The person who tried the call as the agent, if one did
    pub person: Option<String>,
    /// The session of the client, as records name it
    pub session: Option<String>,
}

/// What was decided about a call, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDecision {
    /// The decision
    pub decision: Option<Wire<Ruling>>,
    /// The gate that decided
    pub gate: Option<String>,
    /// The rule, clause or program that decided
    pub rule: Option<String>,
    /// The reason
    pub reason: Option<String>,
}

/// A page of calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallPage {
    /// The calls, newest first; with `after`, those that began or changed since then, oldest first
    pub calls: Vec<Call>,
    /// The value of `before` for the next page; null at the end
    pub next: Option<u64>,
    /// The value of `after` that continues with what comes later
    pub position: u64,
    /// Whether there is more after `position` already
    #[serde(default)]
    pub more: bool,
}

/// Lists calls.
pub struct CallsList;

/// The calls to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCallsRequest {
    /// At or after this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Before this moment, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// The agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The server
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The canonical id of the tool; `*` matches any characters
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The session, as records name it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The decision
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Wire<Ruling>>,
    /// The outcome, as calls have it; `failure` for all but `completed`, `running`, `waiting` and `approved`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The maximum number, up to 500 [default: 50]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// `next` of the previous page, to continue; not with `after`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// `position` of an earlier page: what began or changed since then
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

impl Operation for CallsList {
    type Request = ListCallsRequest;
    type Response = CallPage;

    const NAME: &'static str = "calls_list";
    const TITLE: &'static str = "List calls";
    const DESCRIPTION: &'static str = "Calls of tools with their decision and outcome, newest first; with `after`, only \
        what began or changed since. Members see those of their own agents.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::AuditUnavailable,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &ListCallsRequest) -> ObjectRef<'_> {
        request.agent.as_deref().map_or(ObjectRef::Gateway, ObjectRef::PastAgent)
    }
}

/// Shows one call.
pub struct CallsGet;

/// A call, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// The id of the call, or of its approval, ap_…
    pub id: String,
}

/// Everything that is known of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallDetail {
    /// The call
    #[serde(flatten)]
    pub call: Call,
    /// What was sent, as recorded
    pub request: CallSent,
    /// What was answered, as recorded; null if nothing was yet
    pub answer: Option<CallAnswer>,
    /// The verdicts of all gates, in their order
    pub gates: Vec<CallGate>,
    /// What happened, oldest first
    pub events: Vec<CallEvent>,
    /// The approval as it is now; null if nobody was asked, or it is no longer kept
    pub approval_record: Option<Box<Approval>>,
}

/// What a call sent, with secrets redacted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallSent {
    /// The arguments; text if they were shortened
    pub arguments: Value,
    /// What else it sent, as `params` and `_meta`; null if nothing
    #[serde(default)]
    pub other_params: Value,
    /// Whether `arguments` are all that was sent, so that the call can be repeated
    pub is_whole: bool,
    /// The risk level of the tool at that time
    pub risk: Option<String>,
    /// The side effects of the tool at that time
    pub side_effects: Vec<String>,
    /// The hash of the tool's definition at that time
    pub definition: Option<String>,
    /// The mode of the agent
    pub mode: Option<String>,
    /// The revision of the policies that decided
    pub revision: Option<u64>,
}

/// What a call was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallAnswer {
    /// The outcome in one word
    pub outcome: String,
    /// The length of the result in bytes
    pub bytes: Option<u64>,
    /// The beginning of its first text, if that is recorded
    pub summary: Option<String>,
}

/// The verdict of a gate on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallGate {
    /// The gate
    pub gate: String,
    /// Its outcome
    pub outcome: Wire<Outcome>,
    /// Its reason
    pub reason: Option<String>,
    /// The rule, clause or program that decided
    pub by: Option<String>,
    /// The rule or profile that answered in the place of a person
    pub answered_by: Option<String>,
}

/// Something that happened to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallEvent {
    /// The number of its audit record
    pub seq: u64,
    /// When, in milliseconds since 1970
    pub at_ms: u64,
    /// The kind of record, as `tool_invocation_start`
    pub kind: String,
    /// The principal that did it
    pub by: String,
    /// What came of it, in one word
    pub what: String,
    /// The reason that was given
    pub reason: Option<String>,
}

impl Operation for CallsGet {
    type Request = CallRequest;
    type Response = CallDetail;

    const NAME: &'static str = "calls_get";
    const TITLE: &'static str = "Show a call";
    const DESCRIPTION: &'static str = "One call: what was sent and answered as recorded, the verdict of every gate, and what happened when.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::AuditUnavailable, ErrorCode::StorageUnavailable];

    fn object(_: &CallRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

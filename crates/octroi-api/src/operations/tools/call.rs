//! Calling a tool as an agent, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::{ApiError, ErrorCode};
use crate::operation::{Effect, Operation, RestAnswer, RestOutcome};
use crate::route::Route;

/// The path of calls in REST.
const PATH: &str = "/api/mcp/call";

/// What a call can end with instead of an answer of the tool.
const OUTCOMES: RestOutcome = RestOutcome {
    errors: &[
        ErrorCode::PolicyDenied,
        ErrorCode::PolicyDeniedContinue,
        ErrorCode::PolicyBackendReservedMisuse,
        ErrorCode::PolicyEvaluatorError,
        ErrorCode::Busy,
        ErrorCode::QuotaExceeded,
        ErrorCode::LimitExceeded,
        ErrorCode::ApprovalExpired,
        ErrorCode::ApprovalUnusable,
        ErrorCode::ToolNotFound,
        ErrorCode::ToolAmbiguous,
        ErrorCode::ToolDisabled,
        ErrorCode::ToolChangedNeedsReview,
        ErrorCode::ServerUnavailable,
        ErrorCode::NeedsAuth,
        ErrorCode::CallTimeout,
        ErrorCode::OutcomeUnknown,
        ErrorCode::ResultTooLarge,
        ErrorCode::InvalidArguments,
        ErrorCode::MissingCapability,
    ],
    may_wait: true,
    read: CallResponse::rest_answer,
};

/// Calls a tool as an agent.
pub struct ToolsCall;

/// The tool to call, and the agent to call it as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// The agent whose gates apply to the call
    pub agent: String,
    /// The tool: its canonical id, `server.tool`, or the name that clients call it by
    pub tool: String,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// The result of a call. Its members depend on the outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallResponse {
    /// The outcome of the call
    pub outcome: CallOutcome,
    /// What came of it, for people and programs.
    #[serde(flatten)]
    pub told: ToolResult,
    /// The pending approval, ap_…
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Why approval is needed
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// When the approval expires
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// How to go on, if nothing was done yet
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Why there is no result
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The error, with its `code` and `hint`; the server's own if it answered with one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
    /// The tool's answer as it is: a result of MCP's `tools/call`, with `content`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// The agent as which it was called
    pub agent: String,
    /// The tool, as the request names it
    pub tool: String,
}

/// What came of a call, whatever kind of answer the tool gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Whether the tool answered and did what it was asked to
    #[serde(default)]
    pub success: bool,
    /// The structured content of the answer, or its text; null if the tool did not answer
    #[serde(default)]
    pub payload: Value,
    /// The answer as text: text parts as they are, each image, audio, blob and resource in one line with type and size
    #[serde(default)]
    pub text: String,
    /// The id of the call in the audit log
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation_id: Option<String>,
    /// The canonical id of the tool, as `mcp:server:tool`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// The side effects of the tool, as `fs.write`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared_side_effects: Vec<String>,
    /// When the call arrived, in milliseconds since 1970
    #[serde(default)]
    pub started_at_ms: u64,
    /// When it was answered, in milliseconds since 1970
    #[serde(default)]
    pub completed_at_ms: u64,
    /// How long it took, with all gates, in milliseconds
    #[serde(default)]
    pub duration_ms: u64,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CallOutcome {
    /// The tool answered.
    Completed,
    /// The tool ran and reported an error.
    ToolError,
    /// It needs approval; after that the identical call is allowed.
    Waiting,
    /// A gate, a policy or a person denied it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It could not be made, or its outcome is unknown.
    Failed,
}

impl CallResponse {
    /// The gateway's error, if there is no answer of the tool. Errors of servers have other codes.
    pub fn failure(&self) -> Option<ApiError> {
        let mut error = self.error.clone()?;
        error.insert("message".to_owned(), self.message.clone().unwrap_or_default().into());
        serde_json::from_value(Value::Object(error)).ok()
    }

    fn rest_answer(response: &Value) -> RestAnswer {
        let Ok(response) = Self::deserialize(response) else {
            let error = ApiError::new(ErrorCode::InternalError, "the outcome of the call cannot be read");
            return RestAnswer::Failed(Box::new(error));
        };
        match response.outcome {
            CallOutcome::Completed | CallOutcome::ToolError => RestAnswer::Done,
            CallOutcome::Waiting => RestAnswer::Waiting,
            CallOutcome::Denied | CallOutcome::Expired | CallOutcome::Failed => {
                let message = response.message.clone().unwrap_or_default();
                let error = response.failure();
                let error = error.unwrap_or_else(|| ApiError::new(ErrorCode::InternalError, message));
                let call = response.told.invocation_id;
                RestAnswer::Failed(Box::new(match call {
                    Some(call) => error.with_detail("invocation_id", call),
                    None => error,
                }))
            }
        }
    }
}

impl Operation for ToolsCall {
    type Request = CallRequest;
    type Response = CallResponse;

    const NAME: &'static str = "tools_call";
    const TITLE: &'static str = "Call a tool as an agent";
    const DESCRIPTION: &'static str = "Call a server's tool as an agent: its gates apply, and its name and yours are recorded. A call \
         that needs approval is not waited for; approve it and call again with the same arguments.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Calls;
    // The outcome of a call is an answer, not an error, as soon as a tool was found.
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;
    const REST: &'static [Route] = &[Route::post(PATH)];
    const REST_OUTCOME: Option<RestOutcome> = Some(OUTCOMES);

    fn object(request: &CallRequest) -> ObjectRef<'_> {
        ObjectRef::Agent(&request.agent)
    }
}

/// Calls a tool, for an agent. In MCP that is `tools/call` of the tool.
pub struct ToolsCallOwn;

/// The tool to call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnCallRequest {
    /// The agent; no other than the one whose token it is [default: that one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool: its canonical id, `server.tool`, or the name that clients call it by
    pub tool: String,
    /// The arguments of the call [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

impl Operation for ToolsCallOwn {
    type Request = OwnCallRequest;
    type Response = CallResponse;

    const NAME: &'static str = "tools_call";
    const TITLE: &'static str = "Call a tool";
    const DESCRIPTION: &'static str = "Call a tool of a server. A call that needs approval is not waited for; make it again once it is approved.";
    const ACCESS: Access = Access::OwnAgent;
    const EFFECT: Effect = Effect::Calls;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;
    const REST: &'static [Route] = &[Route::post(PATH)];
    const REST_OUTCOME: Option<RestOutcome> = Some(OUTCOMES);
    const IS_TOOL: bool = false;

    fn object(request: &OwnCallRequest) -> ObjectRef<'_> {
        request.agent.as_deref().map_or(ObjectRef::Caller, ObjectRef::Agent)
    }
}

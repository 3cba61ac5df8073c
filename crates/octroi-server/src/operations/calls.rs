//! Calling a server's tool on behalf of an agent: with the same gates, approvals and pins as for a call of
//! that agent, and a record that names the agent and the person.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_api::error::META_ERROR;
use octroi_api::operations::tools::{CallOutcome, CallRequest, CallResponse, OwnCallRequest, ToolResult};
use octroi_core::audit::CallId;
use octroi_core::tool::ToolDescriptor;
use octroi_core::{CanonicalId, Principal};
use octroi_gateway::{Answer, Asked, Caller, Client, NoClient, View};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::outcome::ToolOutcome;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, envelope};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::context::{OperationContext, Requester};
use super::tools::TOOLS_HINT;
use crate::error::OperationError;

/// A person calls a tool as an agent.
pub(super) async fn call(
    context: &OperationContext,
    request: CallRequest,
) -> Result<CallResponse, OperationError> {
    let CallRequest { agent, tool, arguments } = request;
    let owner = context.gateway.identity().owner_of(&agent);
    let acting = acting_as(&agent, &owner, &context.requester);
    perform(context, acting, agent, tool, arguments).await
}

/// An agent calls a tool, over an interface that has no `tools/call`.
pub(super) async fn call_own(
    context: &OperationContext,
    request: OwnCallRequest,
) -> Result<CallResponse, OperationError> {
    let OwnCallRequest { agent: _, tool, arguments } = request;
    let principal = context.principal();
    let agent = principal.agent_id().ok_or(OperationError::PeopleOnly)?.to_string();
    let acting = acting(principal.clone(), &context.requester);
    perform(context, acting, agent, tool, arguments).await
}

async fn perform(
    context: &OperationContext,
    mut acting: Caller,
    agent: String,
    tool: String,
    arguments: Option<Map<String, Value>>,
) -> Result<CallResponse, OperationError> {
    let identified = Arc::new(IdentifiedCall::default());
    acting.client = Arc::clone(&identified) as Arc<dyn Client>;
    let params = json!({"name": tool, "arguments": arguments.unwrap_or_default()}).to_string();
    let unwritable =
        || OperationError::InvalidArguments("the call cannot be written as a request".to_owned());
    let request = envelope::request(&Id::number(1), &Method::ToolsCall, params.as_bytes());
    let request = Envelope::parse(request).map_err(|_| unwritable())?;
    let params = Params::read(request.params()).map_err(|_| unwritable())?;
    let clock = context.gateway.clock();
    let (begun, started_at_ms) = (clock.instant(), clock.now_ms());
    let answer = context.gateway.request(&View::Merged, &acting, &request, &params).await;
    let elapsed = clock.instant().saturating_duration_since(begun);
    let is_for_person = context.principal().is_person();
    let CallSummary { outcome, message, error, result } = CallSummary::of(answer, is_for_person)?;
    let detail = |name: &str| error.as_ref().and_then(|error| error.get(name)).cloned().unwrap_or_default();
    let is_waiting = outcome == CallOutcome::Waiting;
    let text = |name: &str| detail(name).as_str().filter(|_| is_waiting).map(str::to_owned);
    let reasons = detail("reasons");
    let reasons = reasons.as_array().into_iter().flatten().filter(|_| is_waiting);
    let reasons = reasons.filter_map(Value::as_str).map(str::to_owned).collect();
    let (approval, expires, hint) = (text("approval"), text("expires"), text("hint"));
    let told = ToolResult {
        started_at_ms: u64::try_from(started_at_ms).unwrap_or_default(),
        completed_at_ms: u64::try_from(clock.now_ms()).unwrap_or_default(),
        duration_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        ..identified.tell(outcome, result.as_ref(), message.as_deref())
    };
    let error = match outcome {
        CallOutcome::Waiting => None,
        CallOutcome::ToolError => error.or_else(|| Some(tool_error(&told.text))),
        _ => error,
    };
    Ok(CallResponse { outcome, told, approval, reasons, expires, hint, message, error, result, agent, tool })
}

/// The error of a tool that ran and failed.
fn tool_error(text: &str) -> Map<String, Value> {
    let code = ErrorCode::ToolExecutionError;
    let members = [("code", json!(code)), ("message", json!(text)), ("hint", json!(code.spec().hint))];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What the pipeline says about a call while it handles it. The caller can be neither notified nor asked.
#[derive(Default)]
struct IdentifiedCall(OnceLock<(CallId, CanonicalId, Vec<String>)>);

impl Client for IdentifiedCall {
    fn notify(&self, _message: Bytes) {}

    fn ask(&self, method: &Method, params: Bytes) -> Asked<'_> {
        NoClient.ask(method, params)
    }

    fn identified(&self, call: CallId, tool: &ToolDescriptor) {
        let side_effects = tool.side_effects.iter().map(str::to_owned).collect();
        // A request is one call.
        let _ = self.0.set((call, tool.id.clone(), side_effects));
    }
}

impl IdentifiedCall {
    /// The answer of the tool, if there is one, for people and programs.
    fn tell(
        &self,
        outcome: CallOutcome,
        result: Option<&Map<String, Value>>,
        message: Option<&str>,
    ) -> ToolResult {
        let answered = match (outcome, result) {
            (CallOutcome::Completed | CallOutcome::ToolError, Some(result)) => {
                let ToolOutcome { is_success, text, payload } =
                    ToolOutcome::read(&Value::Object(result.clone()));
                ToolResult { success: is_success, text, payload, ..ToolResult::default() }
            }
            // The server answered with an error of its own instead of a result.
            (CallOutcome::ToolError, None) => {
                let text = message.unwrap_or("the tool failed without a message").to_owned();
                ToolResult { payload: json!(text), text, ..ToolResult::default() }
            }
            _ => ToolResult::default(),
        };
        match self.0.get() {
            None => answered,
            Some((call, tool, side_effects)) => ToolResult {
                invocation_id: Some(call.to_string()),
                tool_id: Some(tool.to_string()),
                declared_side_effects: side_effects.clone(),
                ..answered
            },
        }
    }
}

/// The names of the tools that an agent sees.
pub(super) async fn own_names(context: &OperationContext) -> Result<HashSet<String>, OperationError> {
    let unreadable = || OperationError::Internal("the list of tools cannot be read".to_owned());
    let acting = acting(context.principal().clone(), &context.requester);
    let request = envelope::request(&Id::number(1), &Method::ToolsList, b"{}");
    let request = Envelope::parse(request).map_err(|_| unreadable())?;
    let params = Params::read(request.params()).map_err(|_| unreadable())?;
    let Answer::Result(result) = context.gateway.request(&View::Merged, &acting, &request, &params).await
    else {
        return Err(unreadable());
    };
    let result: ListedTools = serde_json::from_slice(&result).map_err(|_| unreadable())?;
    Ok(result.tools.into_iter().map(|tool| tool.name).collect())
}

/// The part of the result of `tools/list` that says which tools there are.
#[derive(Deserialize)]
struct ListedTools {
    tools: Vec<ListedTool>,
}

#[derive(Deserialize)]
struct ListedTool {
    name: String,
}

/// The person as the agent.
fn acting_as(agent: &str, owner: &str, requester: &Requester) -> Caller {
    let person = &requester.principal;
    let caller = acting(Principal::trying(person, agent, owner), requester);
    Caller { on_behalf_of: Some(Arc::clone(person.id())), ..caller }
}

/// The caller of a tool whose client called an operation: it does not expect a server's questions.
fn acting(principal: Principal, requester: &Requester) -> Caller {
    Caller {
        owner: Arc::clone(principal.id()),
        principal,
        on_behalf_of: None,
        era: Era::Legacy,
        capabilities: ClientCapabilities::default(),
        info: requester.client_info.clone(),
        log_level: None,
        has_admin_token: requester.has_admin_token,
        base: None,
        session: None,
        client: Arc::new(NoClient),
    }
}

/// How a call ended, as read from its answer.
#[derive(Debug)]
struct CallSummary {
    outcome: CallOutcome,
    message: Option<String>,
    error: Option<Map<String, Value>>,
    result: Option<Map<String, Value>>,
}

impl CallSummary {
    /// Fails where there was no call to decide about.
    fn of(answer: Answer, is_for_person: bool) -> Result<Self, OperationError> {
        let summary = match answer {
            Answer::Result(result) => Self::of_result(&result),
            Answer::Error(error) => Self::of_error(error),
            Answer::ErrorJson { json, .. } => {
                let error: Map<String, Value> = serde_json::from_slice(&json).unwrap_or_default();
                let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
                Ok(Self { outcome: CallOutcome::ToolError, message, error: Some(error), result: None })
            }
        }?;
        let error = if is_for_person { summary.error.map(for_person) } else { summary.error };
        Ok(Self { error, ..summary })
    }

    fn of_result(result: &Bytes) -> Result<Self, OperationError> {
        let result: Value = serde_json::from_slice(result).unwrap_or_default();
        // Only Octroi writes this; what servers write there is removed.
        let error = result.get("_meta").and_then(|meta| meta.get(META_ERROR)).and_then(Value::as_object);
        if let Some(error) = error.cloned() {
            let message = result.pointer("/content/0/text").and_then(Value::as_str).map(str::to_owned);
            return Self::failed(code_of(&error), message, error);
        }
        let is_error = result.get("isError") == Some(&Value::Bool(true));
        let outcome = if is_error { CallOutcome::ToolError } else { CallOutcome::Completed };
        Ok(Self { outcome, message: None, error: None, result: result.as_object().cloned() })
    }

    fn of_error(error: RpcError) -> Result<Self, OperationError> {
        let data = error.data.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        // The message of a denial begins with its code; its reason alone is in the data.
        let reason = data.get("reason").and_then(Value::as_str).map(str::to_owned);
        Self::failed(code_of(&data), reason.or(Some(error.message)), data)
    }

    fn failed(
        code: Option<ErrorCode>,
        message: Option<String>,
        error: Map<String, Value>,
    ) -> Result<Self, OperationError> {
        let outcome = match code {
            Some(ErrorCode::ToolNotFound | ErrorCode::ToolAmbiguous | ErrorCode::NotFound) => {
                return Err(OperationError::not_found_in(message.unwrap_or_default(), TOOLS_HINT));
            }
            Some(ErrorCode::ApprovalPending) => CallOutcome::Waiting,
            Some(ErrorCode::ApprovalExpired) => CallOutcome::Expired,
            Some(
                ErrorCode::PolicyDenied
                | ErrorCode::PolicyDeniedContinue
                | ErrorCode::PolicyEvaluatorError
                | ErrorCode::ToolDisabled
                | ErrorCode::ToolChangedNeedsReview
                | ErrorCode::QuotaExceeded,
            ) => CallOutcome::Denied,
            _ => CallOutcome::Failed,
        };
        Ok(Self { outcome, message, error: Some(error), result: None })
    }
}

/// The call was made as an agent, and a person reads the answer.
fn for_person(mut error: Map<String, Value>) -> Map<String, Value> {
    if let Some(code) = code_of(&error)
        && error.get("hint").and_then(Value::as_str) == Some(code.agent_hint())
    {
        error.insert("hint".to_owned(), json!(code.spec().hint));
    }
    error
}

fn code_of(error: &Map<String, Value>) -> Option<ErrorCode> {
    error.get("code").and_then(Value::as_str).and_then(ErrorCode::parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: &Value) -> Answer {
        Answer::Result(Bytes::from(value.to_string()))
    }

    #[test]
    fn every_answer_has_one_outcome() {
        let marked = |code: &str| json!({"content": [{"type": "text", "text": "no"}], "isError": true, "_meta": {"octroi/error": {"code": code}}});
        let refused = |code: i64, word: &str| {
            let data = json!({"type": "policy_denied", "reason": "r", "code": word});
            Answer::Error(RpcError::new(code, format!("{word}: r")).with_data(data))
        };
        let server =
            Answer::ErrorJson { code: -1, json: Bytes::from_static(b"{\"code\":-1,\"message\":\"m\"}") };
        for (answer, expected) in [
            (result(&json!({"content": []})), CallOutcome::Completed),
            (result(&json!({"content": [], "isError": true})), CallOutcome::ToolError),
            (server, CallOutcome::ToolError),
            (result(&marked("approval_pending")), CallOutcome::Waiting),
            (result(&marked("policy_denied_continue")), CallOutcome::Denied),
            (result(&marked("tool_disabled")), CallOutcome::Denied),
            (result(&marked("approval_expired")), CallOutcome::Expired),
            (result(&marked("server_unavailable")), CallOutcome::Failed),
            (result(&marked("invalid_arguments")), CallOutcome::Failed),
            (refused(-32950, "policy_denied"), CallOutcome::Denied),
            (refused(-32951, "tool_changed_needs_review"), CallOutcome::Denied),
            (refused(-32953, "policy_evaluator_error"), CallOutcome::Denied),
            (refused(-32954, "quota_exceeded"), CallOutcome::Denied),
            (refused(-32955, "approval_expired"), CallOutcome::Expired),
            (
                Answer::Error(RpcError::new(-32954, "busy").with_data(json!({"code": "busy"}))),
                CallOutcome::Failed,
            ),
        ] {
            let description = format!("{answer:?}");
            assert_eq!(CallSummary::of(answer, true).expect(&description).outcome, expected, "{description}");
        }
        let busy = json!({"code": "busy", "hint": ErrorCode::Busy.agent_hint()});
        let busy = CallSummary::of(Answer::Error(RpcError::new(-32954, "m").with_data(busy)), true).unwrap();
        assert_eq!(busy.error.unwrap()["hint"], ErrorCode::Busy.spec().hint, "a person reads it");
        let unknown =
            RpcError::invalid_params("unknown tool `x`").with_data(json!({"code": "tool_not_found"}));
        let unknown = CallSummary::of(Answer::Error(unknown), true).expect_err("there was no call");
        assert_eq!(unknown.to_string(), "unknown tool `x`");
    }
}

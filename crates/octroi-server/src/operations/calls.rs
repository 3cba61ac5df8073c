//! Calling a server's tool on behalf of an agent: with the same gates, approvals and pins as for a call of
//! that agent, and a record that names the agent and the person.

use std::sync::Arc;

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_api::error::META_ERROR;
use octroi_api::operations::tools::{CallOutcome, CallRequest, CallResponse};
use octroi_core::Principal;
use octroi_gateway::{Answer, Caller, NoClient, View};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, envelope};
use serde_json::{Map, Value, json};

use super::context::{OperationContext, Requester};
use super::tools::TOOLS_HINT;
use crate::error::OperationError;

pub(super) async fn call(
    context: &OperationContext,
    request: CallRequest,
) -> Result<CallResponse, OperationError> {
    let CallRequest { agent, tool, arguments } = request;
    let owner = context.gateway.identity().owner_of(&agent);
    let acting = acting_as(&agent, &owner, &context.requester);
    let params = json!({"name": tool, "arguments": arguments.unwrap_or_default()}).to_string();
    let unwritable =
        || OperationError::InvalidArguments("the call cannot be written as a request".to_owned());
    let request = envelope::request(&Id::number(1), &Method::ToolsCall, params.as_bytes());
    let request = Envelope::parse(request).map_err(|_| unwritable())?;
    let params = Params::read(request.params()).map_err(|_| unwritable())?;
    let answer = context.gateway.request(&View::Merged, &acting, &request, &params).await;
    let CallSummary { outcome, message, error, result } = CallSummary::of(answer)?;
    let detail = |name: &str| error.as_ref().and_then(|error| error.get(name)).cloned().unwrap_or_default();
    let is_waiting = outcome == CallOutcome::Waiting;
    let text = |name: &str| detail(name).as_str().filter(|_| is_waiting).map(str::to_owned);
    let reasons = detail("reasons");
    let reasons = reasons.as_array().into_iter().flatten().filter(|_| is_waiting);
    Ok(CallResponse {
        outcome,
        approval: text("approval"),
        reasons: reasons.filter_map(Value::as_str).map(str::to_owned).collect(),
        expires: text("expires"),
        message,
        error: error.filter(|_| !is_waiting),
        result,
        agent,
        tool,
    })
}

/// The person as the agent.
fn acting_as(agent: &str, owner: &str, requester: &Requester) -> Caller {
    let person = &requester.principal;
    let principal = Principal::trying(person, agent, owner);
    Caller {
        owner: Arc::clone(principal.id()),
        principal,
        on_behalf_of: Some(Arc::clone(person.id())),
        era: Era::Legacy,
        // The person's client called a management tool: it does not expect a server's questions.
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
    fn of(answer: Answer) -> Result<Self, OperationError> {
        match answer {
            Answer::Result(result) => Self::of_result(&result),
            Answer::Error(error) => Self::of_error(error),
            Answer::ErrorJson { json, .. } => {
                let error: Map<String, Value> = serde_json::from_slice(&json).unwrap_or_default();
                let message = error.get("message").and_then(Value::as_str).map(str::to_owned);
                Ok(Self { outcome: CallOutcome::ToolError, message, error: Some(error), result: None })
            }
        }
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
        Ok(Self { outcome, message, error: Some(for_person(code, error)), result: None })
    }
}

/// The call was made as an agent, and a person reads the answer.
fn for_person(code: Option<ErrorCode>, mut error: Map<String, Value>) -> Map<String, Value> {
    if let Some(code) = code
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
            assert_eq!(CallSummary::of(answer).expect(&description).outcome, expected, "{description}");
        }
        let busy = json!({"code": "busy", "hint": ErrorCode::Busy.agent_hint()});
        let busy = CallSummary::of(Answer::Error(RpcError::new(-32954, "m").with_data(busy))).unwrap();
        assert_eq!(busy.error.unwrap()["hint"], ErrorCode::Busy.spec().hint, "a person reads it");
        let unknown =
            RpcError::invalid_params("unknown tool `x`").with_data(json!({"code": "tool_not_found"}));
        let unknown = CallSummary::of(Answer::Error(unknown)).expect_err("there was no call");
        assert_eq!(unknown.to_string(), "unknown tool `x`");
    }
}

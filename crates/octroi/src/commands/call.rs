//! `octroi call`: a person calls a server's tool as an agent.

use std::time::Duration;

use octroi_api::operations::approvals::{Approval, ApprovalRequest, ApprovalsGet};
use octroi_api::operations::tools::{
    CallOutcome, CallRequest, CallResponse, ToolRequest, ToolResult, ToolsCall, ToolsGet,
};
use octroi_api::{ErrorCode, Exit};
use octroi_core::approval::ApprovalState;
use serde_json::{Map, Value, json};

use crate::cli::calls::CallTool;
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};

/// How often to check whether the approval is decided.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const EXAMPLE: &str =
    "write them like `path=/tmp/x lines=3`, or `--json-args '{\"path\":\"/tmp/x\",\"lines\":3}'`";

pub(super) async fn run(options: &CallTool) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    let request = CallRequest {
        agent: options.agent.clone(),
        tool: options.tool.clone(),
        arguments: Some(arguments(&client, options).await?),
    };
    let mut response = client.call::<ToolsCall>(&request).await?;
    if let Some(id) = response.approval.clone().filter(|_| options.wait) {
        printer::say(&format!("waiting for approval {id}: `octroi approve {id}` or `octroi deny {id}`"));
        response = match wait_for_decision(&client, &id).await? {
            WaitOutcome::Approved => client.call::<ToolsCall>(&request).await?,
            WaitOutcome::Not(outcome, message) => CallResponse {
                outcome,
                message: Some(message),
                reasons: Vec::new(),
                expires: None,
                hint: None,
                ..response
            },
        };
    }
    if options.target.json {
        printer::json(&response);
    } else if response.result.is_some() {
        let lines = answer_lines(&response.told);
        if lines.is_empty() {
            printer::say("the tool answered with nothing");
        }
        for line in lines {
            printer::data(&line);
        }
    }
    exit_result(&response)
}

/// The arguments from the command line. The tool's schema decides the type of each value.
async fn arguments(client: &Client, options: &CallTool) -> Result<Map<String, Value>, Failure> {
    let mut arguments = match options.json_args.as_deref().map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(arguments))) => arguments,
        Some(Ok(_)) => return Err(Failure::usage("--json-args must be a JSON object").hint(EXAMPLE)),
        Some(Err(error)) => {
            return Err(Failure::usage("--json-args is not JSON").cause(error).hint(EXAMPLE));
        }
    };
    if options.arguments.is_empty() {
        return Ok(arguments);
    }
    let tool = client.call::<ToolsGet>(&ToolRequest { tool_id: options.tool.clone() }).await?;
    for typed in &options.arguments {
        let Some((name, value)) = typed.split_once('=') else {
            return Err(Failure::usage(format!("`{typed}` is not KEY=VALUE")).hint(EXAMPLE));
        };
        let kind = tool.input_schema["properties"][name]["type"].as_str();
        let value = typed_value(kind, value).map_err(|expected| {
            let article = if expected.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
            Failure::usage(format!("`{name}` must be {article} {expected}, not `{value}`"))
                .hint(format!("`octroi tools show {}` shows its arguments", options.tool))
        })?;
        arguments.insert(name.to_owned(), value);
    }
    Ok(arguments)
}

/// A value of the type that the schema declares. Without a type it is JSON if it parses as JSON, else text.
fn typed_value(kind: Option<&str>, typed: &str) -> Result<Value, String> {
    let read = || serde_json::from_str::<Value>(typed).ok();
    match kind {
        Some("string") => Ok(json!(typed)),
        Some(kind @ ("number" | "integer" | "boolean" | "array" | "object")) => {
            let fits = |value: &Value| match kind {
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => value.is_number(),
            };
            read().filter(fits).ok_or_else(|| kind.to_owned())
        }
        Some(_) | None => Ok(read().unwrap_or_else(|| json!(typed))),
    }
}

/// How an approval was decided.
#[derive(Debug, PartialEq, Eq)]
enum WaitOutcome {
    /// The call may be made.
    Approved,
    /// The call is not made: its outcome, and why.
    Not(CallOutcome, String),
}

/// Waits until the approval is decided.
async fn wait_for_decision(client: &Client, id: &str) -> Result<WaitOutcome, Failure> {
    let request = ApprovalRequest { id: id.to_owned() };
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(decision) = decision(&client.call::<ApprovalsGet>(&request).await?) {
            return Ok(decision);
        }
    }
}

/// How it was decided; `None` while it is pending.
fn decision(approval: &Approval) -> Option<WaitOutcome> {
    Some(match approval.state.0 {
        ApprovalState::Pending => return None,
        ApprovalState::Approved => WaitOutcome::Approved,
        ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => {
            let person = approval.decided_by.as_deref().unwrap_or_default();
            let reason = approval.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            WaitOutcome::Not(CallOutcome::Denied, format!("{person} said no{reason}"))
        }
        ApprovalState::Expired => WaitOutcome::Not(CallOutcome::Expired, "nobody decided in time".to_owned()),
        state @ (ApprovalState::Cancelled
        | ApprovalState::Orphaned
        | ApprovalState::Claimed
        | ApprovalState::Done) => {
            WaitOutcome::Not(CallOutcome::Failed, format!("the approval is {}", state.as_str()))
        }
    })
}

/// The exit of the command for this outcome.
fn exit_result(response: &CallResponse) -> Result<(), Failure> {
    let message = visible(response.message.as_deref().unwrap_or_default());
    Err(match response.outcome {
        CallOutcome::Completed => return Ok(()),
        // The result was printed already.
        CallOutcome::ToolError if response.result.is_some() => {
            Failure::answered(ErrorCode::ToolExecutionError, "the tool reported an error")
        }
        CallOutcome::ToolError => Failure::of(ErrorCode::ToolExecutionError, message),
        CallOutcome::Waiting => waiting(response),
        CallOutcome::Denied => denied(response, &message),
        CallOutcome::Expired => {
            Failure::of(ErrorCode::ApprovalExpired, message).hint("run the command again to ask anew")
        }
        CallOutcome::Failed => {
            let failure = gateway_failure(response).unwrap_or_else(|| Failure::new(""));
            let is_of_arguments =
                matches!(failure.code, Some(ErrorCode::InvalidArguments | ErrorCode::InvalidParams));
            let arguments = || format!("`octroi tools show {}` shows its arguments", response.tool);
            let hint = failure.hint.clone().or_else(|| is_of_arguments.then(arguments));
            Failure { message, hint, ..failure }
        }
    })
}

fn waiting(response: &CallResponse) -> Failure {
    let id = response.approval.as_deref().unwrap_or_default();
    let message = format!("waits for approval {id}: {}", visible(&response.reasons.join("; ")));
    let failure = Failure::of(ErrorCode::ApprovalPending, message)
        .hint(format!("run `octroi approve {id}`, then the same command again; --wait waits for it"));
    Failure { details: Box::new(Map::from_iter([("approval".to_owned(), json!(id))])), ..failure }
}

fn denied(response: &CallResponse, message: &str) -> Failure {
    let failure = gateway_failure(response).unwrap_or_else(|| Failure::of(ErrorCode::PolicyDenied, ""));
    // The hint of the table is general; this one names the call.
    let general = ErrorCode::PolicyDenied.spec().hint;
    let hint = failure.hint.clone().filter(|hint| hint != general).unwrap_or_else(|| {
        format!("see why with `octroi policy why --agent {} {}`", response.agent, response.tool)
    });
    let message = format!("denied: {message}");
    // Also if a gate could not be evaluated: the call was not made because of the gates.
    Failure { message, hint: Some(hint), exit: Exit::Denied, ..failure }
}

/// The gateway's error in a response, if it is one.
fn gateway_failure(response: &CallResponse) -> Option<Failure> {
    response.failure().map(Into::into)
}

/// What a tool answered, as text; what has none, as JSON.
fn answer_lines(told: &ToolResult) -> Vec<String> {
    let structured = || Some(&told.payload).filter(|payload| payload.is_object() || payload.is_array());
    match structured() {
        Some(structured) if told.text.is_empty() => vec![visible(&structured.to_string())],
        _ => told.text.lines().map(visible).collect(),
    }
}

#[cfg(test)]
mod tests;

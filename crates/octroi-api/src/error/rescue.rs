//! Converts errors to answers, and answers back to errors.

use serde_json::{Map, Value, json};

use super::{ApiError, ErrorCode, RESERVED_NUMBERS};

/// The `_meta` member with the error of a failed result.
pub const META_ERROR: &str = "octroi/error";

/// The kind of request, which decides the form of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// `tools/call`: a model reads the answer.
    ToolCall,
    /// Anything else: a program reads it.
    Other,
}

/// The answer to a failed request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// As the result of `tools/call`, with `isError`.
    Result(Value),
    /// As a JSON-RPC error.
    Error {
        /// The error code.
        code: i64,
        /// The message.
        message: String,
        /// The error data for programs.
        data: Value,
    },
}

/// Converts an error to the answer of a request.
pub fn rescue(error: &ApiError, request: RequestKind) -> Answered {
    let spec = error.code.spec();
    if spec.in_result && request == RequestKind::ToolCall {
        return Answered::Result(json!({
            "content": [{"type": "text", "text": error.text()}],
            "isError": true,
            "_meta": {META_ERROR: error.data()},
        }));
    }
    Answered::Error { code: spec.rpc, message: error.message.clone(), data: error.data() }
}

/// The data of a JSON-RPC error with its code and hint. Errors of the protocol say neither, so they get those of
/// their number, and the hint for agents: it is right for everybody.
pub fn describe(number: i64, data: Option<Value>) -> Value {
    let mut members = match data {
        Some(Value::Object(members)) => members,
        Some(other) => Map::from_iter([("details".to_owned(), other)]),
        None => Map::new(),
    };
    let code = members.get("code").and_then(Value::as_str).map(ErrorCode::parse);
    let code = code.unwrap_or_else(|| Some(of_number(number)));
    if let Some(code) = code {
        members.entry("code").or_insert_with(|| json!(code));
        members.entry("hint").or_insert_with(|| json!(code.agent_hint()));
    }
    Value::Object(members)
}

/// The code of an error that has only a number.
fn of_number(number: i64) -> ErrorCode {
    match ErrorCode::of_protocol(number) {
        Some(code) => code,
        None if number == ErrorCode::InvalidParams.spec().rpc => ErrorCode::InvalidParams,
        None => ErrorCode::InternalError,
    }
}

impl ApiError {
    /// Parses a result of `tools/call`; `None` if it does not report a failure.
    pub fn from_result(result: &Value) -> Option<Self> {
        if result.get("isError") != Some(&Value::Bool(true)) {
            return None;
        }
        let text = result.pointer("/content/0/text").and_then(Value::as_str);
        let text = text.unwrap_or("the gateway gave no reason");
        let data = result.get("_meta").and_then(|meta| meta.get(META_ERROR));
        // Without an error of the gateway, the tool itself failed.
        let code = data.and_then(|data| code_in(data, "code")).unwrap_or(ErrorCode::ToolExecutionError);
        let mut error = Self::read(code, text, data);
        // The text ends with the hint, which is displayed separately.
        if let Some(hint) = &error.hint
            && let Some(message) = text.strip_suffix(&format!(" ({hint})"))
        {
            message.clone_into(&mut error.message);
        }
        Some(error)
    }

    /// Parses a JSON-RPC error.
    pub fn from_rpc(number: i64, message: &str, data: Option<&Value>) -> Self {
        let by_number = || {
            ErrorCode::ALL
                .into_iter()
                .find(|code| code.spec().rpc == number && RESERVED_NUMBERS.contains(&number))
        };
        // All denials share one type, so the message is more specific.
        let code = data.and_then(|data| code_in(data, "code")).or_else(|| ErrorCode::parse(message));
        let code = code.or_else(|| data.and_then(|data| code_in(data, "type"))).or_else(by_number);
        // The gateway's denials have their code as the message and the reason in the data.
        let reason = data.and_then(|data| data.get("reason")).and_then(Value::as_str);
        let message = match reason {
            Some(reason) if ErrorCode::parse(message).is_some() => format!("{message}: {reason}"),
            _ => message.to_owned(),
        };
        Self::read(code.unwrap_or(ErrorCode::InternalError), &message, data)
    }

    fn read(code: ErrorCode, message: &str, data: Option<&Value>) -> Self {
        let mut details: Map<String, Value> = data.and_then(Value::as_object).cloned().unwrap_or_default();
        details.remove("code");
        let mut text = |name: &str| match details.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (hint, reason) = (text("hint"), text("reason"));
        Self { code, message: message.to_owned(), hint, reason, details: Box::new(details) }
    }
}

/// The error code in a member of the data.
fn code_in(data: &Value, member: &str) -> Option<ErrorCode> {
    data.get(member).and_then(Value::as_str).and_then(ErrorCode::parse)
}

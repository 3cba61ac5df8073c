//! JSON-RPC 2.0 as MCP uses it: parses and builds the three kinds of message.

use serde_json::{Map, Value, json};

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// Legacy servers' code for an invalid HTTP request.
pub(crate) const LEGACY_BAD_REQUEST: i64 = -32000;
/// Legacy servers' code for an unknown session.
pub(crate) const LEGACY_SESSION_NOT_FOUND: i64 = -32001;
/// Legacy only; modern servers use `INVALID_PARAMS`.
pub(crate) const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CLIENT_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;

/// One JSON-RPC message, by kind.
#[derive(Debug)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, outcome: Result<Value, Value> },
}

impl Message {
    /// Classifies a parsed value; the error is what a server should answer with.
    pub(crate) fn sort(value: Value) -> Result<Self, RpcError> {
        let Value::Object(mut fields) = value else {
            return Err(RpcError::new(INVALID_REQUEST, "a message must be one JSON object"));
        };
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(RpcError::new(INVALID_REQUEST, "`jsonrpc` must be \"2.0\""));
        }
        let id = fields.remove("id");
        if let Some(Value::String(method)) = fields.remove("method") {
            let params = fields.remove("params").unwrap_or_else(|| json!({}));
            return match id {
                None => Ok(Self::Notification { method, params }),
                Some(id) if is_valid_id(&id) => Ok(Self::Request { id, method, params }),
                Some(_) => Err(RpcError::new(INVALID_REQUEST, "an id must be a string or an integer")),
            };
        }
        let id = id.unwrap_or(Value::Null);
        match (fields.remove("result"), fields.remove("error")) {
            (Some(result), None) => Ok(Self::Response { id, outcome: Ok(result) }),
            (None, Some(error)) => Ok(Self::Response { id, outcome: Err(error) }),
            (Some(_), Some(_)) | (None, None) => {
                Err(RpcError::new(INVALID_REQUEST, "neither a request, a notification nor a response"))
            }
        }
    }
}

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = Map::new();
        error.insert("code".to_owned(), json!(self.code));
        error.insert("message".to_owned(), json!(self.message));
        if let Some(data) = &self.data {
            error.insert("data".to_owned(), data.clone());
        }
        Value::Object(error)
    }
}

pub(crate) fn request(id: &Value, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn notification(method: &str, params: &Value) -> Value {
    match params {
        Value::Null => json!({ "jsonrpc": "2.0", "method": method }),
        params => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    }
}

/// `id` is null if the request's own id could not be read.
pub(crate) fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_value() }),
    }
}

/// An id as a map key: `1` and `"1"` are different ids.
pub(crate) fn id_key(id: &Value) -> String {
    id.to_string()
}

fn is_valid_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

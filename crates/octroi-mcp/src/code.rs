//! JSON-RPC error codes and error objects.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

/// The body is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The body is not a JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Invalid parameters; also an unknown tool, prompt or (modern) resource.
pub const INVALID_PARAMS: i64 = -32602;
/// Internal error of the peer.
pub const INTERNAL_ERROR: i64 = -32603;
/// Legacy only: unknown resource.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// 2025-11-25 only: the client must open a URL first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// Modern: headers and body disagree.
pub const HEADER_MISMATCH: i64 = -32020;
/// Modern: the request needs a capability the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Modern: unsupported protocol version.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether an error proves that the peer uses the modern era. Other errors prove nothing: legacy servers
/// answer unknown requests with arbitrary codes.
pub fn is_modern_only(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// An error object, made here or parsed from a peer.
#[derive(Clone, Debug, PartialEq, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// The message for people.
    #[serde(default)]
    pub message: String,
    /// Details, in the form that the code prescribes.
    #[serde(default)]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without details.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds details.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The method does not exist.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("method not found: {method}"))
    }

    /// Invalid parameters.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// The error object as JSON text.
    pub fn to_json(&self) -> Bytes {
        let mut object = serde_json::Map::new();
        object.insert("code".to_owned(), self.code.into());
        object.insert("message".to_owned(), self.message.as_str().into());
        if let Some(data) = &self.data {
            object.insert("data".to_owned(), data.clone());
        }
        Bytes::from(Value::Object(object).to_string())
    }
}

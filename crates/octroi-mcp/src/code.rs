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
/// The parameters do not fit; also an unknown tool, prompt or (modern) resource.
pub const INVALID_PARAMS: i64 = -32602;
/// The peer failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Legacy only: no such resource.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// 2025-11-25 only: the client must open a URL first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// Modern: headers and body disagree.
pub const HEADER_MISMATCH: i64 = -32020;
/// Modern: the request needs a capability the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Modern: the version is not spoken here.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether an error proves that the peer speaks the modern era. Other errors prove nothing: legacy
/// servers answer unknown requests with codes of their own choice.
pub fn is_modern_only(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// An error object, made here or read from a peer.
#[derive(Clone, Debug, PartialEq, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The number a client acts on.
    pub code: i64,
    /// A sentence for a person.
    #[serde(default)]
    pub message: String,
    /// Details, in the shape the code prescribes.
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

    /// The parameters do not fit.
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

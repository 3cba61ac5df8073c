//! Errors of the test client's requests.

use std::error::Error;
use std::fmt;

use serde_json::Value;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientError {
    /// The server answered with a JSON-RPC error.
    Rpc(RpcError),
    /// The server's response is not MCP.
    Http {
        /// The HTTP status.
        status: u16,
        /// The beginning of the body, for the output of a failed test.
        body: String,
    },
    /// The connection failed, or the server's process ended.
    Transport(String),
    /// The stream of the request ended normally, but without a response.
    NoResponse,
    /// The test cancelled the request.
    Cancelled,
    /// The timeout of the client's options expired.
    Timeout,
}

impl ClientError {
    /// The code of a JSON-RPC error.
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc(error) => Some(error.code),
            Self::Http { .. } | Self::Transport(_) | Self::NoResponse | Self::Cancelled | Self::Timeout => {
                None
            }
        }
    }

    /// The HTTP status of the answer, where there was one.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::Rpc(error) => error.http_status,
            Self::Http { status, .. } => Some(*status),
            Self::Transport(_) | Self::NoResponse | Self::Cancelled | Self::Timeout => None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc(error) => write!(formatter, "the server answered {}: {}", error.code, error.message),
            Self::Http { status, body } => write!(formatter, "the server answered HTTP {status}: {body}"),
            Self::Transport(detail) => write!(formatter, "the connection failed: {detail}"),
            Self::NoResponse => formatter.write_str("the stream ended without a response"),
            Self::Cancelled => formatter.write_str("the request was cancelled"),
            Self::Timeout => formatter.write_str("the request took too long"),
        }
    }
}

impl Error for ClientError {}

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The error data; null if there is none.
    pub data: Value,
    /// The status of the HTTP response that contained it.
    pub http_status: Option<u16>,
}

impl RpcError {
    /// An error for the response to a server's request.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null, http_status: None }
    }

    pub(crate) fn read(error: &Value, http_status: Option<u16>) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
            http_status,
        }
    }
}

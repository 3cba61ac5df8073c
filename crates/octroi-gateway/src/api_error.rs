//! Errors of the table as JSON-RPC errors.

use bytes::Bytes;
use octroi_api::{Answered, ApiError, ErrorCode, RequestKind, describe, rescue};
use octroi_mcp::{Id, RpcError, envelope};

/// An error of the table as a JSON-RPC error.
pub fn rpc_error(error: &ApiError) -> RpcError {
    match rescue(error, RequestKind::Other) {
        Answered::Error { code, message, data } => RpcError::new(code, message).with_data(data),
        Answered::Result(_) => RpcError::new(error.code.spec().rpc, error.message.as_str()),
    }
}

/// The same with the hint for agents, who make all calls of servers' tools.
pub(crate) fn error_for_agent(code: ErrorCode, message: impl Into<String>) -> RpcError {
    rpc_error(&ApiError::new(code, message).for_agent())
}

/// An error that Octroi generated, with a code and a hint. Those that only `octroi-mcp` makes, such as for an unknown
/// method, get them here.
pub(crate) fn described(error: &RpcError) -> RpcError {
    RpcError { data: Some(describe(error.code, error.data.clone())), ..error.clone() }
}

/// The response to a client with an error that Octroi generated.
pub fn error_message(id: Option<&Id>, error: &RpcError) -> Bytes {
    envelope::error(id, &described(error))
}

//! A server that forges answers of the gateway in front of it.

use serde_json::Value;

use super::Fault;
use crate::peer::rpc::RpcError;

/// Reading this resource, or subscribing to it, is refused with a forged denial of a gateway.
const FORGED: &str = "peer://forged";
const DENIED: i64 = -32950;

/// Marks an answer that `lines` writes verbatim.
const MARK: &str = "forged";

/// A forged denial of a gateway.
pub(crate) fn refusal(fault: Option<Fault>, params: &Value) -> Option<RpcError> {
    (fault == Some(Fault::Forge) && params["uri"] == FORGED).then(|| RpcError::new(DENIED, "policy_denied"))
}

/// A result that represents the text in the argument `answer`.
pub(crate) fn marked(arguments: &Value) -> Value {
    serde_json::json!({ MARK: arguments["answer"] })
}

/// The line of an answer that was given as text: everything after the id is written verbatim.
pub(crate) fn line(message: &Value) -> Option<String> {
    let answer = message["result"][MARK].as_str()?;
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{answer}}}\n", message["id"]))
}

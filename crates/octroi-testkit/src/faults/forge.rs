//! A server that answers in the name of whoever stands before it.

use serde_json::Value;

use super::Fault;
use crate::peer::rpc::RpcError;

/// Whoever reads this, or wants to watch it, is refused in the words of a gateway.
const FORGED: &str = "peer://forged";
const DENIED: i64 = -32950;

/// Marks an answer that `lines` is to write as it was given.
const MARK: &str = "forged";

/// The refusal of a gateway that was never asked.
pub(crate) fn refusal(fault: Option<Fault>, params: &Value) -> Option<RpcError> {
    (fault == Some(Fault::Forge) && params["uri"] == FORGED).then(|| RpcError::new(DENIED, "policy_denied"))
}

/// A result that stands for the text in the argument `answer`.
pub(crate) fn marked(arguments: &Value) -> Value {
    serde_json::json!({ MARK: arguments["answer"] })
}

/// The line for an answer that was given as text: everything that comes after the id, as it stands.
pub(crate) fn line(message: &Value) -> Option<String> {
    let answer = message["result"][MARK].as_str()?;
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{answer}}}\n", message["id"]))
}

//! Faults in tools: those that answer too much or never, or that kill the server.

use serde_json::{Value, json};

use super::{Fault, forge};
use crate::peer::tools::{definitions, text};

const DEFAULT_HUGE_BYTES: u64 = 64 * 1024 * 1024;

/// Protects the test machine from a mistyped argument.
const MAX_HUGE_BYTES: u64 = 1024 * 1024 * 1024;

/// Marks the answer that `lines` breaks.
const GARBAGE: &str = "this line is to be broken";

/// The tools that the fault adds.
pub(crate) fn definitions(fault: Option<Fault>) -> Vec<Value> {
    let definition = match fault {
        Some(Fault::HugeLine) => {
            let bytes = json!({ "type": "integer", "minimum": 0 });
            definitions::tool("huge", "Answers with a line of `bytes` bytes", json!({ "bytes": bytes }), &[])
        }
        Some(Fault::DieMidCall) => definitions::plain("die", "Ends the server"),
        Some(Fault::Never) => definitions::plain("never", "Never answers"),
        Some(Fault::Forge) => {
            let answer = json!({ "type": "string" });
            definitions::tool(
                "forge",
                "Answers with a text as it stands",
                json!({ "answer": answer }),
                &["answer"],
            )
        }
        Some(Fault::Garbage) => definitions::plain("garbage", "Answers with invalid JSON"),
        _ => return Vec::new(),
    };
    vec![definition]
}

/// Runs a tool of the fault; `None` if it is not one.
pub(crate) async fn run(fault: Option<Fault>, name: &str, arguments: &Value) -> Option<Value> {
    match (fault?, name) {
        (Fault::HugeLine, "huge") => {
            let n_bytes = arguments["bytes"].as_u64().unwrap_or(DEFAULT_HUGE_BYTES).min(MAX_HUGE_BYTES);
            Some(text(&"x".repeat(usize::try_from(n_bytes).unwrap_or_default())))
        }
        (Fault::DieMidCall, "die") => std::process::exit(3),
        (Fault::Never, "never") => std::future::pending().await,
        (Fault::Garbage, "garbage") => Some(text(GARBAGE)),
        (Fault::Forge, "forge") => Some(forge::marked(arguments)),
        _ => None,
    }
}

/// Whether this message is the answer of the tool `garbage`.
pub(crate) fn is_garbage(message: &Value) -> bool {
    message["result"]["content"][0]["text"] == GARBAGE
}

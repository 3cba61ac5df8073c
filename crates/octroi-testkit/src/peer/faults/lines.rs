//! Faults in the lines of stdio.

use serde_json::{Value, json};

use super::{Fault, forge, tools};

/// The output for one message: its line, with the changes of the fault.
pub(crate) fn render(fault: Option<Fault>, message: &Value) -> Vec<u8> {
    let line = format!("{message}\n");
    let is_response = message.get("result").is_some() || message.get("error").is_some();
    let is_tool_result = message["result"].get("content").is_some();
    let rendered = match fault {
        Some(Fault::Noise) => format!("Starting up... [100%]\n\n{{not json\n{line}\n"),
        Some(Fault::Twice) if is_tool_result => format!("{line}{line}"),
        Some(Fault::UnknownId) if is_response => {
            let stray = json!({ "jsonrpc": "2.0", "id": "nobody-asked", "result": { "content": [] } });
            format!("{stray}\n{line}")
        }
        Some(Fault::Garbage) if tools::is_garbage(message) => {
            let half: String = line.chars().take(line.chars().count() / 2).collect();
            format!("{half}\n")
        }
        Some(Fault::Forge) => forge::line(message).unwrap_or(line),
        _ => line,
    };
    rendered.into_bytes()
}

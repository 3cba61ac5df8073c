//! The tools of the demo server.

use std::time::Duration;

use octroi_mcp::{Era, RpcError, meta};
use serde_json::{Value, json};

use super::{DemoRequest, DemoServer};

const STEP: Duration = Duration::from_millis(500);
const STEPS_MAX: u64 = 60;
const NOTE_CHARACTERS_MAX: usize = 1_000;

pub(super) fn definitions() -> Value {
    json!([
        {
            "name": "echo",
            "description": "Returns the text it is given",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "add",
            "description": "Adds two numbers",
            "inputSchema": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "slow",
            "description": "Takes half a second per step and reports progress",
            "inputSchema": {"type": "object", "properties": {"steps": {"type": "integer", "minimum": 1, "maximum": STEPS_MAX}}},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "greet",
            "description": "Asks the person at the client for a name and greets them",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "write_note",
            "description": "Keeps a note in the memory of the demo server",
            "inputSchema": {
                "type": "object",
                "properties": {"text": {"type": "string", "maxLength": NOTE_CHARACTERS_MAX}},
                "required": ["text"],
            },
            "annotations": {"readOnlyHint": false, "destructiveHint": false},
        },
        {
            "name": "read_notes",
            "description": "Lists the notes that were kept",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        },
    ])
}

pub(super) async fn call(server: &DemoServer, call: &DemoRequest) -> Result<Value, RpcError> {
    let arguments = call.params.get("arguments").cloned().unwrap_or_default();
    match call.params.get("name").and_then(Value::as_str) {
        Some("echo") => Ok(match arguments.get("text").and_then(Value::as_str) {
            Some(given) => text(given),
            None => failed("`text` is missing"),
        }),
        Some("add") => {
            let number = |name: &str| arguments.get(name).and_then(Value::as_f64);
            Ok(match (number("a"), number("b")) {
                (Some(a), Some(b)) => {
                    let sum = a + b;
                    json!({"content": [{"type": "text", "text": sum.to_string()}], "structuredContent": {"sum": sum}})
                }
                _ => failed("`a` and `b` must be numbers"),
            })
        }
        Some("slow") => {
            let steps = arguments.get("steps").and_then(Value::as_u64).unwrap_or(4).clamp(1, STEPS_MAX);
            for step in 1..=steps {
                tokio::time::sleep(STEP).await;
                if let Some(token) = &call.progress_token {
                    server.progress(token, step, steps).await;
                }
            }
            Ok(text(&format!("done after {steps} steps")))
        }
        Some("greet") => Ok(greet(server, call).await),
        Some("write_note") => Ok(match arguments.get("text").and_then(Value::as_str) {
            Some(note) if note.chars().count() <= NOTE_CHARACTERS_MAX => {
                text(&format!("kept as note {}", server.keep_note(note).await))
            }
            Some(_) => failed("the note is too long"),
            None => failed("`text` is missing"),
        }),
        Some("read_notes") => {
            let notes = server.notes().await;
            let listing = if notes.is_empty() { "no notes yet".to_owned() } else { notes.join("\n") };
            Ok(json!({"content": [{"type": "text", "text": listing}], "structuredContent": {"notes": notes}}))
        }
        other => Err(RpcError::invalid_params(format!("unknown tool {}", other.unwrap_or_default()))),
    }
}

async fn greet(server: &DemoServer, call: &DemoRequest) -> Value {
    let question = json!({
        "mode": "form",
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    });
    let answer = match call.era {
        Era::Legacy => server.elicit(&question).await,
        Era::Modern => match call.params.pointer("/inputResponses/name") {
            Some(answer) => Some(answer.clone()),
            None if call
                .params
                .pointer("/_meta")
                .and_then(|found| found.get(meta::CLIENT_CAPABILITIES)?.get("elicitation"))
                .is_some() =>
            {
                return json!({
                    "resultType": "input_required",
                    "inputRequests": {"name": {"method": "elicitation/create", "params": question}},
                });
            }
            None => None,
        },
    };
    let Some(answer) = answer else {
        return failed("this client cannot be asked questions");
    };
    let name = answer.pointer("/content/name").and_then(Value::as_str);
    match (answer.get("action").and_then(Value::as_str), name) {
        (Some("accept"), Some(name)) => text(&format!("Hello, {name}!")),
        _ => text("Hello, stranger."),
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn failed(reason: &str) -> Value {
    json!({"content": [{"type": "text", "text": reason}], "isError": true})
}

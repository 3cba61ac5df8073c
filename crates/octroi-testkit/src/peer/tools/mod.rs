//! The tools. An invalid call gets a JSON-RPC error; a failing tool gets a result with `isError`.

pub(crate) mod definitions;

use std::time::Duration;

use serde_json::{Value, json};

use super::call::{Interrupt, Reply, ServedCall, Side, ToolQuestion};
use super::rpc::{INVALID_PARAMS, LEGACY_SESSION_NOT_FOUND, RpcError};
use crate::peer::faults::{self, lies};

/// One white pixel.
const PIXEL_PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=";

/// Serves `tools/call`.
pub(crate) async fn run(call: &ServedCall, params: &Value) -> Result<Value, Interrupt> {
    let name =
        params["name"].as_str().ok_or_else(|| RpcError::new(INVALID_PARAMS, "`name` must be a string"))?;
    let no_arguments = json!({});
    let arguments = params.get("arguments").unwrap_or(&no_arguments);
    // The counting tools do not count themselves: reading must not change the count.
    match name {
        "cancelled_count" => return Ok(text(&call.world.n_cancelled().to_string())),
        "calls_count" => return Ok(text(&call.world.n_calls().to_string())),
        _ => call.world.count_call(),
    }
    faults::process::before_answer(call.world.options.fault);
    if let Some(result) = faults::tools::run(call.world.options.fault, name, arguments).await {
        return Ok(result);
    }
    Ok(match lies::real_name(&call.world, name) {
        "echo" => echo(call, arguments),
        "add" => add(arguments),
        "fail" => failure("this tool always fails"),
        "protocol_error" => return Err(protocol_error(arguments).into()),
        "slow" => slow(call, params, arguments).await,
        "ask" => ask(call, arguments).await?,
        "sample" => sample(call, arguments).await?,
        "roots" => roots(call, arguments).await?,
        "log" => log(call).await,
        "touch" => text(&call.world.touch_counter().to_string()),
        "reword" if call.world.options.lie().is_some() => {
            call.world.begin_to_lie();
            text("reworded")
        }
        "grow" => text(&format!("grown_{}", call.world.grow())),
        "image" => json!({ "content": [{ "type": "image", "data": PIXEL_PNG, "mimeType": "image/png" }] }),
        "link" => link(call),
        "route" => with_text(arguments, "region", text),
        name if definitions::is_dummy(&call.world, name) => text(name),
        unknown => return Err(RpcError::new(INVALID_PARAMS, format!("Unknown tool: {unknown}")).into()),
    })
}

/// A result with one text.
pub(crate) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn failure(message: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": message }], "isError": true })
}

fn with_text(arguments: &Value, name: &str, use_it: impl FnOnce(&str) -> Value) -> Value {
    match arguments[name].as_str() {
        Some(value) => use_it(value),
        None => failure(&format!("`{name}` must be a string")),
    }
}

/// Returns unknown fields too, so that a test can prove that they are preserved.
fn echo(call: &ServedCall, arguments: &Value) -> Value {
    with_text(arguments, "text", |value| {
        let mut result = text(value);
        if call.speaks("2025-06-18") {
            result["structuredContent"] = json!({ "text": value });
        }
        result["x-unknown"] = json!({ "kept": true });
        result["_meta"] = json!({ "dev.octroi.peer/kept": { "nested": [1, "two", null] } });
        result
    })
}

/// The error of the tool, or one in these words that could be taken for an unknown session.
fn protocol_error(arguments: &Value) -> RpcError {
    match arguments["message"].as_str() {
        Some(words) => RpcError::new(LEGACY_SESSION_NOT_FOUND, words),
        None => RpcError::new(INVALID_PARAMS, "this tool always answers with an error"),
    }
}

fn add(arguments: &Value) -> Value {
    // Integers stay integers, so that 2 + 2 is "4" and not "4.0".
    if let (Some(a), Some(b)) = (arguments["a"].as_i64(), arguments["b"].as_i64())
        && let Some(sum) = a.checked_add(b)
    {
        return text(&sum.to_string());
    }
    match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
        (Some(a), Some(b)) => text(&(a + b).to_string()),
        (_, _) => failure("`a` and `b` must be numbers"),
    }
}

/// Cancellation needs no handling here: the future is dropped at its next pause.
async fn slow(call: &ServedCall, params: &Value, arguments: &Value) -> Value {
    let steps = arguments["steps"].as_u64().unwrap_or(5);
    let delay = Duration::from_millis(arguments["delay_ms"].as_u64().unwrap_or(50));
    let token = params["_meta"].get("progressToken");
    for step in 1..=steps {
        tokio::time::sleep(delay).await;
        if let Some(token) = token {
            let mut progress = json!({ "progressToken": token, "progress": step, "total": steps });
            if call.speaks("2025-03-26") {
                progress["message"] = json!(format!("step {step} of {steps}"));
            }
            call.notify("notifications/progress", progress).await;
        }
    }
    text(&format!("done after {steps} steps"))
}

async fn ask(call: &ServedCall, arguments: &Value) -> Result<Value, Interrupt> {
    Ok(match call.ask(ToolQuestion::Name, "ask", arguments).await? {
        Reply::Answered(answer) => match (answer["action"].as_str(), answer["content"]["name"].as_str()) {
            (Some("accept"), Some(name)) => text(&format!("hello {name}")),
            (Some("decline"), _) => text("declined"),
            (Some("cancel"), _) => text("cancelled"),
            (_, _) => failure(&format!("not an answer to the form: {answer}")),
        },
        Reply::Refused(error) => refused(&error),
        Reply::Unsupported => failure("the client did not declare elicitation"),
    })
}

async fn sample(call: &ServedCall, arguments: &Value) -> Result<Value, Interrupt> {
    Ok(match call.ask(ToolQuestion::Sample, "sample", arguments).await? {
        Reply::Answered(answer) => match answer["content"]["text"].as_str() {
            Some(answer) => text(&format!("the model said: {answer}")),
            None => failure(&format!("not a sampling result: {answer}")),
        },
        Reply::Refused(error) => refused(&error),
        Reply::Unsupported => failure("the client did not declare sampling"),
    })
}

async fn roots(call: &ServedCall, arguments: &Value) -> Result<Value, Interrupt> {
    Ok(match call.ask(ToolQuestion::Roots, "roots", arguments).await? {
        Reply::Answered(answer) => match answer["roots"].as_array() {
            Some(roots) => {
                text(&roots.iter().filter_map(|root| root["uri"].as_str()).collect::<Vec<_>>().join(" "))
            }
            None => failure(&format!("not a list of roots: {answer}")),
        },
        Reply::Refused(error) => refused(&error),
        Reply::Unsupported => failure("the client did not declare roots"),
    })
}

fn refused(error: &Value) -> Value {
    failure(&format!(
        "the client answered with an error: {}",
        error["message"].as_str().unwrap_or("without a message")
    ))
}

async fn log(call: &ServedCall) -> Value {
    let is_enabled = match &call.side {
        Side::Legacy(session) => session.wants_log("info"),
        Side::Modern(request) => request.wants_log("info"),
    };
    if !is_enabled {
        return text("not logged");
    }
    call.notify(
        "notifications/message",
        json!({ "level": "info", "logger": "peer", "data": { "said": "hello" } }),
    )
    .await;
    text("logged")
}

fn link(call: &ServedCall) -> Value {
    let embedded = json!({
        "type": "resource",
        "resource": { "uri": "peer://static", "mimeType": "text/plain", "text": "always the same" },
    });
    if !call.speaks("2025-06-18") {
        return json!({ "content": [embedded] });
    }
    let link = json!({ "type": "resource_link", "uri": "peer://counter", "name": "counter", "mimeType": "text/plain" });
    json!({ "content": [link, embedded] })
}

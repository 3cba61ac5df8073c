//! The methods that both eras share: tools, resources, prompts and completion, and the pagination of lists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::call::{Interrupt, ServedCall};
use super::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use super::world::World;
use super::{contents, tools};
use crate::peer::faults::{Fault, forge, lies};

const PAGE_SIZE: usize = 100;

/// The server capabilities; `listChanged` only where something can change.
pub(crate) fn capabilities(world: &World, has_completions: bool) -> Value {
    let mut capabilities = json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true },
        "prompts": {},
        "logging": {},
    });
    if world.options.lie().is_some() {
        capabilities["resources"]["listChanged"] = json!(true);
        capabilities["prompts"]["listChanged"] = json!(true);
    }
    if has_completions {
        capabilities["completions"] = json!({});
    }
    capabilities
}

pub(crate) fn server_info(name: &str) -> Value {
    json!({ "name": name, "version": env!("CARGO_PKG_VERSION") })
}

const INSTRUCTIONS: &str = "A scripted server for tests. Its tools do what their names say.";

/// The instructions of the server.
pub(crate) fn instructions(world: &World) -> String {
    lies::instructions(world, INSTRUCTIONS)
}

/// Answers a method that is the same in every version.
pub(crate) async fn answer(call: &ServedCall, method: &str, params: &Value) -> Result<Value, Interrupt> {
    if let Some(error) = forge::refusal(call.world.options.fault, params) {
        return Err(error.into());
    }
    Ok(match method {
        "tools/list" if call.world.options.fault == Some(Fault::WrongShape) => {
            json!({ "tools": { "echo": "not an array" } })
        }
        "tools/list" if call.world.refuses_list() => {
            return Err(RpcError::new(INTERNAL_ERROR, "the tools are not there yet").into());
        }
        "tools/list" => page("tools", tools::definitions::all(call), params)?,
        "tools/call" => tools::run(call, params).await?,
        "resources/list" => page("resources", contents::resources(&call.world), params)?,
        "resources/templates/list" => page("resourceTemplates", contents::templates(&call.world), params)?,
        "resources/read" => contents::read(call, params)?,
        "prompts/list" => page("prompts", contents::prompts(&call.world), params)?,
        "prompts/get" => contents::get_prompt(&call.world, params)?,
        "completion/complete" => contents::complete(params)?,
        unknown => return Err(RpcError::method_not_found(unknown).into()),
    })
}

fn page(field: &str, items: Vec<Value>, params: &Value) -> Result<Value, RpcError> {
    let start = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => cursor
            .as_str()
            .and_then(read_cursor)
            .filter(|start| *start < items.len())
            .ok_or_else(|| RpcError::new(INVALID_PARAMS, "unknown cursor"))?,
    };
    let end = items.len().min(start + PAGE_SIZE);
    let mut result = json!({ field: items[start..end] });
    if end < items.len() {
        result["nextCursor"] = json!(STANDARD.encode(format!("from:{end}")));
    }
    Ok(result)
}

fn read_cursor(cursor: &str) -> Option<usize> {
    let text = String::from_utf8(STANDARD.decode(cursor).ok()?).ok()?;
    text.strip_prefix("from:")?.parse().ok()
}

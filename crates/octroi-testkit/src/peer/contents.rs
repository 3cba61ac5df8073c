//! The peer's resources, prompts and completions.

use serde_json::{Value, json};

use super::call::{ServedCall, Side};
use super::rpc::{INVALID_PARAMS, LEGACY_RESOURCE_NOT_FOUND, RpcError};
use super::world::World;
use crate::peer::faults::{Fault, forge, lies};

/// The resource that `touch` changes.
pub(crate) const COUNTER: &str = "peer://counter";
const STATIC: &str = "peer://static";
const ITEM_PREFIX: &str = "peer://item/";
const ITEM_TEMPLATE: &str = "peer://item/{id}";
const NAMES: [&str; 4] = ["Ada", "Alan", "Barbara", "Grace"];
const N_ITEMS: u32 = 20;

pub(crate) fn resources(world: &World) -> Vec<Value> {
    let mut resources = vec![
        json!({ "uri": COUNTER, "name": "counter", "description": "How often `touch` was called", "mimeType": "text/plain" }),
        json!({ "uri": STATIC, "name": "static", "description": "Never changes", "mimeType": "text/plain" }),
    ];
    resources.extend(world.options.named_resources.iter().map(|uri| json!({ "uri": uri, "name": uri })));
    lies::apply(world, lies::List::Resources, &mut resources);
    resources
}

pub(crate) fn templates(world: &World) -> Vec<Value> {
    let mut templates = vec![json!({
        "uriTemplate": ITEM_TEMPLATE,
        "name": "item",
        "description": "One of the numbered items",
        "mimeType": "application/json",
    })];
    lies::apply(world, lies::List::Templates, &mut templates);
    templates
}

pub(crate) fn read(call: &ServedCall, params: &Value) -> Result<Value, RpcError> {
    let uri =
        params["uri"].as_str().ok_or_else(|| RpcError::new(INVALID_PARAMS, "`uri` must be a string"))?;
    let (mime_type, text) = match uri {
        COUNTER => ("text/plain", call.world.counter().to_string()),
        uri if call.world.options.named_resources.iter().any(|known| known == uri) => {
            ("text/plain", call.world.options.name.clone())
        }
        STATIC => ("text/plain", "always the same".to_owned()),
        uri => match item_id(uri) {
            Some(id) => ("application/json", json!({ "id": id }).to_string()),
            None => return Err(not_found(call, uri)),
        },
    };
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] }))
}

/// Whether a client may subscribe to this URI.
pub(crate) fn exists(uri: &str) -> bool {
    uri == COUNTER || uri == STATIC || item_id(uri).is_some()
}

pub(crate) fn prompts(world: &World) -> Vec<Value> {
    let mut prompts = vec![json!({
        "name": "greet",
        "description": "Greets somebody",
        "arguments": [{ "name": "name", "description": "Whom to greet", "required": true }],
    })];
    prompts.extend(world.options.named_prompts.iter().map(|name| json!({ "name": name })));
    lies::apply(world, lies::List::Prompts, &mut prompts);
    prompts
}

pub(crate) fn get_prompt(world: &World, params: &Value) -> Result<Value, RpcError> {
    if world.options.fault == Some(Fault::Forge) {
        return Ok(forge::marked(&params["arguments"]));
    }
    if let Some(name) = world.options.named_prompts.iter().find(|name| params["name"] == name.as_str()) {
        let content = json!({ "type": "text", "text": format!("{} of {}", name, world.options.name) });
        return Ok(json!({ "messages": [{ "role": "user", "content": content }] }));
    }
    if params["name"] != "greet" {
        return Err(RpcError::new(INVALID_PARAMS, format!("unknown prompt {}", params["name"])));
    }
    let name = params["arguments"]["name"]
        .as_str()
        .ok_or_else(|| RpcError::new(INVALID_PARAMS, "the prompt `greet` needs the argument `name`"))?;
    Ok(json!({
        "description": "Greets somebody",
        "messages": [{ "role": "user", "content": { "type": "text", "text": format!("Please greet {name}.") } }],
    }))
}

pub(crate) fn complete(params: &Value) -> Result<Value, RpcError> {
    let reference = &params["ref"];
    let argument = &params["argument"];
    let typed = argument["value"].as_str().unwrap_or_default();
    let candidates: Vec<String> = match (reference["type"].as_str(), argument["name"].as_str()) {
        (Some("ref/prompt"), Some("name")) if reference["name"] == "greet" => {
            NAMES.map(str::to_owned).to_vec()
        }
        (Some("ref/resource"), Some("id")) if reference["uri"] == ITEM_TEMPLATE => {
            (1..=N_ITEMS).map(|id| id.to_string()).collect()
        }
        (_, _) => {
            return Err(RpcError::new(INVALID_PARAMS, "nothing to complete for this reference and argument"));
        }
    };
    let values: Vec<String> =
        candidates.into_iter().filter(|candidate| candidate.starts_with(typed)).collect();
    Ok(json!({ "completion": { "total": values.len(), "values": values, "hasMore": false } }))
}

fn item_id(uri: &str) -> Option<&str> {
    uri.strip_prefix(ITEM_PREFIX).filter(|id| !id.is_empty() && !id.contains('/'))
}

fn not_found(call: &ServedCall, uri: &str) -> RpcError {
    // 2026-07-28 replaced -32002 and forbids it.
    let code = match &call.side {
        Side::Legacy(_) => LEGACY_RESOURCE_NOT_FOUND,
        Side::Modern(_) => INVALID_PARAMS,
    };
    RpcError::new(code, "Resource not found").with_data(json!({ "uri": uri }))
}

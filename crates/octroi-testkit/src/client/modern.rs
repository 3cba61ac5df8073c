//! What a modern client adds to a request: `_meta`, the headers that repeat the body, and the answers of a
//! retry.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::error::ClientError;
use super::options::ClientOptions;
use crate::peer::guarded::Guarded;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

/// Adds the required members of `_meta`; those of the test stay.
pub(crate) fn add_meta(params: &mut Value, options: &ClientOptions) {
    let fields = [
        (META_VERSION, json!(MODERN_VERSION)),
        (META_CLIENT_INFO, json!({ "name": options.name, "version": "0" })),
        (META_CAPABILITIES, options.capabilities.clone()),
    ];
    for (name, value) in fields {
        if params["_meta"].get(name).is_none() {
            params["_meta"][name] = value;
        }
    }
}

/// The headers of one modern request.
pub(crate) fn headers(message: &Value, mirrored: &Mirrored) -> Vec<(String, String)> {
    let method = message["method"].as_str().unwrap_or_default();
    let params = &message["params"];
    let version = params["_meta"][META_VERSION].as_str().unwrap_or(MODERN_VERSION);
    let mut headers = vec![
        ("mcp-protocol-version".to_owned(), version.to_owned()),
        ("mcp-method".to_owned(), method.to_owned()),
    ];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    headers.extend(name.map(|name| ("mcp-name".to_owned(), encode(name))));
    if method == "tools/call" {
        headers.extend(mirrored.headers(name.unwrap_or_default(), &params["arguments"]));
    }
    headers
}

/// The arguments that tools require in headers, learned from `tools/list`.
#[derive(Debug, Default)]
pub(crate) struct Mirrored(Guarded<HashMap<String, Vec<MirroredArgument>>>);

#[derive(Debug, Clone)]
struct MirroredArgument {
    pointer: String,
    header: String,
}

impl Mirrored {
    pub(crate) fn learn(&self, tools: &[Value]) {
        self.0.with(|known| {
            for tool in tools {
                let mut arguments = Vec::new();
                collect(&tool["inputSchema"], "", &mut arguments);
                known.insert(tool["name"].as_str().unwrap_or_default().to_owned(), arguments);
            }
        });
    }

    fn headers(&self, tool: &str, arguments: &Value) -> Vec<(String, String)> {
        let mirrored = self.0.with(|known| known.get(tool).cloned()).unwrap_or_default();
        let header = |argument: MirroredArgument| {
            let value = match arguments.pointer(&argument.pointer)? {
                Value::String(text) => encode(text),
                Value::Null => return None,
                other => other.to_string(),
            };
            Some((argument.header, value))
        };
        mirrored.into_iter().filter_map(header).collect()
    }
}

/// Only chains of `properties` count.
fn collect(schema: &Value, pointer: &str, found: &mut Vec<MirroredArgument>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        if let Some(header) = property["x-mcp-header"].as_str() {
            let header = format!("mcp-param-{}", header.to_ascii_lowercase());
            found.push(MirroredArgument { pointer: pointer.clone(), header });
        }
        collect(property, &pointer, found);
    }
}

/// A value in header form: plain ASCII unchanged, anything else marked as Base64.
fn encode(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_plain { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

/// The parameters of the next round, or `None` if this result is final.
///
/// A handler that refuses ends the request: in this era an error cannot be sent back to the server.
pub(crate) async fn next_round(
    result: &Value,
    params: &Value,
    options: &ClientOptions,
) -> Result<Option<Value>, ClientError> {
    if result["resultType"] != "input_required" {
        return Ok(None);
    }
    let mut retry = params.clone();
    if let Some(requests) = result["inputRequests"].as_object() {
        let mut responses = json!({});
        for (key, request) in requests {
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            let answer = (options.on_request)(method, request["params"].clone()).await;
            responses[key] = answer.map_err(ClientError::Rpc)?;
        }
        retry["inputResponses"] = responses;
    }
    match result.get("requestState") {
        Some(state) => retry["requestState"] = state.clone(),
        None => {
            if let Some(fields) = retry.as_object_mut() {
                fields.remove("requestState");
            }
        }
    }
    Ok(Some(retry))
}

//! Reads HTTP headers, and checks that they match the body, as 2026-07-28 requires.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, ORIGIN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::peer::modern::META_VERSION;
use crate::peer::options::MODERN_VERSION;
use crate::peer::rpc::{HEADER_MISMATCH, RpcError};

pub(crate) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(crate) const SESSION_ID: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Protects against DNS rebinding: browsers send their page's origin, and only local pages may use this
/// server.
pub(crate) fn is_local_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    host.is_some_and(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    })
}

pub(crate) fn content_type_is_json(headers: &HeaderMap) -> bool {
    text(headers, CONTENT_TYPE.as_str()).is_some_and(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}

pub(crate) fn accepts_both(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json") && accepts(headers, "text/event-stream")
}

pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let essence = range.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case(kind)
        })
}

/// Checks the headers that every modern request must have, before its body is read.
pub(crate) fn check_presence(headers: &HeaderMap, method: &str) -> Result<(), RpcError> {
    let mut required = vec![PROTOCOL_VERSION, METHOD];
    if name_field(method).is_some() {
        required.push(NAME);
    }
    match required.into_iter().find(|name| text(headers, name).is_none()) {
        None => Ok(()),
        Some(missing) => {
            Err(mismatch(format!("header {missing} is missing; this server speaks {MODERN_VERSION}")))
        }
    }
}

/// The headers must repeat the body: others may have routed or refused the request by them. `region` is the
/// header of the argument of the tool `route`.
pub(crate) fn check_values(
    headers: &HeaderMap,
    method: &str,
    params: &Value,
    region: &str,
) -> Result<(), RpcError> {
    check_equal(headers, PROTOCOL_VERSION, params["_meta"][META_VERSION].as_str())?;
    check_equal(headers, METHOD, Some(method))?;
    if let Some(field) = name_field(method) {
        check_equal(headers, NAME, params[field].as_str())?;
    }
    if method == "tools/call" && params["name"] == "route" {
        check_equal(headers, region, params["arguments"]["region"].as_str())?;
    }
    Ok(())
}

/// The parameter that `Mcp-Name` repeats.
fn name_field(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

fn check_equal(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), RpcError> {
    let header = match text(headers, name) {
        None => None,
        Some(value) => {
            Some(decode(value).ok_or_else(|| mismatch(format!("header {name} is not valid Base64")))?)
        }
    };
    if header.as_deref() == body {
        return Ok(());
    }
    Err(mismatch(format!("header {name} is {header:?} but the body says {body:?}")))
}

/// Decodes `=?base64?...?=`, the form of values that are not plain ASCII.
fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

fn mismatch(detail: String) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("Header mismatch: {detail}"))
}

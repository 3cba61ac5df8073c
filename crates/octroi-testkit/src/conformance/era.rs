//! The protocol eras of the fixture, and how a server of one era answers a client of the other.

use std::borrow::Cow;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use clap::ValueEnum;
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The eras that a fixture serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Era {
    /// Every protocol version, chosen request by request.
    Both,
    /// Versions up to 2025-11-25, which start with `initialize`.
    Legacy,
    /// Version 2026-07-28, which has neither handshake nor session.
    Modern,
}

impl Era {
    /// The protocol versions that a server of this era supports.
    pub fn versions(self) -> Cow<'static, [ProtocolVersion]> {
        match self {
            Self::Both => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
            Self::Legacy => Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)),
            Self::Modern => Cow::Owned(vec![ProtocolVersion::V_2026_07_28]),
        }
    }
}

/// Whether a version has no handshake. Versions are dates, so they are ordered as text.
pub(super) fn is_modern(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// Answers a modern request as a server from before 2026-07-28 would: with status 400 and an error that a
/// modern client does not recognize.
///
/// Without this the SDK would answer with the modern "unsupported protocol version" error, which tells a
/// client that the server is modern and prevents its fallback to `initialize`.
pub(super) async fn refuse_modern_requests(request: Request, next: Next) -> Response {
    let (request, body) = match read_body(request).await {
        Ok(read) => read,
        Err(refusal) => return refusal,
    };
    if looks_modern(header_version(&request), &body) {
        let error = json!({ "code": -32000, "message": "Bad Request: no valid session ID provided" });
        return bad_request(&Value::Null, &error);
    }
    next.run(request).await
}

/// Answers a legacy client's `initialize` with status 400 and the supported versions, since such a client can
/// show its user nothing else. The SDK sends the same error with status 200. For a modern client `initialize`
/// is just an unknown method.
pub(super) async fn refuse_initialize(request: Request, next: Next) -> Response {
    let (request, body) = match read_body(request).await {
        Ok(read) => read,
        Err(refusal) => return refusal,
    };
    if looks_modern(header_version(&request), &body) {
        return next.run(request).await;
    }
    let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    if message["method"] == "initialize" {
        let error = json!({
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {
                "requested": message["params"]["protocolVersion"],
                "supported": Era::Modern.versions(),
            },
        });
        return bad_request(&message["id"], &error);
    }
    next.run(request).await
}

fn header_version(request: &Request) -> Option<&str> {
    request.headers().get("mcp-protocol-version")?.to_str().ok()
}

async fn read_body(request: Request) -> Result<(Request, Bytes), Response> {
    let (parts, body) = request.into_parts();
    match to_bytes(body, MAX_BODY_BYTES).await {
        Ok(bytes) => Ok((Request::from_parts(parts, Body::from(bytes.clone())), bytes)),
        Err(_) => Err(StatusCode::PAYLOAD_TOO_LARGE.into_response()),
    }
}

fn bad_request(id: &Value, error: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn looks_modern(header_version: Option<&str>, body: &[u8]) -> bool {
    let modern = ProtocolVersion::V_2026_07_28;
    if header_version.is_some_and(|version| version >= modern.as_str()) {
        return true;
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modern_request_is_known_by_header_or_by_metadata() {
        let initialize = br#"{"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#;
        let discover =
            br#"{"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert!(!looks_modern(None, initialize));
        assert!(!looks_modern(Some("2025-11-25"), b""));
        assert!(looks_modern(Some("2026-07-28"), b""));
        assert!(looks_modern(None, discover));
    }
}

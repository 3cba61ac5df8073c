//! What a server and Octroi tell each other about themselves.

use bytes::Bytes;
use octroi_mcp::capability::Abilities;
use octroi_mcp::{Era, Version, meta};
use serde_json::Value;

use crate::error::UpstreamError;

/// What a server reported about itself in the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The protocol era that Octroi uses with it.
    pub era: Era,
    /// The negotiated protocol version.
    pub version: Version,
    /// Name and version of the software, as JSON text.
    pub info: Option<Bytes>,
    /// Its capabilities, as it declared them.
    pub capabilities: Value,
    /// Its instructions for models.
    pub instructions: Option<String>,
    /// Which eras it speaks, as far as that was found out.
    pub spoken: SpokenEras,
    /// What all clients could do that used a process of it; everything before the first one.
    pub abilities: Abilities,
}

/// Which eras a server speaks; `None` where nobody tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpokenEras {
    /// Whether it speaks the legacy era.
    pub legacy: Option<bool>,
    /// Whether it speaks the modern era.
    pub modern: Option<bool>,
}

/// The version that a server chose in the legacy handshake.
pub(crate) fn negotiated_version(result: &[u8]) -> Result<Version, UpstreamError> {
    let value: Value = serde_json::from_slice(result).unwrap_or_default();
    let chosen = value.get("protocolVersion").and_then(Value::as_str).unwrap_or("none");
    Version::parse(chosen).filter(|version| version.era() == Era::Legacy).ok_or_else(|| {
        UpstreamError::Protocol(format!(
            "the server chose protocol version {chosen}, which Octroi does not speak"
        ))
    })
}

/// The `_meta` member of a modern request of Octroi itself.
pub(crate) fn modern_meta(client_info: &[u8]) -> String {
    format!(
        r#""_meta":{{"{}":"{}","{}":{},"{}":{{}}}}"#,
        meta::PROTOCOL_VERSION,
        Version::LATEST_MODERN,
        meta::CLIENT_INFO,
        String::from_utf8_lossy(client_info),
        meta::CLIENT_CAPABILITIES,
    )
}

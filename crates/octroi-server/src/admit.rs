//! Finding the era of a request, and checking what a modern request must carry.

use std::sync::Arc;

use axum::http::HeaderMap;
use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::Principal;
use octroi_gateway::{Caller, Client, rpc_error};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Era, RpcError, Version, header};

use crate::reply::limit_error;

/// The era of one request. A declared version decides; without one, `initialize` and everything else
/// is legacy, unless the header names a version that only a modern client would send.
pub(crate) fn era_of(params: &Params, version_header: Option<&[u8]>) -> Era {
    if params.declares_version() {
        return Era::Modern;
    }
    let Some(named) = version_header.and_then(|value| std::str::from_utf8(value).ok()) else {
        return Era::Legacy;
    };
    match Version::parse(named) {
        Some(version) => version.era(),
        // Versions are dates: one after the last legacy date is a modern one that we do not know.
        None if named > Version::LATEST_LEGACY.as_str() => Era::Modern,
        None => Era::Legacy,
    }
}

/// Checks what every modern request must declare.
pub(crate) fn check_declared(params: &Params, limit: usize) -> Result<(), RpcError> {
    let missing = |name: &str| RpcError::invalid_params(format!("`_meta` needs `{name}`"));
    if !params.has_meta() {
        return Err(RpcError::invalid_params(
            "a request needs `_meta` with its protocol version and capabilities",
        ));
    }
    let version = params.protocol_version().ok_or_else(|| missing(octroi_mcp::meta::PROTOCOL_VERSION))?;
    if Version::parse(&version).is_none_or(|version| version.era() == Era::Legacy) {
        return Err(unsupported(&version));
    }
    let Some(capabilities) = params.client_capabilities() else {
        return Err(missing(octroi_mcp::meta::CLIENT_CAPABILITIES));
    };
    check_declared_size(capabilities.len(), limit)
}

/// Checks the size of what a client declares about itself, which is kept in several places.
pub(crate) fn check_declared_size(n_bytes: usize, limit: usize) -> Result<(), RpcError> {
    if n_bytes <= limit {
        return Ok(());
    }
    Err(limit_error(
        &format!(
            "the client's declared capabilities and information have {n_bytes} bytes, {limit} are allowed"
        ),
        "declare less; a person can raise `max_client_info_bytes` under [server]",
    ))
}

/// The error for a protocol version that is not supported.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    let supported: Vec<&str> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
    let message = format!("protocol version {requested} is not supported");
    let error = ApiError::new(ErrorCode::UnsupportedProtocolVersion, message);
    rpc_error(&error.with_detail("supported", supported).with_detail("requested", requested))
}

/// Checks the headers of a modern request against its body.
pub(crate) fn check_headers(
    headers: &HeaderMap,
    envelope: &Envelope,
    params: &Params,
) -> Result<(), RpcError> {
    let value = |name: &str| headers.get(name).map(axum::http::HeaderValue::as_bytes);
    if let Some(version) = params.protocol_version() {
        header::check("MCP-Protocol-Version", value(header::PROTOCOL_VERSION), &version)?;
    }
    header::check("Mcp-Method", value(header::METHOD), envelope.method().as_str())?;
    if let Some(name) = header::name_in_body(envelope.method(), params) {
        header::check("Mcp-Name", value(header::NAME), &name)?;
    }
    Ok(())
}

/// The sender of a modern request.
pub(crate) fn modern_caller(
    principal: &Principal,
    has_admin_token: bool,
    params: &Params,
    client: Arc<dyn Client>,
) -> Caller {
    Caller {
        principal: principal.clone(),
        on_behalf_of: None,
        era: Era::Modern,
        capabilities: params.client_capabilities().map(ClientCapabilities::read).unwrap_or_default(),
        info: params.client_info(),
        log_level: params.log_level().map(std::borrow::Cow::into_owned),
        has_admin_token,
        base: None,
        owner: Arc::clone(principal.id()),
        session: None,
        client,
    }
}

/// Reads parameters, or makes the error to answer with.
pub(crate) fn read_params(envelope: &Envelope) -> Result<Params, RpcError> {
    let params: Bytes = envelope.params();
    Params::read(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_era_is_found_per_request() {
        let modern = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        for (params, header, expected) in [
            ("{}", None, Era::Legacy),
            ("{}", Some("2025-06-18"), Era::Legacy),
            ("{}", Some("2026-07-28"), Era::Modern),
            ("{}", Some("2027-01-01"), Era::Modern),
            ("{}", Some("1999-01-01"), Era::Legacy),
            (modern, None, Era::Modern),
            (modern, Some("2025-11-25"), Era::Modern),
        ] {
            let params = Params::read(Bytes::copy_from_slice(params.as_bytes())).unwrap();
            assert_eq!(era_of(&params, header.map(str::as_bytes)), expected, "{params:?} {header:?}");
        }
    }
}

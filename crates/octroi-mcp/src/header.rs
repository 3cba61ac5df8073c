//! The `Mcp-*` headers: encoding of values, and the check against the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::code::{self, RpcError};
use crate::method::Method;
use crate::params::Params;

/// The protocol version.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method in the body.
pub const METHOD: &str = "mcp-method";
/// The name, URI or task id in the body.
pub const NAME: &str = "mcp-name";
/// The prefix of headers for tool arguments.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The id of a legacy session.
pub const SESSION_ID: &str = "mcp-session-id";
/// Where a legacy client resumes a stream.
pub const LAST_EVENT_ID: &str = "last-event-id";

const SENTINEL_START: &str = "=?base64?";
const SENTINEL_END: &str = "?=";

/// Encodes a value so that any text fits into a header.
pub fn encode(value: &str) -> String {
    let printable = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t'));
    let padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let ambiguous = value.starts_with(SENTINEL_START) && value.ends_with(SENTINEL_END);
    if printable && !padded && !ambiguous {
        value.to_owned()
    } else {
        format!("{SENTINEL_START}{}{SENTINEL_END}", STANDARD.encode(value))
    }
}

/// Decodes a value; `None` if it contains invalid characters.
pub fn decode(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    if !text.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t')) {
        return None;
    }
    let encoded = text.strip_prefix(SENTINEL_START).and_then(|rest| rest.strip_suffix(SENTINEL_END));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// The value in the body that `Mcp-Name` mirrors, for the methods that have one.
pub fn name_in_body<'a>(method: &Method, params: &'a Params) -> Option<std::borrow::Cow<'a, str>> {
    match method {
        Method::ToolsCall | Method::PromptsGet => params.name(),
        Method::ResourcesRead => params.uri(),
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => params.task_id(),
        _ => None,
    }
}

/// Checks one header against the value in the body.
pub fn check(header: &str, found: Option<&[u8]>, expected: &str) -> Result<(), RpcError> {
    let Some(found) = found else {
        return Err(mismatch(format!("the {header} header is missing")));
    };
    // Nearly always it is plain text, which needs no decoding.
    let is_plain =
        found.iter().all(|byte| matches!(byte, 0x21..=0x7e)) && !expected.starts_with(SENTINEL_START);
    if is_plain && found == expected.as_bytes() {
        return Ok(());
    }
    match decode(found) {
        None => Err(mismatch(format!("the {header} header contains invalid characters"))),
        Some(value) if value == expected => Ok(()),
        Some(value) => {
            Err(mismatch(format!("the {header} header says `{value}`, but the body says `{expected}`")))
        }
    }
}

/// The error for headers that do not match the body.
pub fn mismatch(message: impl Into<String>) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_header() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("", ""),
        ] {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header.as_bytes()).as_deref(), Some(value));
        }
    }

    #[test]
    fn what_a_header_may_not_hold_is_refused() {
        for header in ["caf\u{e9}", "a\u{7}b", "=?base64?***?=", "=?base64?/w==?="] {
            assert_eq!(decode(header.as_bytes()), None, "{header}");
        }
    }
}

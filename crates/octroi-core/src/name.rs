//! Names of servers, and the canonical ids of what they offer.

use std::fmt;
use std::sync::Arc;

/// The longest server name.
pub const SERVER_NAME_MAX: usize = 32;

/// The name under which a server is configured: `[a-z0-9][a-z0-9_-]{0,31}`, without `__`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

/// Why a text is not a server name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a server name: {reason}")]
pub struct InvalidServerName {
    name: String,
    reason: &'static str,
}

impl ServerName {
    /// Checks a name.
    pub fn parse(text: &str) -> Result<Self, InvalidServerName> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.len() > SERVER_NAME_MAX {
            "it is longer than 32 characters"
        } else if !text.bytes().all(allowed) {
            "only a-z, 0-9, `_` and `-` are allowed"
        } else if text.starts_with(['_', '-']) {
            "it must begin with a letter or a digit"
        } else if text.contains("__") {
            "`__` separates server and tool in aliases"
        } else {
            return Ok(Self(text.into()));
        };
        Err(InvalidServerName { name: text.to_owned(), reason })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

/// The one name of a tool in policies, audit and commands: `mcp:{server}:{tool}`, `builtin:{tool}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalId(String);

impl CanonicalId {
    /// The id of a tool that an MCP server offers.
    pub fn mcp(server: &ServerName, tool: &str) -> Self {
        Self(format!("mcp:{server}:{tool}"))
    }

    /// The id of a tool that Octroi itself offers.
    pub fn builtin(tool: &str) -> Self {
        Self(format!("builtin:{tool}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CanonicalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names() {
        let long = "a".repeat(33);
        for (name, valid) in [
            ("github", true),
            ("git-hub_2", true),
            ("0", true),
            ("", false),
            ("Git", false),
            ("a.b", false),
            ("a:b", false),
            ("a__b", false),
            ("_a", false),
            ("-a", false),
            (long.as_str(), false),
        ] {
            assert_eq!(ServerName::parse(name).is_ok(), valid, "{name}");
        }
    }

    #[test]
    fn canonical_ids() {
        let server = ServerName::parse("fs").unwrap();
        assert_eq!(CanonicalId::mcp(&server, "read_file").as_str(), "mcp:fs:read_file");
        assert_eq!(CanonicalId::builtin("now").as_str(), "builtin:now");
    }
}

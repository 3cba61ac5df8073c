//! Names and keys of servers, and the canonical ids of their tools.

use std::fmt;
use std::sync::Arc;

/// The name of Octroi itself, as the server of its own tools and resources. No configured server can have it.
pub const OWN_NAME: &str = "octroi";

/// The maximum length of a server name.
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
    /// Validates a name.
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

    /// The name as a string.
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

/// The owner of a server. Two users may each have a server of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Shared by everybody.
    System,
    /// Owned by the user with this id.
    User(Arc<str>),
}

impl Scope {
    /// Parses what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "system" => Some(Self::System),
            _ => text.strip_prefix("user:").map(|id| Self::User(id.into())),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => formatter.write_str("system"),
            Self::User(id) => write!(formatter, "user:{id}"),
        }
    }
}

/// The unique key of a server: its owner and its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerKey {
    /// Its owner.
    pub scope: Scope,
    /// The name under which it is configured.
    pub name: ServerName,
}

impl ServerKey {
    /// A server shared by everybody.
    pub fn system(name: ServerName) -> Self {
        Self { scope: Scope::System, name }
    }

    /// The key of Octroi itself.
    pub fn octroi() -> Self {
        Self::system(ServerName(OWN_NAME.into()))
    }

    /// Parses what [`Display`](fmt::Display) writes: `notes`, or `ana/notes`.
    pub fn parse(text: &str) -> Option<Self> {
        let (scope, name) = match text.split_once('/') {
            None => (Scope::System, text),
            Some(("", _)) => return None,
            Some((owner, name)) => (Scope::User(owner.into()), name),
        };
        Some(Self { scope, name: ServerName::parse(name).ok()? })
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::System => fmt::Display::fmt(&self.name, formatter),
            Scope::User(owner) => write!(formatter, "{owner}/{}", self.name),
        }
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{self}\"")
    }
}

/// The unique name of a tool in policies, audit and commands: `mcp:{server}:{tool}`,
/// `mcp:{owner}/{server}:{tool}` for a server of a user, `builtin:{tool}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalId(String);

impl CanonicalId {
    /// The id of an MCP server's tool.
    pub fn mcp(server: &ServerKey, tool: &str) -> Self {
        Self(format!("mcp:{server}:{tool}"))
    }

    /// The server of a tool and its name there, if it belongs to an MCP server.
    pub fn parse_mcp(id: &str) -> Option<(ServerKey, &str)> {
        let (server, tool) = id.strip_prefix("mcp:")?.split_once(':')?;
        Some((ServerKey::parse(server)?, tool))
    }

    /// The id of one of Octroi's own tools.
    pub fn builtin(tool: &str) -> Self {
        Self(format!("builtin:{tool}"))
    }

    /// The id as a string.
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
        let system = ServerKey::system(ServerName::parse("fs").unwrap());
        let own = ServerKey { scope: Scope::User("ana".into()), name: ServerName::parse("fs").unwrap() };
        for (server, expected) in [(system, "mcp:fs:read:file"), (own, "mcp:ana/fs:read:file")] {
            let id = CanonicalId::mcp(&server, "read:file");
            assert_eq!(id.as_str(), expected);
            assert_eq!(CanonicalId::parse_mcp(expected), Some((server, "read:file")));
        }
        assert_eq!(CanonicalId::builtin("now").as_str(), "builtin:now");
        for other in ["builtin:now", "mcp:fs", "mcp:/fs:x", "mcp:Fs:x", "mcp:a/b/c:x"] {
            assert_eq!(CanonicalId::parse_mcp(other), None, "{other}");
        }
    }

    #[test]
    fn scopes_are_read_back() {
        for scope in [Scope::System, Scope::User("ada".into()), Scope::User("a:b".into())] {
            assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
        }
        assert_eq!(Scope::parse("nobody"), None);
    }
}

//! Users: the people who own tokens and agents.

use std::fmt;
use std::sync::Arc;

/// The user that always exists and cannot be removed: whoever owns the data directory.
pub const BUILT_IN_ADMIN: &str = "admin";

const LONGEST_NAME: usize = 32;
const LONGEST_AGENT_ID: usize = 64;

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserRole {
    /// Everything.
    Admin,
    /// What concerns the user's own agents and tokens.
    Member,
}

impl UserRole {
    /// Both roles.
    pub const ALL: [Self; 2] = [Self::Admin, Self::Member];

    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// The name of a user: what identifies the user everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserName(Arc<str>);

/// Why a text is not the name of a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: it needs 1 to {LONGEST_NAME} of a-z, 0-9, `.`, `_` and `-`, the first a letter or digit"
)]
pub struct UserNameError(String);

impl UserName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, UserNameError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_valid = (1..=LONGEST_NAME).contains(&text.len())
            && text.bytes().next().is_some_and(is_plain)
            && text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'.' | b'_' | b'-'));
        if is_valid { Ok(Self(text.into())) } else { Err(UserNameError(text.to_owned())) }
    }

    /// The name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether a text can be the id of an agent or of a session.
pub fn is_agent_id(id: &str) -> bool {
    (1..=LONGEST_AGENT_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (text, is_valid) in [
            ("ana", true),
            ("ana.b-c_1", true),
            ("1", true),
            ("", false),
            (".ana", false),
            ("-ana", false),
            ("Ana", false),
            ("agent:ana", false),
            ("ana/b", false),
            ("änne", false),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
        ] {
            assert_eq!(UserName::parse(text).is_ok(), is_valid, "{text}");
        }
    }
}

//! The hash that identifies an accepted definition.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::canonical::canonical;
use crate::json::JsonError;

/// The kind of a pinned item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PinKind {
    /// A server's instructions and its description of itself.
    Server,
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    Template,
}

impl PinKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Server, Self::Tool, Self::Prompt, Self::Resource, Self::Template];

    /// Its name in files and in output. It is part of every hash, so it must never change.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for PinKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// SHA-256 over the kind, a zero byte and the canonical form of a whole definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionHash([u8; 32]);

impl DefinitionHash {
    /// Hashes a definition as the server sent it.
    pub fn of(kind: PinKind, definition: &[u8]) -> Result<Self, JsonError> {
        let mut hasher = Sha256::new();
        hasher.update(kind.as_str());
        hasher.update([0]);
        hasher.update(canonical(definition)?);
        Ok(Self(hasher.finalize().into()))
    }

    /// The hash as bytes, for records.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A hash that was stored as bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for DefinitionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for DefinitionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DefinitionHash({self})")
    }
}

/// The error for a text that is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 hexadecimal digits")]
pub struct NotAHash;

impl FromStr for DefinitionHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAHash)?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_value_count_and_nothing_else() {
        let hash = |kind, json: &str| DefinitionHash::of(kind, json.as_bytes()).unwrap();
        let first = hash(PinKind::Tool, r#"{"name":"a","description":"b"}"#);
        assert_eq!(first, hash(PinKind::Tool, r#" {"description": "\u0062", "name": "a"} "#));
        assert_ne!(first, hash(PinKind::Prompt, r#"{"name":"a","description":"b"}"#));
        assert_ne!(first, hash(PinKind::Tool, r#"{"name":"a","description":"b "}"#));
        assert_ne!(first, hash(PinKind::Tool, r#"{"name":"a","description":"b","_meta":{}}"#));
        assert!(DefinitionHash::of(PinKind::Tool, br#"{"name":"a","name":"b"}"#).is_err());
    }

    #[test]
    fn hashes_are_written_and_read() {
        // SHA-256 of the bytes `tool`, zero, `{}`: it must never change, since lock files contain it.
        let hash = DefinitionHash::of(PinKind::Tool, b"{}").unwrap();
        let expected: [u8; 32] = Sha256::digest(b"tool\0{}").into();
        assert_eq!(hash.as_bytes(), &expected);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string().to_uppercase().parse(), Ok(hash));
        for wrong in ["", "ab", &"g".repeat(64), &"é".repeat(32), &"a".repeat(65)] {
            assert_eq!(wrong.parse::<DefinitionHash>(), Err(NotAHash), "{wrong}");
        }
    }

    #[test]
    fn kinds_are_written_and_read() {
        for kind in PinKind::ALL {
            assert_eq!(PinKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(PinKind::parse("Tool"), None);
    }
}

//! Stored server definitions.

use std::fmt;

pub use octroi_core::{Scope, ServerKey};
use serde_json::Value;

use crate::hash::ContentHash;

/// The source that manages a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedBy {
    /// The configuration file.
    File,
    /// The database: it was added at run time.
    Database,
    /// A discovery mechanism.
    Discovery,
    /// A preset.
    Preset,
}

impl ManagedBy {
    /// The stored and displayed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Database => "db",
            Self::Discovery => "discovery",
            Self::Preset => "preset",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::File, Self::Database, Self::Discovery, Self::Preset]
            .into_iter()
            .find(|manager| manager.as_str() == word)
    }
}

/// A JSON text with sorted members and no whitespace, so that equal values are equal texts.
///
/// A definition is stored as written: it names variables and secrets, but does not contain their
/// values. `Debug` shows only the hash anyway.
#[derive(Clone, PartialEq, Eq)]
pub struct CanonicalJson {
    text: String,
    hash: ContentHash,
}

impl CanonicalJson {
    /// The canonical text of a value.
    pub fn of(mut value: Value) -> Self {
        value.sort_all_objects();
        Self::stored(value.to_string())
    }

    pub(crate) fn stored(text: String) -> Self {
        let hash = ContentHash::of(&text);
        Self { text, hash }
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The hash of the text.
    pub fn hash(&self) -> &ContentHash {
        &self.hash
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CanonicalJson({})", self.hash)
    }
}

/// A definition and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRecord {
    /// The server.
    pub key: ServerKey,
    /// The source that manages it.
    pub managed_by: ManagedBy,
    /// The current definition.
    pub definition: CanonicalJson,
    /// Starts at 1 and increases with each change of the definition or of its manager.
    pub revision: i64,
    /// Set by `octroi enable` and `octroi disable`; overrides the definition.
    pub enabled_override: Option<bool>,
    /// Who switched it last.
    pub switched_by: Option<String>,
    /// Whether an admin has said yes to it.
    pub is_agreed: bool,
    /// Whether it was seen to ask its clients over a connection that several share.
    pub asks_clients: bool,
    /// When it was first recorded.
    pub first_seen_ms: i64,
    /// When it was last recorded.
    pub last_seen_ms: i64,
}

/// The result of recording a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its current revision.
    pub revision: i64,
    /// How it compares with the previous definition.
    pub change: RecordedChange,
}

/// How a recorded definition compares with the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedChange {
    /// There was no previous one.
    Added,
    /// The previous one differs.
    Changed,
    /// The previous one is the same.
    Unchanged,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_texts() {
        let json = |text: &str| CanonicalJson::of(serde_json::from_str(text).unwrap());
        assert_eq!(
            json(r#"{ "b": [1, {"d": 1, "c": 2}], "a": null }"#).as_str(),
            r#"{"a":null,"b":[1,{"c":2,"d":1}]}"#
        );
        assert_eq!(json(r#"{"a":1,"b":2}"#), json(r#"{"b":2,"a":1}"#));
        assert_ne!(json("[1,2]"), json("[2,1]"));
    }

    #[test]
    fn words_are_read_back() {
        for manager in [ManagedBy::File, ManagedBy::Database, ManagedBy::Discovery, ManagedBy::Preset] {
            assert_eq!(ManagedBy::parse(manager.as_str()), Some(manager));
        }
        assert_eq!(ManagedBy::parse("nobody"), None);
    }
}

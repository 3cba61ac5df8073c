//! What is remembered of a server's definition.

use std::fmt;

pub use octroi_core::{Scope, ServerKey};
use serde_json::Value;

use crate::hash::ContentHash;

/// Who may change a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedBy {
    /// The configuration file.
    File,
    /// The database: it was added while Octroi ran.
    Database,
    /// Whatever found it.
    Discovery,
    /// A preset.
    Preset,
}

impl ManagedBy {
    /// The word that is stored and shown.
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

/// A JSON text with sorted members and no spaces, so that equal values are equal texts.
///
/// A definition is kept as it was written: it names variables and secrets, and does not hold what
/// they stand for. `Debug` shows only the hash all the same.
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

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its hash.
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
    /// Which server.
    pub key: ServerKey,
    /// Who may change it.
    pub managed_by: ManagedBy,
    /// The definition.
    pub definition: CanonicalJson,
    /// One at first, one more with each change of the definition or of who manages it.
    pub revision: i64,
    /// What `octroi enable` and `octroi disable` said, over what the definition says.
    pub enabled_override: Option<bool>,
    /// When it was first recorded.
    pub first_seen_ms: i64,
    /// When it was last recorded.
    pub last_seen_ms: i64,
}

/// What came of recording a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its revision now.
    pub revision: i64,
    /// How it compares with what was known.
    pub change: Change,
}

/// How a recorded definition compares with what was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing was known.
    Added,
    /// Something else was known.
    Changed,
    /// The same was known.
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

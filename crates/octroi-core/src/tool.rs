//! Tools as the gates see them: their source, risk and side effects.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::name::CanonicalId;
use crate::trust::Trust;

pub mod arguments;
mod chinese;
pub mod infer;
mod phrases;
mod remarks;
pub mod sentence;
mod tokens;
mod verbs;
pub mod words;

/// How much harm a tool can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// It only reads.
    Low,
    /// It may write.
    Medium,
    /// It writes.
    High,
    /// It deletes or destroys.
    Critical,
}

impl Risk {
    /// All levels, from low to critical.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Parses its name, in lower or upper case.
    pub fn parse(word: &str) -> Option<Self> {
        let lower = word.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|risk| risk.as_str() == lower)
            .or_else(|| (lower == "med").then_some(Self::Medium))
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The side effects of a tool, as tags: `fs.write`, `payments`. The vocabulary is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects(BTreeSet<Arc<str>>);

/// The tags that Octroi assigns itself. Others come from the configuration.
pub const KNOWN_TAGS: [&str; 20] = [
    "fs.read",
    "fs.write",
    "fs.delete",
    "fs.chmod",
    "network.http",
    "network.socket",
    "network.dns",
    "cloud.key_read",
    "cloud.key_write",
    "cloud.key_delete",
    "cloud.resource_create",
    "cloud.resource_delete",
    "payments",
    "system.exec",
    "system.env",
    "database.read",
    "database.write",
    "database.delete",
    "data.write",
    UNKNOWN,
];

/// The tag of a tool whose effect nobody can tell.
pub const UNKNOWN: &str = "unknown";

/// Tags of tools that change nothing.
const READING_TAGS: [&str; 5] = ["fs.read", "database.read", "network.http", "network.dns", "cloud.key_read"];

impl SideEffects {
    /// Whether a tag says that something is changed.
    pub fn changes_something(&self) -> bool {
        self.iter().any(|tag| tag != UNKNOWN && !READING_TAGS.contains(&tag))
    }

    /// Whether no tag says that something is or may be changed.
    pub fn only_read(&self) -> bool {
        self.iter().all(|tag| READING_TAGS.contains(&tag))
    }

    /// Takes a tag away.
    pub fn remove(&mut self, tag: &str) {
        self.0.remove(tag);
    }

    /// Adds a tag.
    pub fn insert(&mut self, tag: &str) {
        self.0.insert(tag.into());
    }

    /// Whether there are no tags.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it contains this tag.
    pub fn contains(&self, tag: &str) -> bool {
        self.0.contains(tag)
    }

    /// The tags, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tag| &**tag)
    }
}

impl<'a> FromIterator<&'a str> for SideEffects {
    fn from_iter<T: IntoIterator<Item = &'a str>>(tags: T) -> Self {
        Self(tags.into_iter().map(Into::into).collect())
    }
}

/// The kind of source that provides a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An MCP server.
    Mcp,
    /// An extension.
    Extension,
    /// Octroi itself.
    Builtin,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 3] = [Self::Mcp, Self::Extension, Self::Builtin];

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }

    /// Its name in output and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Extension => "extension",
            Self::Builtin => "builtin",
        }
    }
}

/// One tool of any source: everything the gates check.
#[derive(Clone, Debug)]
pub struct ToolDescriptor {
    /// Its canonical id.
    pub id: CanonicalId,
    /// The kind of its source.
    pub source: Source,
    /// The id of its server or extension.
    pub source_id: Arc<str>,
    /// The server's own name for it.
    pub name: Arc<str>,
    /// Its risk level.
    pub risk: Risk,
    /// Its side effects.
    pub side_effects: SideEffects,
    /// Whether it needs the admin token.
    pub requires_admin: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Why it is disabled, if a reason is configured.
    pub off_because: Option<Arc<str>>,
    /// The trust in its source.
    pub trust: Trust,
    /// The timeout of a call.
    pub timeout: Duration,
    /// The version that its source reports.
    pub version: Option<Arc<str>>,
    /// The hash of its whole definition.
    pub definition_hash: [u8; 32],
}

/// An administrator's settings of one tool. They take precedence over everything Octroi infers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOverride {
    /// `false` disables it.
    pub enabled: Option<bool>,
    /// Why it is disabled, for denials.
    pub reason: Option<String>,
    /// Its risk level.
    pub risk: Option<Risk>,
    /// Its side effects.
    pub side_effects: Option<Vec<String>>,
    /// Whether it needs the admin token.
    pub requires_admin: Option<bool>,
}

/// A tool's own annotations. Hints, not facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It does not change anything.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// It interacts with external systems.
    pub open_world: Option<bool>,
}

impl Annotations {
    /// Reads the annotations of a definition; `None` if it has none. What is there and cannot be understood counts as
    /// writing: `"destructiveHint": "true"` was meant to say something.
    pub fn of_json(annotations: Option<&Value>) -> Self {
        let writing = Self { read_only: Some(false), destructive: Some(true), open_world: None };
        match annotations {
            None | Some(Value::Null) => Self::default(),
            Some(Value::Object(hints)) => {
                let hint = |name: &str, otherwise: bool| match hints.get(name) {
                    None | Some(Value::Null) => None,
                    Some(hint) => Some(hint.as_bool().unwrap_or(otherwise)),
                };
                Self {
                    read_only: hint("readOnlyHint", false),
                    destructive: hint("destructiveHint", true),
                    open_world: hint("openWorldHint", true),
                }
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => writing,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_that_cannot_be_understood_count_as_writing() {
        for (annotations, read_only, destructive) in [
            (json!(null), None, None),
            (json!({}), None, None),
            (json!({"readOnlyHint": null}), None, None),
            (json!({"readOnlyHint": true, "destructiveHint": false}), Some(true), Some(false)),
            (json!({"readOnlyHint": "true"}), Some(false), None),
            (json!({"readOnlyHint": "false"}), Some(false), None),
            (json!({"destructiveHint": "true"}), None, Some(true)),
            (json!({"destructiveHint": 1}), None, Some(true)),
            (json!("destructive"), Some(false), Some(true)),
            (json!([{"readOnlyHint": true}]), Some(false), Some(true)),
        ] {
            let found = Annotations::of_json(Some(&annotations));
            assert_eq!((found.read_only, found.destructive), (read_only, destructive), "{annotations}");
        }
        assert_eq!(Annotations::of_json(None), Annotations::default());
    }

    #[test]
    fn risks_are_ordered_and_have_words() {
        assert!(Risk::Low < Risk::Medium && Risk::Medium < Risk::High && Risk::High < Risk::Critical);
        for risk in Risk::ALL {
            assert_eq!(Risk::parse(risk.as_str()), Some(risk));
            assert_eq!(Risk::parse(&risk.as_str().to_uppercase()), Some(risk));
        }
        assert_eq!(Risk::parse("MED"), Some(Risk::Medium));
        assert_eq!(Risk::parse("none"), None);
    }
}

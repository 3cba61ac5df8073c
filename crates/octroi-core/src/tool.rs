//! Tools as the gates see them: what they are, how risky, and what they do to the world.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::name::CanonicalId;
use crate::server::Trust;

pub mod infer;
pub mod words;

/// How much harm a tool can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// It reads.
    Low,
    /// It may write.
    Medium,
    /// It writes.
    High,
    /// It destroys.
    Critical,
}

impl Risk {
    /// All of them, from low to critical.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Reads the word, in small or capital letters.
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

/// What a tool does to the world, as tags: `fs.write`, `payments`. The vocabulary is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideEffects(BTreeSet<Arc<str>>);

/// The tags that Octroi itself gives out. Others come from the configuration.
pub const KNOWN_TAGS: [&str; 19] = [
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
];

impl SideEffects {
    /// Adds a tag.
    pub fn insert(&mut self, tag: &str) {
        self.0.insert(tag.into());
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this tag is among them.
    pub fn contains(&self, tag: &str) -> bool {
        self.0.contains(tag)
    }

    /// The tags in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tag| &**tag)
    }
}

impl<'a> FromIterator<&'a str> for SideEffects {
    fn from_iter<T: IntoIterator<Item = &'a str>>(tags: T) -> Self {
        Self(tags.into_iter().map(Into::into).collect())
    }
}

/// Where a tool comes from.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mcp, Self::Extension, Self::Builtin];

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Extension => "extension",
            Self::Builtin => "builtin",
        }
    }
}

/// One tool, whatever its source: everything that the gates ask about it.
#[derive(Clone, Debug)]
pub struct ToolDescriptor {
    /// Its one name.
    pub id: CanonicalId,
    /// Where it comes from.
    pub source: Source,
    /// Which server or extension.
    pub source_id: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// How risky it is.
    pub risk: Risk,
    /// What it does to the world.
    pub side_effects: SideEffects,
    /// Whether it needs the admin token.
    pub requires_admin: bool,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Why it is not, if somebody said so.
    pub off_because: Option<Arc<str>>,
    /// How far its source is trusted.
    pub trust: Trust,
    /// How long a call of it may take.
    pub timeout: Duration,
    /// The version its source gives.
    pub version: Option<Arc<str>>,
    /// The hash of its whole definition.
    pub definition_hash: [u8; 32],
}

/// What an administrator says of one tool. It stands above whatever Octroi finds out by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOverride {
    /// `false` switches it off.
    pub enabled: Option<bool>,
    /// Why, for whoever is denied.
    pub reason: Option<String>,
    /// How risky it is.
    pub risk: Option<Risk>,
    /// What it does to the world.
    pub side_effects: Option<Vec<String>>,
    /// Whether it needs the admin token.
    pub requires_admin: Option<bool>,
}

/// What a tool says about itself. Hints, not facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// It talks to the world outside.
    pub open_world: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

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

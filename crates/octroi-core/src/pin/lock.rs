//! `octroi.lock`: which definitions were accepted, when and by whom.
//!
//! The file is meant for version control: TOML, one entry for each item, always in the same order, so that
//! two people who accept different items change different lines. Where two files disagree about an item,
//! neither is trusted: [`Lock::merge`] leaves it out, and it must be accepted again.

mod text;

use std::collections::BTreeMap;

use super::hash::{DefinitionHash, PinKind};
use crate::name::ServerKey;

pub use text::LockError;

/// The accepted definitions: the content of a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    pins: BTreeMap<PinKey, Pin>,
}

/// An item of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinKey {
    /// The server.
    pub server: ServerKey,
    /// The kind of item.
    pub kind: PinKind,
    /// The server's name for it; the URI of a template, empty for the server itself.
    pub name: String,
}

/// An accepted definition, with the time and the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The hash of the definition.
    pub hash: DefinitionHash,
    /// When it was accepted, as RFC 3339 in UTC: `2026-01-31T12:00:00Z`.
    pub accepted_at: String,
    /// Who accepted it, as the accepting side names people.
    pub accepted_by: String,
}

/// The result of merging two lock files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The entries that both agree on, or only one has.
    pub lock: Lock,
    /// The items they disagree on, which are in neither.
    pub conflicts: Vec<PinKey>,
}

impl Lock {
    /// The pin of an item.
    pub fn get(&self, key: &PinKey) -> Option<&Pin> {
        self.pins.get(key)
    }

    /// Accepts a definition and returns the pin it replaces.
    pub fn insert(&mut self, key: PinKey, pin: Pin) -> Option<Pin> {
        self.pins.insert(key, pin)
    }

    /// Removes an acceptance.
    pub fn remove(&mut self, key: &PinKey) -> Option<Pin> {
        self.pins.remove(key)
    }

    /// All pins, by server, kind and name.
    pub fn iter(&self) -> impl Iterator<Item = (&PinKey, &Pin)> {
        self.pins.iter()
    }

    /// The number of pins.
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether nothing is accepted.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// Parses the text of a lock file.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        text::parse(text)
    }

    /// Merges two files. Where both accept the same definition, the earlier acceptance wins.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Merged {
        let mut conflicts = Vec::new();
        for (key, theirs) in other.pins {
            match self.pins.get(&key) {
                Some(ours) if ours.hash != theirs.hash => {
                    self.pins.remove(&key);
                    conflicts.push(key);
                }
                Some(ours) if by_time(ours) <= by_time(&theirs) => {}
                Some(_) | None => {
                    self.pins.insert(key, theirs);
                }
            }
        }
        Merged { lock: self, conflicts }
    }
}

/// A total order, so that the direction of a merge does not matter.
fn by_time(pin: &Pin) -> (&str, &str) {
    (&pin.accepted_at, &pin.accepted_by)
}

impl std::fmt::Display for Lock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text::write(formatter, self)
    }
}

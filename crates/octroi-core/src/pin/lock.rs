//! `octroi.lock`: which definitions were accepted, when and by whom.
//!
//! The file is made to be kept under version control: TOML, one entry for each item, always in the same order, so
//! that two people who accept different things change different lines. Of two files that disagree about an item
//! neither is believed: [`Lock::merge`] leaves it out, and it must be accepted again.

mod text;

use std::collections::BTreeMap;

use super::hash::{DefinitionHash, PinKind};
use crate::name::ServerKey;

pub use text::LockError;

/// What is accepted: the content of a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    pins: BTreeMap<PinKey, Pin>,
}

/// Which item of which server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinKey {
    /// The server.
    pub server: ServerKey,
    /// What it is.
    pub kind: PinKind,
    /// The name that the server gives it; for a template its address, for the server itself nothing.
    pub name: String,
}

/// What was accepted, when and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The definition.
    pub hash: DefinitionHash,
    /// When, as RFC 3339 in UTC: `2026-01-31T12:00:00Z`.
    pub accepted_at: String,
    /// Who, as the accepting side names people.
    pub accepted_by: String,
}

/// Two lock files as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What both agree on, or only one has.
    pub lock: Lock,
    /// What they disagree on: it is in neither.
    pub conflicts: Vec<PinKey>,
}

impl Lock {
    /// The pin of an item.
    pub fn get(&self, key: &PinKey) -> Option<&Pin> {
        self.pins.get(key)
    }

    /// Accepts a definition in place of any before it, which is returned.
    pub fn insert(&mut self, key: PinKey, pin: Pin) -> Option<Pin> {
        self.pins.insert(key, pin)
    }

    /// Takes back an acceptance.
    pub fn remove(&mut self, key: &PinKey) -> Option<Pin> {
        self.pins.remove(key)
    }

    /// All pins, by server, kind and name.
    pub fn iter(&self) -> impl Iterator<Item = (&PinKey, &Pin)> {
        self.pins.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether nothing is accepted.
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// Reads the text of a lock file.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        text::parse(text)
    }

    /// Makes one of two. Where both accept the same definition the earlier acceptance counts.
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

/// A total order, so that it does not matter which file is merged into which.
fn by_time(pin: &Pin) -> (&str, &str) {
    (&pin.accepted_at, &pin.accepted_by)
}

impl std::fmt::Display for Lock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text::write(formatter, self)
    }
}

//! Definitions that were accepted, and those that wait to be.

use crate::server::ServerKey;

/// What kind of thing a definition describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PinKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource template.
    Template,
}

impl PinKind {
    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Template => "template",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Tool, Self::Prompt, Self::Template].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What tells one pinned thing from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinKey {
    /// Whose it is.
    pub server: ServerKey,
    /// Of which kind.
    pub kind: PinKind,
    /// Its own name at its server.
    pub name: String,
}

/// A definition that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinRecord {
    /// Of what.
    pub key: PinKey,
    /// Its hash.
    pub hash: [u8; 32],
    /// The definition itself, so that a later one can be shown beside it.
    pub definition: String,
    /// When it was accepted.
    pub accepted_at_ms: i64,
    /// By whom, or by what.
    pub accepted_by: String,
}

/// A definition that a person has to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDefinition {
    /// Of what.
    pub key: PinKey,
    /// Its hash.
    pub hash: [u8; 32],
    /// The definition itself.
    pub definition: String,
    /// When it was last seen.
    pub seen_at_ms: i64,
    /// Why it was not accepted.
    pub reason: String,
}

/// A definition that was accepted once, and is no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPin {
    /// What it was.
    pub pin: PinRecord,
    /// Until when.
    pub ended_at_ms: i64,
}

/// What came of accepting a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is the pinned one now.
    Pinned(PinRecord),
    /// The server has changed it again since the person saw it; this is what waits now.
    Changed(HeldDefinition),
    /// None of this name waits.
    NotHeld,
}

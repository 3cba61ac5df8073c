//! Definitions that were accepted, and those that wait to be.

pub use octroi_core::pin::{PinKey, PinKind};

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

/// A definition that a person does not want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOut {
    /// Of what.
    pub key: PinKey,
    /// Its hash.
    pub hash: [u8; 32],
    /// When that was decided.
    pub decided_at_ms: i64,
    /// By whom.
    pub decided_by: String,
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

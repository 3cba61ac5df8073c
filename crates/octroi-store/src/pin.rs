//! Pinned definitions, and definitions that wait for review.

pub use octroi_core::pin::{PinKey, PinKind};

/// A definition that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinRecord {
    /// The server, kind and name of the definition.
    pub key: PinKey,
    /// The hash of the definition.
    pub hash: [u8; 32],
    /// The definition itself, to compare later ones with it.
    pub definition: String,
    /// When it was accepted.
    pub accepted_at_ms: i64,
    /// The operator or the rule that accepted it.
    pub accepted_by: String,
}

/// A quarantined definition: an operator has to review it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDefinition {
    /// The server, kind and name of the definition.
    pub key: PinKey,
    /// The hash of the definition.
    pub hash: [u8; 32],
    /// The definition itself.
    pub definition: String,
    /// When it was last seen.
    pub seen_at_ms: i64,
    /// Why it was quarantined.
    pub reason: String,
}

/// A definition that an operator has rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOut {
    /// The server, kind and name of the definition.
    pub key: PinKey,
    /// The hash of the definition.
    pub hash: [u8; 32],
    /// When it was rejected.
    pub decided_at_ms: i64,
    /// Who rejected it.
    pub decided_by: String,
}

/// A formerly accepted definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPin {
    /// The pin as it was.
    pub pin: PinRecord,
    /// When it was replaced or removed.
    pub ended_at_ms: i64,
}

/// The result of accepting a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is pinned now.
    Pinned(PinRecord),
    /// The server has changed it again since the operator saw it; this is the quarantined one now.
    Changed(HeldDefinition),
    /// No definition of this name is quarantined.
    NotHeld,
}

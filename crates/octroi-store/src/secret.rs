//! Stored secrets, as they are listed and as they are read.

use octroi_core::{Scope, Secret};

/// A stored secret, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    /// Whose it is.
    pub scope: Scope,
    /// Its name, unique among those of its owner.
    pub name: String,
    /// How often it was set.
    pub revision: i64,
    /// When it was set first.
    pub created_at_ms: i64,
    /// Who set it first.
    pub created_by: String,
    /// When it was set last.
    pub updated_at_ms: i64,
    /// Who set it last.
    pub updated_by: String,
    /// Whether the key in use can decrypt it.
    pub is_readable: bool,
}

/// A stored secret with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSecret {
    /// Whose it is.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// Its value; `None` if it is encrypted with another key than the one in use.
    pub value: Option<Secret>,
}

/// What a change of the master key encrypted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// How many secrets.
    pub n_secrets: usize,
    /// How many approvals hold arguments.
    pub n_approvals: usize,
    /// How many states of servers that were added at run time.
    pub n_entries: usize,
    /// How many of all these an earlier key had encrypted, so that they stay unreadable.
    pub n_unreadable: usize,
}

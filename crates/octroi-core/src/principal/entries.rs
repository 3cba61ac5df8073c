//! The tokens that the configuration and the data directory name, and whom each stands for.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::token::{TokenHash, TokenKind};
use super::user::BUILT_IN_ADMIN;

/// Whom a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenHolder {
    /// A person.
    Person {
        /// The name of the user.
        user: Arc<str>,
        /// Whether the entry makes the user an administrator.
        is_admin: bool,
    },
    /// An agent, by id.
    Agent(Arc<str>),
    /// A service.
    Service,
}

impl TokenHolder {
    /// The built-in administrator.
    pub fn admin() -> Self {
        Self::Person { user: BUILT_IN_ADMIN.into(), is_admin: true }
    }

    /// The kind of its tokens.
    pub const fn kind(&self) -> TokenKind {
        match self {
            Self::Person { .. } => TokenKind::Human,
            Self::Agent(_) => TokenKind::Agent,
            Self::Service => TokenKind::Service,
        }
    }
}

/// One such token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenEntry {
    /// Whom it stands for.
    pub holder: TokenHolder,
    /// Its name in quotas and limits.
    pub label: Arc<str>,
}

impl TokenEntry {
    /// A token with the label that it has unless somebody wrote another.
    pub fn of(holder: TokenHolder) -> Self {
        Self { label: Self::default_label(&holder), holder }
    }

    /// The label of a token unless somebody wrote another.
    pub fn default_label(holder: &TokenHolder) -> Arc<str> {
        match holder {
            TokenHolder::Person { user, .. } => Arc::clone(user),
            TokenHolder::Agent(agent) => format!("agent:{agent}").into(),
            TokenHolder::Service => "service".into(),
        }
    }
}

/// Tokens by their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenEntries {
    by_hash: HashMap<TokenHash, TokenEntry>,
}

impl TokenEntries {
    /// Adds a token; `false` if it exists already.
    pub fn insert(&mut self, hash: TokenHash, entry: TokenEntry) -> bool {
        self.by_hash.insert(hash, entry).is_none()
    }

    /// Removes a token.
    pub fn remove(&mut self, hash: &TokenHash) {
        self.by_hash.remove(hash);
    }

    /// All tokens by their hashes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&TokenHash, &TokenEntry)> {
        self.by_hash.iter()
    }

    /// Whether this token exists.
    pub fn contains(&self, hash: &TokenHash) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// The token with this hash.
    pub fn find(&self, hash: &TokenHash) -> Option<&TokenEntry> {
        self.by_hash.get(hash)
    }

    /// The agents with a token.
    pub fn agents(&self) -> BTreeSet<Arc<str>> {
        let agent = |entry: &TokenEntry| match &entry.holder {
            TokenHolder::Agent(agent) => Some(Arc::clone(agent)),
            TokenHolder::Person { .. } | TokenHolder::Service => None,
        };
        self.by_hash.values().filter_map(agent).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }
}

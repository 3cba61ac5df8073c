//! The authenticated caller.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The agent that is created on the first start.
pub const DEFAULT_AGENT: &str = "default";

/// The kind of principal behind a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A person.
    Human,
    /// A program that acts on its own.
    Agent,
}

impl Role {
    /// Its name in configuration and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
        }
    }
}

/// The authenticated sender of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Unique and stable: approvals, sessions and pending exchanges are bound to it.
    pub id: Arc<str>,
    /// Person or program.
    pub role: Role,
    /// The agent id, for a program.
    pub agent_id: Option<Arc<str>>,
    /// The label of its token.
    pub token: Arc<str>,
}

impl Principal {
    /// The agent in a local client that starts `octroi stdio` without a token. A person uses that client, but
    /// the caller is a program, which must not decide about its own calls.
    pub fn local() -> Self {
        Self {
            id: "agent:local".into(),
            role: Role::Agent,
            agent_id: Some("local".into()),
            token: "local".into(),
        }
    }

    /// The agent that is created on the first start; its token is the one to give to clients.
    pub fn default_agent() -> Self {
        Self {
            id: "agent:default".into(),
            role: Role::Agent,
            agent_id: Some(DEFAULT_AGENT.into()),
            token: "agent:default".into(),
        }
    }
}

/// The hash under which a token is stored.
pub type TokenHash = [u8; 32];

/// Hashes a token. Tokens are long and random, so one fast round is enough.
pub fn hash_token(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// The token for what agents must not do. Only its hash is stored, and not even that is displayed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AdminToken(TokenHash);

impl AdminToken {
    /// Stores a hash.
    pub const fn new(hash: TokenHash) -> Self {
        Self(hash)
    }

    /// Whether this is the admin token. As in [`Tokens::find`], all bytes of the hashes are compared.
    pub fn is(&self, token: &str) -> bool {
        hash_token(token).ct_eq(&self.0).into()
    }

    /// Whether it is also one of these tokens.
    pub fn is_among(&self, tokens: &Tokens) -> bool {
        tokens.contains(&self.0)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// All accepted tokens. Only hashes are stored.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    by_hash: HashMap<TokenHash, Principal>,
}

impl Tokens {
    /// Adds a token; `false` if it exists already.
    pub fn insert(&mut self, hash: TokenHash, principal: Principal) -> bool {
        self.by_hash.insert(hash, principal).is_none()
    }

    /// Removes a token.
    pub fn remove(&mut self, hash: &TokenHash) {
        self.by_hash.remove(hash);
    }

    /// All tokens by their hashes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&TokenHash, &Principal)> {
        self.by_hash.iter()
    }

    /// Whether this token exists.
    pub fn contains(&self, hash: &TokenHash) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// The owner of this token. Hashes are compared, so the timing reveals nothing about how close a guess
    /// came.
    pub fn find(&self, token: &str) -> Option<&Principal> {
        self.find_hash(&hash_token(token))
    }

    /// The same for a known hash, whose token may have been removed since.
    pub fn find_hash(&self, hash: &TokenHash) -> Option<&Principal> {
        self.by_hash.get(hash)
    }

    /// The owners of tokens that others do not contain any more.
    pub fn owners_of_missing<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = &'a Principal> {
        let missing = self.by_hash.iter().filter(|(hash, _)| !others.contains(hash));
        missing.map(|(_, principal)| principal)
    }

    /// The agents with a token.
    pub fn agents(&self) -> BTreeSet<Arc<str>> {
        self.by_hash.values().filter_map(|principal| principal.agent_id.clone()).collect()
    }

    /// Whether no token is accepted.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_opens() {
        let mut tokens = Tokens::default();
        assert!(tokens.insert(hash_token("right"), Principal::local()));
        assert!(!tokens.insert(hash_token("right"), Principal::local()));
        assert!(tokens.find("right").is_some());
        for wrong in ["", "Right", "right ", "righ", "rightx"] {
            assert!(tokens.find(wrong).is_none(), "{wrong}");
            assert!(!AdminToken::new(hash_token("right")).is(wrong), "{wrong}");
        }
        assert!(AdminToken::new(hash_token("right")).is("right"));
    }
}

//! Who is asking.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The agent that the first start makes.
pub const DEFAULT_AGENT: &str = "default";

/// What kind of principal a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A person.
    Human,
    /// A program that acts on its own.
    Agent,
}

impl Role {
    /// The word in configuration and logs.
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
    /// Unique and stable: what grants, sessions and parked calls are bound to.
    pub id: Arc<str>,
    /// Person or program.
    pub role: Role,
    /// Which agent, for a program.
    pub agent_id: Option<Arc<str>>,
    /// What its token is called.
    pub token: Arc<str>,
}

impl Principal {
    /// The agent in a client on this machine that starts `octroi stdio` and shows no token. A person
    /// sits before that client, but what calls is a program, which must not decide about its own calls.
    pub fn local() -> Self {
        Self {
            id: "agent:local".into(),
            role: Role::Agent,
            agent_id: Some("local".into()),
            token: "local".into(),
        }
    }

    /// The agent that the first start makes, whose token is the one to give to clients.
    pub fn default_agent() -> Self {
        Self {
            id: "agent:default".into(),
            role: Role::Agent,
            agent_id: Some(DEFAULT_AGENT.into()),
            token: "agent:default".into(),
        }
    }
}

/// The hash under which a token is kept.
pub type TokenHash = [u8; 32];

/// Hashes a token. Tokens are long and random, so one fast round is enough.
pub fn hash_token(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// The token that opens what agents must not do. Only its hash is kept, and not even that shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AdminToken(TokenHash);

impl AdminToken {
    /// Keeps a hash.
    pub const fn new(hash: TokenHash) -> Self {
        Self(hash)
    }

    /// Whether this is it. What is compared are hashes, as in [`Tokens::find`], and all of their bytes.
    pub fn is(&self, token: &str) -> bool {
        hash_token(token).ct_eq(&self.0).into()
    }

    /// Whether it also is one of these.
    pub fn is_among(&self, tokens: &Tokens) -> bool {
        tokens.contains(&self.0)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// All tokens that open the door. Only hashes are kept.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    by_hash: HashMap<TokenHash, Principal>,
}

impl Tokens {
    /// Adds a token; `false` if the same token is there already.
    pub fn insert(&mut self, hash: TokenHash, principal: Principal) -> bool {
        self.by_hash.insert(hash, principal).is_none()
    }

    /// Whether this token is there already.
    pub fn contains(&self, hash: &TokenHash) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// Whose token this is. What is compared are hashes, so the time it takes tells nothing about
    /// how close a guess came.
    pub fn find(&self, token: &str) -> Option<&Principal> {
        self.find_hash(&hash_token(token))
    }

    /// The same for who was let in before, and whose token may be gone by now.
    pub fn find_hash(&self, hash: &TokenHash) -> Option<&Principal> {
        self.by_hash.get(hash)
    }

    /// The agents that have a token.
    pub fn agents(&self) -> BTreeSet<Arc<str>> {
        self.by_hash.values().filter_map(|principal| principal.agent_id.clone()).collect()
    }

    /// Whether nobody can enter.
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

//! The snapshot that requests read: every valid token and the principal behind it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use octroi_core::principal::{
    BUILT_IN_ADMIN, LOCAL_AGENT, TokenEntries, TokenEntry, TokenHash, TokenHolder, TokenKind, TokenName,
};
use octroi_core::{Principal, UserRole};
use octroi_store::{TokenRecord, UserRecord};

/// Uses within this time are one: it is written down to the minute.
const USE_GRAIN_MS: i64 = 60_000;

/// What a snapshot is made of.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The tokens of the configuration and of the data directory.
    pub(super) entries: TokenEntries,
    pub(super) stored_users: Vec<UserRecord>,
    pub(super) stored_tokens: Vec<TokenRecord>,
    /// The owners of agents that do not belong to the built-in administrator.
    pub(super) owners: HashMap<Arc<str>, Arc<str>>,
    /// The same of agents that were removed.
    pub(super) former_owners: HashMap<Arc<str>, Arc<str>>,
}

/// Where a user comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserOrigin {
    /// Octroi itself: the built-in administrator.
    BuiltIn,
    /// The configuration names the user.
    Configuration,
    /// Somebody added the user.
    Added {
        /// The time of the change that added the user.
        at_ms: i64,
        /// The principal that made it, as in the audit log.
        by: String,
    },
}

/// A user as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// The name, which tokens and agents name as their owner.
    pub name: String,
    /// What the user may do.
    pub role: UserRole,
    /// Whether the user is locked out.
    pub is_disabled: bool,
    /// Where the user comes from.
    pub origin: UserOrigin,
}

impl Sources {
    /// All users, by name.
    pub(super) fn users(&self) -> Vec<KnownUser> {
        let mut users = BTreeMap::new();
        let mut add = |user: KnownUser| users.insert(user.name.clone(), user);
        for (name, is_admin) in self.configured_users() {
            let role = if is_admin { UserRole::Admin } else { UserRole::Member };
            let origin = UserOrigin::Configuration;
            add(KnownUser { name, role, is_disabled: false, origin });
        }
        for stored in &self.stored_users {
            add(self.stored_user(stored));
        }
        let (name, origin) = (BUILT_IN_ADMIN.to_owned(), UserOrigin::BuiltIn);
        add(KnownUser { name, role: UserRole::Admin, is_disabled: false, origin });
        users.into_values().collect()
    }

    /// One user.
    pub(super) fn user(&self, name: &str) -> Option<KnownUser> {
        self.users().into_iter().find(|user| user.name == name)
    }

    /// Whether the configuration names a user.
    pub(super) fn is_configured(&self, name: &str) -> bool {
        self.configured_users().contains_key(name)
    }

    /// The agents that belong to a user, by id.
    pub(super) fn agents_of(&self, user: &str) -> Vec<String> {
        let own = self.owners.iter().filter(|(_, owner)| ***owner == *user);
        let mut agents: Vec<String> = own.map(|(agent, _)| agent.to_string()).collect();
        agents.sort();
        agents
    }

    /// The configuration can make a user an administrator, and cannot unlock one.
    fn stored_user(&self, stored: &UserRecord) -> KnownUser {
        let is_admin = self.configured_users().get(&stored.name).copied().unwrap_or_default();
        KnownUser {
            name: stored.name.clone(),
            role: if is_admin { UserRole::Admin } else { stored.role },
            is_disabled: stored.is_disabled,
            origin: UserOrigin::Added { at_ms: stored.created_at_ms, by: stored.created_by.clone() },
        }
    }

    /// The users with a token of the configuration, and whether one of their tokens makes them administrators.
    fn configured_users(&self) -> BTreeMap<String, bool> {
        let mut users = BTreeMap::new();
        for (_, entry) in self.entries.iter() {
            if let TokenHolder::Person { user, is_admin } = &entry.holder {
                *users.entry(user.to_string()).or_default() |= *is_admin;
            }
        }
        users
    }
}

/// A valid token.
#[derive(Debug)]
pub(super) struct AcceptedToken {
    pub(super) principal: Principal,
    pub(super) expires_at_ms: Option<i64>,
    /// When it was last used; only for tokens of the store.
    last_used_at_ms: Option<Arc<LastUse>>,
    /// The session of a browser: it has no secret to present.
    is_browser: bool,
}

#[derive(Debug, Default)]
struct LastUse {
    at_ms: AtomicI64,
    kept_at_ms: AtomicI64,
}

impl AcceptedToken {
    /// Whether it expires, or its use is noted.
    pub(super) fn is_checked(&self) -> bool {
        self.expires_at_ms.is_some() || self.last_used_at_ms.is_some()
    }

    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms)
    }

    pub(super) fn used(&self, now_ms: i64) {
        if let Some(used) = &self.last_used_at_ms {
            // Written seldom, so that worker threads do not take the line from each other with every call.
            if now_ms - used.at_ms.load(Ordering::Relaxed) >= USE_GRAIN_MS {
                used.at_ms.store(now_ms, Ordering::Relaxed);
            }
        }
    }
}

/// Every valid token.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    by_hash: HashMap<TokenHash, AcceptedToken>,
    by_id: HashMap<Arc<str>, TokenHash>,
    /// The sessions of browsers, by the thumbprints of their keys.
    by_browser_key: HashMap<[u8; 32], Arc<str>>,
    owners: HashMap<Arc<str>, Arc<str>>,
    former_owners: HashMap<Arc<str>, Arc<str>>,
}

impl Snapshot {
    /// A token is valid as long as its user, or the owner of its agent, exists and is not locked out.
    pub(super) fn of(sources: &Sources, before: &Self) -> Self {
        let users: HashMap<String, KnownUser> =
            sources.users().into_iter().map(|user| (user.name.clone(), user)).collect();
        let mut snapshot = Self {
            owners: sources.owners.clone(),
            former_owners: sources.former_owners.clone(),
            ..Self::default()
        };
        let (browsers, others): (Vec<_>, Vec<_>) =
            sources.stored_tokens.iter().partition(|token| token.browser.is_some());
        for token in others {
            if let Some(principal) = snapshot.stored_principal(token, &users) {
                let last_used_at_ms = Some(before.last_use_of(token));
                let expires_at_ms = token.expires_at_ms;
                let accepted = AcceptedToken { principal, expires_at_ms, last_used_at_ms, is_browser: false };
                snapshot.insert(token.hash, accepted);
            }
        }
        for (hash, entry) in sources.entries.iter() {
            if let Some(principal) = snapshot.entry_principal(hash, entry, &users) {
                let (expires_at_ms, last_used_at_ms) = (None, None);
                let accepted = AcceptedToken { principal, expires_at_ms, last_used_at_ms, is_browser: false };
                snapshot.insert(*hash, accepted);
            }
        }
        // The tokens that people signed in with are known now.
        for token in browsers {
            snapshot.insert_browser(token, &users, before);
        }
        snapshot
    }

    /// The session of a browser ends with the token that the person signed in with.
    fn insert_browser(&mut self, token: &TokenRecord, users: &HashMap<String, KnownUser>, before: &Self) {
        let Some(browser) = &token.browser else { return };
        let parent = self.by_id(&browser.signed_in_with).filter(|parent| {
            !parent.is_browser && parent.principal.is_person() && **parent.principal.user() == *token.user
        });
        let Some(parent) = parent else { return };
        let expires_at_ms = match (token.expires_at_ms, parent.expires_at_ms) {
            (Some(own), Some(parents)) => Some(own.min(parents)),
            (own, parents) => own.or(parents),
        };
        if let Some(principal) = self.stored_principal(token, users) {
            self.by_browser_key.insert(browser.key, Arc::clone(&principal.token().id));
            let last_used_at_ms = Some(before.last_use_of(token));
            let accepted = AcceptedToken { principal, expires_at_ms, last_used_at_ms, is_browser: true };
            self.insert(token.hash, accepted);
        }
    }

    /// When a token was last used: this snapshot may know better than the store.
    fn last_use_of(&self, token: &TokenRecord) -> Arc<LastUse> {
        let known = self.by_hash.get(&token.hash).and_then(|token| token.last_used_at_ms.clone());
        known.unwrap_or_else(|| {
            let at_ms = token.last_used_at_ms.unwrap_or_default();
            Arc::new(LastUse { at_ms: at_ms.into(), kept_at_ms: at_ms.into() })
        })
    }

    fn insert(&mut self, hash: TokenHash, accepted: AcceptedToken) {
        self.by_id.insert(Arc::clone(&accepted.principal.token().id), hash);
        self.by_hash.insert(hash, accepted);
    }

    fn stored_principal(&self, token: &TokenRecord, users: &HashMap<String, KnownUser>) -> Option<Principal> {
        if token.revoked.is_some() {
            return None;
        }
        let name = TokenName { id: token.id.as_str().into(), label: token.label.as_str().into() };
        match (token.kind, token.agent.as_deref(), token.session.as_deref()) {
            (TokenKind::Human, ..) => {
                Some(Principal::person(&token.user, active(users, &token.user)?.role, name))
            }
            (TokenKind::Service, ..) => {
                active(users, &token.user)?;
                Some(Principal::service(&token.user, name))
            }
            (TokenKind::Agent, Some(agent), _) => {
                Some(Principal::agent(agent, &self.active_owner(agent, users)?, name))
            }
            (TokenKind::Session, Some(agent), Some(session)) => {
                Some(Principal::session(session, agent, &self.active_owner(agent, users)?, name))
            }
            (TokenKind::Agent | TokenKind::Session, ..) => None,
        }
    }

    fn entry_principal(
        &self,
        hash: &TokenHash,
        entry: &TokenEntry,
        users: &HashMap<String, KnownUser>,
    ) -> Option<Principal> {
        let name = TokenName { id: entry_id(hash).into(), label: Arc::clone(&entry.label) };
        match &entry.holder {
            TokenHolder::Person { user, .. } => {
                Some(Principal::person(user, active(users, user)?.role, name))
            }
            TokenHolder::Agent(agent) => {
                Some(Principal::agent(agent, &self.active_owner(agent, users)?, name))
            }
            TokenHolder::Service => Some(Principal::service(BUILT_IN_ADMIN, name)),
        }
    }

    /// The owner of an agent, unless locked out. An owner that only the configuration of the agent names has no
    /// token, and cannot be locked out either.
    fn active_owner(&self, agent: &str, users: &HashMap<String, KnownUser>) -> Option<Arc<str>> {
        let owner = self.owner_of(agent);
        let is_locked_out = users.get(&*owner).is_some_and(|user| user.is_disabled);
        (!is_locked_out).then_some(owner)
    }

    /// The agents that have a valid token.
    pub(super) fn agents(&self) -> BTreeSet<Arc<str>> {
        self.by_hash.values().filter_map(|accepted| accepted.principal.agent_id().cloned()).collect()
    }

    pub(super) fn owner_of(&self, agent: &str) -> Arc<str> {
        let owner = self.owners.get(agent).or_else(|| self.former_owners.get(agent));
        owner.map_or_else(|| BUILT_IN_ADMIN.into(), Arc::clone)
    }

    /// The token with this hash. The session of a browser is none: it has no secret that could be presented.
    pub(super) fn find(&self, hash: &TokenHash) -> Option<&AcceptedToken> {
        self.by_hash.get(hash).filter(|accepted| !accepted.is_browser)
    }

    /// The session of the browser that has this key.
    pub(super) fn find_browser(&self, key: &[u8; 32]) -> Option<&AcceptedToken> {
        self.by_id(self.by_browser_key.get(key)?)
    }

    /// Whether a principal's token is the session of a browser.
    pub(super) fn is_browser(&self, principal: &Principal) -> bool {
        self.by_id(&principal.token().id).is_some_and(|accepted| accepted.is_browser)
    }

    pub(super) fn by_id(&self, token: &str) -> Option<&AcceptedToken> {
        self.by_hash.get(self.by_id.get(token)?)
    }

    /// Whether a token is valid now.
    pub(super) fn is_current(&self, token: &str, now_ms: i64) -> bool {
        // A client of `octroi stdio` that is the gateway itself has no token.
        token == LOCAL_AGENT || self.by_id(token).is_some_and(|accepted| !accepted.is_expired(now_ms))
    }

    /// Whether a token stands for the same principal here and there.
    pub(super) fn is_same(&self, other: &Self, token: &str) -> bool {
        self.by_id(token).map(|one| &one.principal) == other.by_id(token).map(|one| &one.principal)
    }

    /// Whether the token behind a principal is valid now, and still stands for the same one. A person who tries a
    /// call as an agent has another principal than the token.
    pub(super) fn is_valid(&self, principal: &Principal, now_ms: i64) -> bool {
        let token = &principal.token().id;
        self.is_current(token, now_ms)
            && self.by_id(token).is_none_or(|accepted| {
                accepted.principal == *principal || accepted.principal.kind() != principal.kind()
            })
    }

    /// When tokens were last used, for those whose use is not written down yet.
    pub(super) fn take_uses(&self) -> Vec<(String, i64)> {
        let fresh = |accepted: &AcceptedToken| {
            let used = accepted.last_used_at_ms.as_ref()?;
            let at_ms = used.at_ms.load(Ordering::Relaxed);
            let is_fresh = used.kept_at_ms.swap(at_ms, Ordering::Relaxed) < at_ms;
            is_fresh.then(|| (accepted.principal.token().id.to_string(), at_ms))
        };
        self.by_hash.values().filter_map(fresh).collect()
    }

    /// When a token was last used.
    pub(super) fn last_use(&self, token: &str) -> Option<i64> {
        let used = self.by_id(token)?.last_used_at_ms.as_ref()?;
        Some(used.at_ms.load(Ordering::Relaxed)).filter(|at_ms| *at_ms > 0)
    }
}

/// The id of a token of the configuration, whose own is not known.
pub(super) fn entry_id(hash: &TokenHash) -> String {
    format!("file-{}", hex::encode(&hash[..4]))
}

fn active<'a>(users: &'a HashMap<String, KnownUser>, name: &str) -> Option<&'a KnownUser> {
    users.get(name).filter(|user| !user.is_disabled)
}

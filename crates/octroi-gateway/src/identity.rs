//! Identity: users, their tokens, and the principal behind each token.
//!
//! Tokens come from the configuration, from the data directory and from the store. Requests read one snapshot of
//! all of them; whatever changes makes a new one, and ends the leases of tokens that are no longer valid.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::principal::{TokenEntries, TokenEntry, TokenHash, TokenHolder, hash_token};
use octroi_core::{Clock, Principal};
use octroi_store::{Store, StoreError, TokenRecord, UserRecord};
use octroi_upstream::Context;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use crate::operator_error::OperatorError;
use crate::persistence::Persistence;
use crate::subscriptions::Subscriptions;
use browsers::Browsers;
use leases::Leases;
use snapshot::{Snapshot, Sources};

mod browsers;
mod invites;
mod leases;
mod snapshot;
mod tokens;
mod users;

pub use browsers::{
    BrowserAccess, BrowserProof, BrowserSession, BrowserSignIn, KeyThumbprint, ProofRefusal, SignInCode,
};
pub use invites::Invitation;
pub use snapshot::{KnownUser, UserOrigin};
pub use tokens::{CreatedToken, ListedToken, TokenRequest, TokenSubject};
pub use users::UserChange;

/// How often expired tokens are noticed.
const EXPIRE_EVERY: Duration = Duration::from_millis(500);
/// How often it is written down when tokens were last used.
const KEEP_USES_EVERY: Duration = Duration::from_mins(1);

/// Why a token is not accepted. A caller learns nothing of it but that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRefusal {
    /// Nobody has it.
    Unknown,
    /// It has expired.
    Expired,
}

/// Everything that is known about principals.
pub struct Identity {
    clock: Clock,
    persistence: Option<Arc<Persistence>>,
    subscriptions: Arc<Subscriptions>,
    sources: Mutex<Sources>,
    snapshot: ArcSwap<Snapshot>,
    leases: Leases,
    browsers: Browsers,
    /// Keeps changes of users and tokens apart, from the look at what there is to the write.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Identity {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        subscriptions: &Arc<Subscriptions>,
    ) -> Self {
        Self {
            clock: context.clock.clone(),
            persistence,
            subscriptions: Arc::clone(subscriptions),
            sources: Mutex::default(),
            snapshot: ArcSwap::default(),
            leases: Leases::default(),
            browsers: Browsers::new(context.clock.now_ms()),
            changing: Arc::default(),
        }
    }

    /// Restores users and tokens. Without them nobody who depends on the store gets in, which is reported.
    pub(crate) async fn recall(&self, store: &Store) {
        let found = async { Ok::<_, StoreError>((store.users().await?, store.tokens().await?)) };
        match found.await {
            Ok((users, tokens)) => self.set_stored(users, tokens),
            Err(error) => error!(%error, hint = %error.hint(), "users and tokens could not be loaded"),
        }
    }

    /// The principal that presents a token.
    pub fn authenticate(&self, token: &str) -> Result<Principal, TokenRefusal> {
        self.authenticate_hash(&hash_token(token))
    }

    /// The principal that presents a token with this hash. Hashes are compared, so the timing reveals nothing about
    /// how close a guess came.
    pub fn authenticate_hash(&self, hash: &TokenHash) -> Result<Principal, TokenRefusal> {
        let snapshot = self.snapshot.load();
        let Some(accepted) = snapshot.find(hash) else {
            return self.authenticate_access(hash);
        };
        if accepted.is_checked() {
            let now_ms = self.clock.now_ms();
            if accepted.is_expired(now_ms) {
                return Err(TokenRefusal::Expired);
            }
            accepted.used(now_ms);
        }
        Ok(accepted.principal.clone())
    }

    /// Whether the token behind a principal is still valid, for this principal.
    pub fn is_valid(&self, principal: &Principal) -> bool {
        self.snapshot.load().is_valid(principal, self.clock.now_ms())
    }

    /// Ends with the token behind a principal, and with everything else when Octroi stops.
    pub fn lease(&self, principal: &Principal) -> CancellationToken {
        // The check comes after the lease is known, or a token that is being revoked would be missed.
        let lease = self.leases.of(principal);
        if !self.is_valid(principal) {
            lease.cancel();
        }
        lease
    }

    /// Ends all leases when cancelled.
    pub fn closing(&self) -> &CancellationToken {
        self.leases.closing()
    }

    /// The users that the configuration or the store names, by name.
    pub fn users(&self) -> Vec<KnownUser> {
        self.sources.lock().users()
    }

    /// A user.
    pub fn user(&self, name: &str) -> Option<KnownUser> {
        self.sources.lock().user(name)
    }

    /// The owner of an agent, or of what is left of one that was removed.
    pub fn owner_of(&self, agent: &str) -> Arc<str> {
        self.snapshot.load().owner_of(agent)
    }

    /// Sets the tokens of the configuration and of the data directory.
    pub fn set_entries(&self, entries: TokenEntries) {
        self.renew(|sources| sources.entries = entries);
    }

    /// Keeps changes of users, tokens and agents apart while it is held.
    pub(crate) async fn changing(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.changing).lock_owned().await
    }

    /// The agents that have tokens.
    pub(crate) fn agents(&self) -> BTreeSet<Arc<str>> {
        self.snapshot.load().agents()
    }

    /// Whether a token is valid, by id.
    pub(crate) fn is_current(&self, token: &str) -> bool {
        self.snapshot.load().is_current(token, self.clock.now_ms())
    }

    /// Notices the end of tokens from now on.
    pub fn watch_ends(&self) -> watch::Receiver<()> {
        self.leases.ends()
    }

    /// Whether the configuration or the data directory has a token of this agent.
    pub(crate) fn is_in_entries(&self, agent: &str) -> bool {
        let is_its = |entry: &TokenEntry| matches!(&entry.holder, TokenHolder::Agent(id) if **id == *agent);
        self.sources.lock().entries.iter().any(|(_, entry)| is_its(entry))
    }

    /// Sets the owners of agents; all others belong to the built-in administrator. What is left of agents that were
    /// removed belongs to their former owners.
    pub(crate) fn set_owners(
        &self,
        owners: HashMap<Arc<str>, Arc<str>>,
        former_owners: HashMap<Arc<str>, Arc<str>>,
    ) {
        self.renew(|sources| {
            sources.owners = owners;
            sources.former_owners = former_owners;
        });
    }

    fn set_stored(&self, users: Vec<UserRecord>, tokens: Vec<TokenRecord>) {
        self.renew(|sources| {
            sources.stored_users = users;
            sources.stored_tokens = tokens;
        });
    }

    /// Reads users and tokens again after they were written.
    pub(crate) async fn reread(&self) -> Result<(), OperatorError> {
        let store = self.store()?;
        let (users, tokens) = (store.users().await?, store.tokens().await?);
        self.set_stored(users, tokens);
        Ok(())
    }

    /// Changes what the snapshot is made of, and makes a new one.
    fn renew(&self, change: impl FnOnce(&mut Sources)) {
        let mut sources = self.sources.lock();
        change(&mut sources);
        let before = self.snapshot.load_full();
        let after = Arc::new(Snapshot::of(&sources, &before));
        self.snapshot.store(Arc::clone(&after));
        let now_ms = self.clock.now_ms();
        self.leases.end_unless(|token| before.is_same(&after, token) && after.is_current(token, now_ms));
        self.leases.announce();
    }

    /// Ends what belongs to expired tokens, and writes down when tokens were last used, until Octroi ends.
    pub(crate) async fn look_after(self: Arc<Self>, shutdown: CancellationToken) {
        let mut expire = tokio::time::interval(EXPIRE_EVERY);
        let mut keep = tokio::time::interval(KEEP_USES_EVERY);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                _ = expire.tick() => self.end_expired(),
                _ = keep.tick() => self.keep_uses().await,
            }
        }
    }

    fn end_expired(&self) {
        let (snapshot, now_ms) = (self.snapshot.load(), self.clock.now_ms());
        if self.leases.end_unless(|token| snapshot.is_current(token, now_ms)) {
            self.leases.announce();
        }
    }

    pub(crate) async fn keep_uses(&self) {
        let uses = self.snapshot.load().take_uses();
        let Some(persistence) = self.persistence.as_ref().filter(|_| !uses.is_empty()) else {
            return;
        };
        if let Err(error) = persistence.store().record_token_uses(&uses).await {
            warn!(%error, "when tokens were last used could not be written");
        }
    }

    fn store(&self) -> Result<&Store, OperatorError> {
        Ok(self.persistence.as_ref().ok_or(OperatorError::NoStore)?.store())
    }
}

#[cfg(test)]
mod tests;

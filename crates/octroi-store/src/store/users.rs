//! Users, their tokens, and invitations.

use octroi_core::principal::TokenHash;

use super::{Engine, Store};
use crate::error::StoreError;
use crate::user::{InviteRecord, TokenRecord, UserRecord};

impl Store {
    /// All users, by name.
    pub async fn users(&self) -> Result<Vec<UserRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.users().await,
        }
    }

    /// Adds or replaces a user.
    pub async fn save_user(&self, user: &UserRecord) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_user(user).await,
        }
    }

    /// Removes a user with the user's tokens, secrets, servers, sessions and agents, as [`Self::remove_agent`] does, and the tokens of
    /// these agents; returns whether there was such a user.
    pub async fn remove_user(&self, name: &str, by: &str, now_ms: i64) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_user(name, by, now_ms).await,
        }
    }

    /// All tokens, also those that ended, by the time they were created.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.tokens().await,
        }
    }

    /// Adds or replaces tokens, all of them or none.
    pub async fn save_tokens(&self, tokens: &[TokenRecord]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_tokens(tokens).await,
        }
    }

    /// Records when tokens were used. Not on the disk when this returns: it is obtained again.
    pub async fn record_token_uses(&self, uses: &[(String, i64)]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.record_token_uses(uses).await,
        }
    }

    /// The invitation whose code has this hash.
    pub async fn invite(&self, hash: &TokenHash) -> Result<Option<InviteRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.invite(hash).await,
        }
    }

    /// Adds an invitation. Earlier ones of the same user that were not used end.
    pub async fn save_invite(&self, invite: &InviteRecord) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_invite(invite).await,
        }
    }

    /// Uses up an invitation and adds the token that it is exchanged for. Of all concurrent attempts one succeeds;
    /// `false` if it is none that can be used now.
    pub async fn use_invite(&self, id: &str, token: &TokenRecord, now_ms: i64) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.use_invite(id, token, now_ms).await,
        }
    }
}

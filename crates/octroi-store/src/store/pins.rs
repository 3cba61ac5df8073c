//! Pinned definitions. What is written here is on the disk when a call returns.

use super::{Engine, Store};
use crate::error::StoreError;
use crate::pin::{Accepted, HeldDefinition, KeptOut, PastPin, PinKey, PinRecord};
use crate::server::ServerKey;

impl Store {
    /// All accepted definitions, by server, kind and name.
    pub async fn pins(&self) -> Result<Vec<PinRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.pins().await,
        }
    }

    /// Accepts definitions. One that was accepted before with another hash becomes part of the past; one
    /// with the same hash stays as it was. What waited with this hash waits no longer, and what was kept out
    /// with it is let in.
    pub async fn save_pins(&self, pins: &[PinRecord]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_pins(pins).await,
        }
    }

    /// Has definitions wait for a person, each in place of the one that waited under its name.
    pub async fn hold(&self, definitions: &[HeldDefinition]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.hold(definitions).await,
        }
    }

    /// All definitions that wait, by server, kind and name.
    pub async fn held(&self) -> Result<Vec<HeldDefinition>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.held().await,
        }
    }

    /// Accepts the definition that waits, if it still is the one that the person saw.
    pub async fn accept_held(
        &self,
        key: &PinKey,
        hash: &[u8; 32],
        by: &str,
        now_ms: i64,
    ) -> Result<Accepted, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.accept_held(key, hash, by, now_ms).await,
        }
    }

    /// Lets a definition wait no longer, without accepting it: its server took it back. Says whether one
    /// waited.
    pub async fn drop_held(&self, key: &PinKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.drop_held(key).await,
        }
    }

    /// Forgets what was accepted of a server and what waits, so that its next definitions are new ones.
    /// The past is kept. Says how many were accepted.
    pub async fn forget_pins(&self, server: &ServerKey, now_ms: i64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_pins(server, now_ms).await,
        }
    }

    /// Forgets what was accepted of one thing and what waits, like [`Store::forget_pins`] does of a server. Says
    /// whether one was accepted.
    pub async fn forget_pin(&self, key: &PinKey, now_ms: i64) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_pin(key, now_ms).await,
        }
    }

    /// Keeps a definition out until it is accepted. It waits no longer. Who kept it out first stays.
    pub async fn keep_out(&self, kept_out: &KeptOut) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.keep_out(kept_out).await,
        }
    }

    /// All definitions that are kept out, by server, kind, name and hash.
    pub async fn kept_out(&self) -> Result<Vec<KeptOut>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.kept_out().await,
        }
    }

    /// The definitions of one thing that were accepted before the present one, the newest first.
    pub async fn past_pins(&self, key: &PinKey, n_max: u32) -> Result<Vec<PastPin>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.past_pins(key, n_max).await,
        }
    }
}

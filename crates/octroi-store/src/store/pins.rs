//! Pinned definitions. Changes are on the disk when a method returns.

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

    /// Accepts definitions. A pin with another hash moves to the history; one with the same hash stays
    /// unchanged. A quarantined definition with this hash is no longer quarantined, and a rejected one is no
    /// longer rejected.
    pub async fn save_pins(&self, pins: &[PinRecord]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_pins(pins).await,
        }
    }

    /// Quarantines definitions, each in place of the quarantined one of the same name.
    pub async fn hold(&self, definitions: &[HeldDefinition]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.hold(definitions).await,
        }
    }

    /// All quarantined definitions, by server, kind and name.
    pub async fn held(&self) -> Result<Vec<HeldDefinition>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.held().await,
        }
    }

    /// Accepts a quarantined definition, if it is still the one that the operator saw.
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

    /// Removes a definition from quarantine without accepting it, because its server withdrew it. Returns
    /// whether it was quarantined.
    pub async fn drop_held(&self, key: &PinKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.drop_held(key).await,
        }
    }

    /// Deletes the pins and the quarantine of a server, so that its next definitions count as new. The
    /// history is kept. Returns how many were pinned.
    pub async fn forget_pins(&self, server: &ServerKey, now_ms: i64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_pins(server, now_ms).await,
        }
    }

    /// Deletes the pin and the quarantined definition of one item, like [`Store::forget_pins`]. Returns
    /// whether it was pinned.
    pub async fn forget_pin(&self, key: &PinKey, now_ms: i64) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_pin(key, now_ms).await,
        }
    }

    /// Rejects a definition until it is accepted, and ends its quarantine. Who rejected it first is kept.
    pub async fn keep_out(&self, kept_out: &KeptOut) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.keep_out(kept_out).await,
        }
    }

    /// All rejected definitions, by server, kind, name and hash.
    pub async fn kept_out(&self) -> Result<Vec<KeptOut>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.kept_out().await,
        }
    }

    /// The previous pins of one definition, the newest first.
    pub async fn past_pins(&self, key: &PinKey, n_max: u32) -> Result<Vec<PastPin>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.past_pins(key, n_max).await,
        }
    }
}

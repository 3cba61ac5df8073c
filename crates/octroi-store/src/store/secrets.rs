//! Stored secrets, and the key that they are encrypted with.

use octroi_core::{Scope, Secret};

use super::{Engine, Store};
use crate::error::StoreError;
use crate::key::MasterKey;
use crate::secret::{Rekeyed, SecretRecord, StoredSecret};

impl Store {
    /// All secrets without their values, by owner and name.
    pub async fn secrets(&self) -> Result<Vec<SecretRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.secrets().await,
        }
    }

    /// All secrets with their values, by owner and name.
    pub async fn secret_values(&self) -> Result<Vec<StoredSecret>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.secret_values().await,
        }
    }

    /// Adds a secret or replaces its value. It is on the disk when this returns.
    pub async fn save_secret(
        &self,
        scope: &Scope,
        name: &str,
        value: &Secret,
        by: &str,
        now_ms: i64,
    ) -> Result<SecretRecord, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_secret(scope, name, value, (by, now_ms)).await,
        }
    }

    /// Removes a secret; returns whether there was one.
    pub async fn remove_secret(&self, scope: &Scope, name: &str) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_secret(scope, name).await,
        }
    }

    /// Identifies the key in use; `None` without one.
    pub fn key_id(&self) -> Option<String> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.key_id(),
        }
    }

    /// Encrypts everything with another master key, all of it or nothing. This store goes on with the old key: it must
    /// be closed and opened again.
    pub async fn rekey(&self, new: &MasterKey) -> Result<Rekeyed, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.rekey(new).await,
        }
    }
}

//! The public interface of the store, independent of the database behind it.

mod agents;
mod approvals;
mod audit;
mod entries;
mod pins;
mod policies;
mod secrets;
mod users;

use std::path::Path;

use crate::catalogue::{Catalogue, Saved, StoredCatalogue};
use crate::error::StoreError;
use crate::health::HealthSample;
use crate::key::{Cipher, KeySource};
use crate::server::{CanonicalJson, ManagedBy, Recorded, ServerKey, ServerRecord};
use crate::sqlite::Sqlite;

/// Octroi's persistent storage. All methods may be called concurrently; a dropped future leaves its change
/// either complete or not made at all.
#[derive(Debug)]
pub struct Store {
    engine: Engine,
}

/// The supported databases. Each operation matches on it, so that a new one does not compile until it
/// implements everything.
#[derive(Debug)]
enum Engine {
    Sqlite(Sqlite),
}

impl Store {
    /// Opens `octroi.db` in the data directory; creates what is missing. The directory is locked until the
    /// store is closed or dropped. A database of an older version is copied to `octroi.db.backup-VERSION`
    /// and then migrated.
    ///
    /// Secrets and the arguments of approvals are encrypted under the key. Without one no secret can be stored and
    /// nothing can be asked for, and what is stored cannot be read.
    pub async fn open(directory: &Path, key: KeySource<'_>) -> Result<Self, StoreError> {
        Ok(Self { engine: Engine::Sqlite(Sqlite::open(directory, key).await?) })
    }

    /// Whether there is a database in a data directory.
    pub fn exists(directory: &Path) -> bool {
        crate::sqlite::exists(directory)
    }

    /// What encrypts values that clients carry for one purpose, under the key of the data directory; `None` without
    /// a usable one.
    pub fn cipher(&self, purpose: &str) -> Option<Cipher> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.cipher(purpose),
        }
    }

    /// Moves everything from the write-ahead log into the database file, so that the file alone is complete.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.checkpoint().await,
        }
    }

    /// Waits for pending writes and closes the database.
    pub async fn close(self) {
        match self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
        }
    }

    /// Records the current definition of a server.
    pub async fn record_server(
        &self,
        key: &ServerKey,
        managed_by: ManagedBy,
        definition: &CanonicalJson,
        now_ms: i64,
    ) -> Result<Recorded, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.record_server(key, managed_by, definition, now_ms).await,
        }
    }

    /// All recorded servers, by scope and name.
    pub async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.servers().await,
        }
    }

    /// One recorded server.
    pub async fn server(&self, key: &ServerKey) -> Result<Option<ServerRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.server(key).await,
        }
    }

    /// Enables or disables a server regardless of its definition, with who did it; `None` removes the override. Enabling
    /// is a yes to the server.
    pub async fn set_enabled_override(
        &self,
        key: &ServerKey,
        enabled: Option<(bool, &str)>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.set_enabled_override(key, enabled).await,
        }
    }

    /// Saves that an admin has said yes to a recorded server.
    pub async fn agree_to_server(&self, key: &ServerKey) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agree_to_server(key).await,
        }
    }

    /// Saves whether a recorded server asks its clients over connections that several share.
    pub async fn set_asks_clients(&self, key: &ServerKey, asks_clients: bool) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.set_asks_clients(key, asks_clients).await,
        }
    }

    /// Deletes a server with its catalogue and its history; returns whether it existed.
    pub async fn forget_server(&self, key: &ServerKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_server(key).await,
        }
    }

    /// Saves the current catalogue of a recorded server, in place of the previous one. An unchanged
    /// catalogue is not written again.
    pub async fn save_catalogue(
        &self,
        key: &ServerKey,
        catalogue: &Catalogue,
        now_ms: i64,
    ) -> Result<Saved, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_catalogue(key, catalogue, now_ms).await,
        }
    }

    /// The last catalogue of every server, by scope and name. A catalogue that does not match its hash is
    /// dropped: its server will be asked again anyway.
    pub async fn catalogues(&self) -> Result<Vec<StoredCatalogue>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.catalogues().await,
        }
    }

    /// Deletes the catalogue of a server; returns whether it existed.
    pub async fn delete_catalogue(&self, key: &ServerKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.delete_catalogue(key).await,
        }
    }

    /// Adds a sample to the health history of a recorded server.
    pub async fn add_health_sample(&self, key: &ServerKey, sample: &HealthSample) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.add_health_sample(key, sample).await,
        }
    }

    /// Drops the samples before a time, and those of each server beyond [`SAMPLES_MAX`](crate::SAMPLES_MAX); returns
    /// how many.
    pub async fn purge_health(&self, before_ms: i64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.purge_health(before_ms).await,
        }
    }

    /// The last samples of a server, the newest first.
    pub async fn health_samples(&self, key: &ServerKey, n_max: u32) -> Result<Vec<HealthSample>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.health_samples(key, n_max).await,
        }
    }
}

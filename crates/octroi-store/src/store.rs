//! The door to whatever database there is.

mod agents;
mod approvals;
mod audit;
mod pins;
mod policies;

use std::path::Path;

use crate::catalogue::{Catalogue, Saved, StoredCatalogue};
use crate::error::StoreError;
use crate::health::HealthSample;
use crate::server::{CanonicalJson, ManagedBy, Recorded, ServerKey, ServerRecord};
use crate::sqlite::Sqlite;

/// What Octroi remembers between two runs. All of it may be called from many tasks at once; a future
/// that is dropped leaves either everything of its change or nothing.
#[derive(Debug)]
pub struct Store {
    engine: Engine,
}

/// The databases that can be behind a store. Each operation matches on it, so that a new one does not
/// compile until it can do everything.
#[derive(Debug)]
enum Engine {
    Sqlite(Sqlite),
}

impl Store {
    /// Opens `octroi.db` in the data directory, and makes what is missing. The directory belongs to
    /// this store until it is closed or dropped. A database of an older version is copied to
    /// `octroi.db.backup-VERSION` and then brought up to date.
    pub async fn open(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self { engine: Engine::Sqlite(Sqlite::open(directory).await?) })
    }

    /// Waits for what is being written and closes the database.
    pub async fn close(self) {
        match self.engine {
            Engine::Sqlite(sqlite) => sqlite.close().await,
        }
    }

    /// Records how a server is defined now.
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

    /// Says whether a server may be used, whatever its definition says; `None` leaves it to the
    /// definition.
    pub async fn set_enabled_override(
        &self,
        key: &ServerKey,
        enabled: Option<bool>,
    ) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.set_enabled_override(key, enabled).await,
        }
    }

    /// Forgets a server with its catalogue and its history. Says whether there was one.
    pub async fn forget_server(&self, key: &ServerKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.forget_server(key).await,
        }
    }

    /// Keeps what a recorded server offers now, in place of what it offered before. Nothing is
    /// written if it offers the same.
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

    /// What every server last offered, by scope and name. A catalogue that is not what was saved is
    /// dropped: its server will be asked again anyway.
    pub async fn catalogues(&self) -> Result<Vec<StoredCatalogue>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.catalogues().await,
        }
    }

    /// Drops what a server last offered. Says whether there was anything.
    pub async fn delete_catalogue(&self, key: &ServerKey) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.delete_catalogue(key).await,
        }
    }

    /// Adds a sample to the history of a recorded server, and drops those beyond
    /// [`SAMPLES_MAX`](crate::SAMPLES_MAX).
    pub async fn add_health_sample(&self, key: &ServerKey, sample: &HealthSample) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.add_health_sample(key, sample).await,
        }
    }

    /// The last samples of a server, the newest first.
    pub async fn health_samples(&self, key: &ServerKey, n_max: u32) -> Result<Vec<HealthSample>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.health_samples(key, n_max).await,
        }
    }
}

//! The store in one SQLite file.
//!
//! One connection writes at a time; a few others read concurrently. A file is first inspected through a
//! read-only connection, so that a damaged one stays unchanged.

mod agents;
mod approvals;
mod audit;
mod catalogues;
mod choices;
mod columns;
mod entries;
mod failure;
mod files;
mod health;
mod migrate;
mod pins;
mod policies;
mod retention;
mod sealing;
mod secrets;
mod servers;
#[cfg(test)]
mod tests;
mod users;

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _, Sqlite as Driver, Transaction};

use crate::error::StoreError;
use crate::key::{Cipher, KeySource, KnownKey, MasterKey};
use crate::lock::DirectoryLock;

/// How long to wait while another program has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for a connection from the pool.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

const READERS: u32 = 4;

/// Twice the default size. Audit records are stored many to a row, in rows of about forty kilobytes, which
/// SQLite writes page by page, and copies page by page at a checkpoint.
const PAGE_BYTES: u32 = 8 * 1024;
/// So many pages are four megabytes, as with the default page size.
const PAGES_IN_LOG: &str = "500";

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: SqlitePool,
    /// Writes operator decisions. Its transactions wait for the disk; those of `writer` do not, because
    /// their data can be obtained again.
    durable: SqlitePool,
    readers: SqlitePool,
    /// The key of the data directory, if there is a usable one.
    key: Option<MasterKey>,
    /// Encrypts the arguments of approvals; `None` without a key.
    arguments: Option<Cipher>,
    /// The last field, so that it is released last.
    _lock: DirectoryLock,
}

const FILE_NAME: &str = "octroi.db";

/// Whether a directory has a database. An empty file is one that was never written.
pub(crate) fn exists(directory: &Path) -> bool {
    std::fs::metadata(directory.join(FILE_NAME)).is_ok_and(|found| found.len() > 0)
}

impl Sqlite {
    pub(crate) async fn open(directory: &Path, key: KeySource<'_>) -> Result<Self, StoreError> {
        files::make_directory(directory)?;
        let lock = DirectoryLock::acquire(directory)?;
        let path = directory.join(FILE_NAME);
        files::make_private_file(&path)?;
        let version = migrate::inspect(&path).await?;

        let failed = |error| failure::from_sqlx(&path, error);
        let cipher = |key: &MasterKey| key.cipher(sealing::PURPOSE);
        let options =
            options(&path).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
        // People's decisions and what they decide about leave no trace once they are deleted. Elsewhere only
        // what is written anyway is overwritten: chunks of audit records are replaced all the time.
        let thorough = options.clone().pragma("secure_delete", "ON");
        // A new database is made before its key: a key beside no database shows that one was lost.
        let mut master = if version.is_new() {
            None
        } else {
            let known = if version.has_secrets() { known_key(&path).await.map_err(failed)? } else { None };
            key(directory, known.as_ref())?
        };
        if let Some(arguments) = &master.as_ref().map(cipher) {
            // Before the backup that a migration makes.
            sealing::seal_plain(&thorough, version, arguments).await.map_err(failed)?;
        }
        let options = options.pragma("secure_delete", "FAST");
        let writer = pool().max_connections(1).connect_with(options.clone()).await.map_err(failed)?;
        migrate::bring_up_to_date(&path, &writer, version).await?;
        if version.is_new() {
            master = key(directory, None)?;
        }
        let arguments = master.as_ref().map(cipher);
        let durable =
            pool().max_connections(1).connect_lazy_with(thorough.synchronous(SqliteSynchronous::Full));
        let readers = pool().max_connections(READERS).connect_lazy_with(options.read_only(true));
        let sqlite = Self { path, writer, durable, readers, key: master, arguments, _lock: lock };
        sqlite.keep_key_id().await?;
        Ok(sqlite)
    }

    pub(crate) fn cipher(&self, purpose: &str) -> Option<Cipher> {
        self.key.as_ref().map(|key| key.cipher(purpose))
    }

    pub(crate) async fn checkpoint(&self) -> Result<(), StoreError> {
        let checkpointed = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&self.writer).await;
        checkpointed.map(drop).map_err(|error| self.failed(error))
    }

    pub(crate) async fn close(self) {
        self.readers.close().await;
        self.durable.close().await;
        self.writer.close().await;
    }

    /// Begins a write transaction. It waits for the write lock here, not at its first change.
    async fn begin(&self) -> Result<Transaction<'static, Driver>, StoreError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))
    }

    async fn commit(&self, transaction: Transaction<'static, Driver>) -> Result<(), StoreError> {
        transaction.commit().await.map_err(|error| self.failed(error))
    }

    /// Begins a write transaction for data that must survive a power failure.
    async fn begin_durable(&self) -> Result<Durable, StoreError> {
        let turn = self.writer.acquire().await.map_err(|error| self.failed(error))?;
        let transaction =
            self.durable.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))?;
        Ok(Durable { transaction, _turn: turn })
    }

    async fn commit_durable(&self, durable: Durable) -> Result<(), StoreError> {
        durable.transaction.commit().await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: sqlx::Error) -> StoreError {
        failure::from_sqlx(&self.path, error)
    }

    /// The error for an invalid stored value.
    fn unreadable(&self, what: &'static str) -> impl FnOnce() -> StoreError {
        let path = self.path.clone();
        move || StoreError::Unreadable { path, what }
    }
}

/// A transaction that is on the disk when it is committed.
struct Durable {
    transaction: Transaction<'static, Driver>,
    /// Keeps the other write connection idle meanwhile: waiting for it is a fair queue, whereas SQLite
    /// would poll for its lock.
    _turn: PoolConnection<Driver>,
}

/// The key that a database was last used with, read without changing it.
async fn known_key(path: &Path) -> Result<Option<KnownKey>, sqlx::Error> {
    let mut connection = options(path).read_only(true).connect().await?;
    let known = secrets::known_key(&mut connection).await?;
    connection.close().await?;
    Ok(known)
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .page_size(PAGE_BYTES)
        .pragma("wal_autocheckpoint", PAGES_IN_LOG)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
}

/// Connections to a file do not age. But one breaks when SQLite itself rolls back a transaction, as on a
/// full disk: the driver still considers it open. Such a connection is replaced.
fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

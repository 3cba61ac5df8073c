//! A store in one SQLite file.
//!
//! One connection writes at a time; a few others read beside it. A file is looked at through a connection that
//! cannot write before anything else touches it, so that a damaged one stays as it is.

mod agents;
mod approvals;
mod audit;
mod catalogues;
mod columns;
mod failure;
mod files;
mod health;
mod migrate;
mod pins;
mod policies;
mod servers;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, Sqlite as Driver, Transaction};

use crate::error::StoreError;
use crate::lock::DirectoryLock;

/// How long to wait for another program that has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for a connection of our own.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

const READERS: u32 = 4;

/// Twice the usual size. Records of the audit log are kept many to a row, in rows of some forty kilobytes, which SQLite
/// writes page by page, and copies page by page when it empties its log.
const PAGE_BYTES: u32 = 8 * 1024;
/// So many pages, four megabytes, as it would be with the usual size.
const PAGES_IN_LOG: &str = "500";

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: SqlitePool,
    /// Writes what people decided. Its transactions wait for the disk; those of `writer` leave that to
    /// the operating system, because what they keep can be found out again.
    durable: SqlitePool,
    readers: SqlitePool,
    /// Last, so that it is given up last.
    _lock: DirectoryLock,
}

impl Sqlite {
    pub(crate) async fn open(directory: &Path) -> Result<Self, StoreError> {
        files::make_directory(directory)?;
        let lock = DirectoryLock::take(directory)?;
        let path = directory.join("octroi.db");
        files::make_private_file(&path)?;
        let version = migrate::inspect(&path).await?;

        let failed = |error| failure::from_sqlx(&path, error);
        let options =
            options(&path).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
        let writer = pool().max_connections(1).connect_with(options.clone()).await.map_err(failed)?;
        migrate::bring_up_to_date(&path, &writer, version).await?;
        let durable =
            pool().max_connections(1).connect_lazy_with(options.clone().synchronous(SqliteSynchronous::Full));
        let readers = pool().max_connections(READERS).connect_lazy_with(options.read_only(true));
        Ok(Self { path, writer, durable, readers, _lock: lock })
    }

    pub(crate) async fn close(self) {
        self.readers.close().await;
        self.durable.close().await;
        self.writer.close().await;
    }

    /// A transaction that writes. It waits for its turn here, not at its first change.
    async fn begin(&self) -> Result<Transaction<'static, Driver>, StoreError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed(error))
    }

    async fn commit(&self, transaction: Transaction<'static, Driver>) -> Result<(), StoreError> {
        transaction.commit().await.map_err(|error| self.failed(error))
    }

    /// A transaction that writes what must not be lost, not even by a power cut.
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

    /// The way to say that a stored value makes no sense.
    fn unreadable(&self, what: &'static str) -> impl FnOnce() -> StoreError {
        let path = self.path.clone();
        move || StoreError::Unreadable { path, what }
    }
}

/// A transaction that is on the disk when it is committed.
struct Durable {
    transaction: Transaction<'static, Driver>,
    /// The other connection that writes is kept idle meanwhile: who waits for it waits in a row and
    /// wakes at once, where SQLite would have them try again and again.
    _turn: PoolConnection<Driver>,
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .page_size(PAGE_BYTES)
        .pragma("wal_autocheckpoint", PAGES_IN_LOG)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
}

/// Connections to a file do not age. One breaks, though, when SQLite itself gives up a transaction,
/// as it does on a full disk: the driver goes on to believe in it. That one is replaced.
fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

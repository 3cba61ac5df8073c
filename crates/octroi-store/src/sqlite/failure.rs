//! Maps SQLite's result codes to store errors.

use std::path::Path;

use crate::error::StoreError;

/// The low byte of an extended code is the primary code: <https://sqlite.org/rescode.html>.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const NOT_A_DATABASE: i32 = 26;

/// No space for the shared memory of the write-ahead log; SQLite uses `FULL` only for the main file.
const IO_ERROR_SHM_SIZE: i32 = 4874;

pub(crate) fn from_sqlx(path: &Path, error: sqlx::Error) -> StoreError {
    let path = path.to_owned();
    let database = match &error {
        sqlx::Error::Database(database) => database,
        sqlx::Error::PoolTimedOut => return StoreError::Busy { path, source: error.into() },
        _ => return StoreError::Database { path, source: error.into() },
    };
    let code: i32 = database.code().and_then(|code| code.parse().ok()).unwrap_or_default();
    match code & 0xff {
        BUSY | LOCKED => StoreError::Busy { path, source: error.into() },
        READ_ONLY => StoreError::ReadOnly { path, source: error.into() },
        CORRUPT | NOT_A_DATABASE => StoreError::Corrupt { path, detail: database.message().to_owned() },
        FULL => StoreError::DiskFull { path, source: error.into() },
        _ if code == IO_ERROR_SHM_SIZE => StoreError::DiskFull { path, source: error.into() },
        _ => StoreError::Database { path, source: error.into() },
    }
}

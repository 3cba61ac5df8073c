//! What can go wrong with a store.
//!
//! The text says what failed and why, [`StoreError::hint`] what to do about it. Neither holds what
//! is stored.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::server::ServerKey;

/// What the operating system or the database said.
pub type Cause = Box<dyn Error + Send + Sync>;

/// A failure of the store, named for what a person would do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another gateway has the data directory.
    #[error("another Octroi{} uses {}", in_brackets(*.process), .directory.display())]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// The other's number, where it is known.
        process: Option<u32>,
    },
    /// Something else stands where the data directory should be.
    #[error("cannot keep data in {}: it is not a directory", .path.display())]
    NotADirectory {
        /// What was to be the directory.
        path: PathBuf,
    },
    /// The user may not read or write there.
    #[error("cannot use {}: permission denied", .path.display())]
    PermissionDenied {
        /// What may not be used.
        path: PathBuf,
        #[source]
        /// What was said.
        source: Cause,
    },
    /// Nothing can be written there.
    #[error("cannot write {}: it is read-only", .path.display())]
    ReadOnly {
        /// What cannot be written.
        path: PathBuf,
        #[source]
        /// What was said.
        source: Cause,
    },
    /// There is no room left.
    #[error("cannot write {}: the disk is full", .path.display())]
    DiskFull {
        /// What could not be written.
        path: PathBuf,
        #[source]
        /// What was said.
        source: Cause,
    },
    /// Another program holds the database for too long.
    #[error("cannot use {}: another program has locked it", .path.display())]
    Busy {
        /// The database.
        path: PathBuf,
        #[source]
        /// What was said.
        source: Cause,
    },
    /// The file is not what was written.
    #[error("{} is damaged ({detail}); nothing was changed", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A database of some other program.
    #[error("{} is a database, but not Octroi's; nothing was changed", .path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// A newer Octroi wrote the database.
    #[error(
        "{} has version {database}, but this Octroi only knows versions up to {program}; nothing was changed",
        .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        database: i64,
        /// The newest version that this program knows.
        program: i64,
    },
    /// The database was made by migrations that are not this program's.
    #[error(
        "{} was brought to version {version} by another migration than this Octroi's; nothing was changed",
        .path.display()
    )]
    MigrationChanged {
        /// The database.
        path: PathBuf,
        /// The first version that differs.
        version: i64,
    },
    /// A stored value makes no sense.
    #[error("{} holds a {what} that cannot be read", .path.display())]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// What it would be.
        what: &'static str,
    },
    /// Something was to be kept for a server that is not recorded, or no longer.
    #[error("server `{key}` is not recorded")]
    UnknownServer {
        /// The server.
        key: ServerKey,
    },
    /// Any other failure of the file system.
    #[error("cannot use {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        #[source]
        /// What was said.
        source: io::Error,
    },
    /// Any other failure of the database.
    #[error("the database {} failed", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        #[source]
        /// What was said.
        source: Cause,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::InUse { process: Some(process), .. } => {
                format!("stop it (kill {process}), or name another directory with --data DIR")
            }
            Self::InUse { process: None, .. } | Self::NotADirectory { .. } => {
                "name another directory with --data DIR".to_owned()
            }
            Self::PermissionDenied { path, .. } => {
                format!(
                    "let this user read and write {}, or name another directory with --data DIR",
                    path.display()
                )
            }
            Self::ReadOnly { .. } => "name a directory that can be written with --data DIR".to_owned(),
            Self::DiskFull { .. } => {
                "make room on the disk, or name another directory with --data DIR".to_owned()
            }
            Self::Busy { path, .. } => format!("close what else has {} open", path.display()),
            Self::Corrupt { path, .. } | Self::Unreadable { path, .. } => {
                let away = moved_away(path);
                let path = path.display();
                format!("{away}; then copy the newest {path}.backup-* to {path}, or start without it")
            }
            Self::Foreign { path } | Self::MigrationChanged { path, .. } => {
                format!("{}, or name another directory with --data DIR", moved_away(path))
            }
            Self::Newer { path, program, .. } => {
                let away = moved_away(path);
                let path = path.display();
                format!(
                    "use a newer octroi; or {away}, and copy {path}.backup-{program} to {path} if there is one"
                )
            }
            Self::UnknownServer { .. } => "record the server first".to_owned(),
            Self::Io { .. } | Self::Database { .. } => "the cause says why".to_owned(),
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { path, source: source.into() },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, source: source.into() },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source: source.into() }
            }
            _ => Self::Io { path, source },
        }
    }
}

/// All three: a log that is left would be applied to whatever file comes next.
fn moved_away(path: &Path) -> String {
    let path = path.display();
    format!("move {path}, {path}-wal and {path}-shm away")
}

fn in_brackets(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" (process {process})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_file_system() {
        for (kind, expected) in [
            (io::ErrorKind::NotADirectory, "cannot keep data in d: it is not a directory"),
            (io::ErrorKind::PermissionDenied, "cannot use d: permission denied"),
            (io::ErrorKind::ReadOnlyFilesystem, "cannot write d: it is read-only"),
            (io::ErrorKind::StorageFull, "cannot write d: the disk is full"),
            (io::ErrorKind::QuotaExceeded, "cannot write d: the disk is full"),
            (io::ErrorKind::TimedOut, "cannot use d"),
        ] {
            assert_eq!(StoreError::io(Path::new("d"), kind.into()).to_string(), expected);
        }
    }
}

//! The error type of the store.
//!
//! The text says what failed and why, [`StoreError::hint`] what to do about it. Neither contains stored
//! data.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::server::ServerKey;

/// The underlying error of the operating system or the database.
pub type Cause = Box<dyn Error + Send + Sync>;

/// A failure of the store, classified by what the operator can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another gateway uses the data directory.
    #[error("another Octroi{} uses {}", in_brackets(*.process), .directory.display())]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// The other's process id, if known.
        process: Option<u32>,
    },
    /// The data directory's path is not a directory.
    #[error("cannot keep data in {}: it is not a directory", .path.display())]
    NotADirectory {
        /// The path that should be a directory.
        path: PathBuf,
    },
    /// Others can write the data directory.
    #[error("cannot keep data in {}: others can write it", .directory.display())]
    Exposed {
        /// The data directory.
        directory: PathBuf,
        /// Whether it belongs to another user.
        is_foreign: bool,
    },
    /// The user lacks permission to read or write.
    #[error("cannot use {}: permission denied", .path.display())]
    PermissionDenied {
        /// The file or directory.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Cause,
    },
    /// The file system is read-only.
    #[error("cannot write {}: it is read-only", .path.display())]
    ReadOnly {
        /// The file or directory.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Cause,
    },
    /// The disk is full.
    #[error("cannot write {}: the disk is full", .path.display())]
    DiskFull {
        /// The file or directory.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Cause,
    },
    /// Another program has locked the database for too long.
    #[error("cannot use {}: another program has locked it", .path.display())]
    Busy {
        /// The database.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Cause,
    },
    /// The file's content is corrupt.
    #[error("{} is damaged ({detail}); nothing was changed", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The first finding of the integrity check.
        detail: String,
    },
    /// The database belongs to another program.
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
    /// The database was created by migrations that differ from this program's.
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
    /// A stored value is invalid.
    #[error("{} holds a {what} that cannot be read", .path.display())]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// The kind of value.
        what: &'static str,
    },
    /// Without a key nothing secret is stored.
    #[error("there is no key to encrypt what {} stores", .path.display())]
    NoKey {
        /// The database.
        path: PathBuf,
    },
    /// The key is not the one that the database is encrypted with.
    #[error("{place} is not the key that the database is encrypted with; nothing was changed")]
    OtherKey {
        /// Where the key comes from.
        place: String,
    },
    /// There is no usable key, and secrets are encrypted with one.
    #[error("{place} has no usable key, and the database is encrypted with one; nothing was changed")]
    LostKey {
        /// Where the key should come from.
        place: String,
    },
    /// Data was to be stored for a server that is not recorded.
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
        /// The underlying error.
        source: io::Error,
    },
    /// Any other failure of the database.
    #[error("the database {} failed", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Cause,
    },
}

impl StoreError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::InUse { process: Some(process), .. } => {
                format!("stop it (kill {process}), or name another directory with --data DIR")
            }
            Self::InUse { process: None, .. } | Self::NotADirectory { .. } => {
                "name another directory with --data DIR".to_owned()
            }
            Self::Exposed { directory, is_foreign: false } => {
                format!("run `chmod go-w {}`", directory.display())
            }
            Self::Exposed { directory, is_foreign: true } => format!(
                "run `chown $(id -u) {}`, or name another directory with --data DIR",
                directory.display()
            ),
            Self::PermissionDenied { path, .. } => {
                format!(
                    "let this user read and write {}, or name another directory with --data DIR",
                    path.display()
                )
            }
            Self::ReadOnly { .. } => "name a directory that can be written with --data DIR".to_owned(),
            Self::DiskFull { .. } => {
                "free space on the disk, or name another directory with --data DIR".to_owned()
            }
            Self::Busy { path, .. } => format!("close the program that has {} open", path.display()),
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
            Self::NoKey { .. } => {
                "restore the file master.key of the data directory, or remove it and restart to make a new one".to_owned()
            }
            Self::OtherKey { .. } | Self::LostKey { .. } => "put the right key back, or name the place that has it; \
                to go on without the stored secrets, start with `octroi up --accept-loss` and set them again"
                .to_owned(),
            Self::UnknownServer { .. } => "record the server first".to_owned(),
            Self::Io { path, .. } => format!(
                "look at it with `ls -ld {}`, or name another directory with --data DIR",
                path.display()
            ),
            Self::Database { path, .. } => format!(
                "restart; if it fails again, {}, and run `octroi db rebuild`",
                moved_away(path)
            ),
        }
    }

    /// The error for the caller of a tool: what it means, without the paths of this machine.
    pub fn for_caller(&self) -> &'static str {
        match self {
            Self::NoKey { .. } => "the gateway has no key to encrypt approvals with",
            Self::InUse { .. }
            | Self::NotADirectory { .. }
            | Self::Exposed { .. }
            | Self::PermissionDenied { .. }
            | Self::ReadOnly { .. }
            | Self::DiskFull { .. }
            | Self::Busy { .. }
            | Self::Corrupt { .. }
            | Self::Unreadable { .. }
            | Self::Foreign { .. }
            | Self::MigrationChanged { .. }
            | Self::Newer { .. }
            | Self::OtherKey { .. }
            | Self::LostKey { .. }
            | Self::UnknownServer { .. }
            | Self::Io { .. }
            | Self::Database { .. } => "the gateway cannot use its database",
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

/// All three files: a leftover write-ahead log would be applied to the next database file.
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

//! The error type of the audit log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A failure of the audit log. It can be cloned because one failure is reported to all waiting callers.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuditError {
    /// Another gateway writes the log.
    #[error("another Octroi writes the audit log in {}", .directory.display())]
    InUse {
        /// The directory of the log.
        directory: PathBuf,
    },
    /// The disk is full.
    #[error("cannot write {}: the disk is full", .path.display())]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Arc<io::Error>,
    },
    /// Any other failure of the file system.
    #[error("cannot use {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: Arc<io::Error>,
    },
    /// The event is larger than a record may be.
    #[error("the audit event has {n_bytes} bytes, more than the {n_max} that a record may have")]
    TooLarge {
        /// The size of the event.
        n_bytes: usize,
        /// The maximum size.
        n_max: usize,
    },
    /// The name of the node is invalid.
    #[error("`{node}` cannot name a node: use up to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`")]
    Node {
        /// The invalid name.
        node: String,
    },
    /// A file of the log has unexpected content.
    #[error("{} cannot be read: {what}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// No random bytes for a key or a name.
    #[error("the operating system gives no random bytes")]
    NoRandomness,
    /// The log was closed.
    #[error("the audit log is closed")]
    Closed,
}

impl AuditError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::InUse { .. } => "stop it, or name another directory with --data DIR".to_owned(),
            Self::DiskFull { .. } => {
                "free space on the disk; calls are refused until records can be written".to_owned()
            }
            Self::Io { path, .. } => format!(
                "look at it with `ls -ld {}`, or name another directory with --data DIR",
                path.display()
            ),
            Self::NoRandomness => "restart Octroi when the system is up".to_owned(),
            Self::TooLarge { .. } => "record less of the arguments and results".to_owned(),
            Self::Node { .. } => "choose another name".to_owned(),
            Self::Unreadable { .. } => "run `octroi audit verify`".to_owned(),
            Self::Closed => "restart Octroi".to_owned(),
        }
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let source = Arc::new(source);
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path, source },
            _ => Self::Io { path, source },
        }
    }
}

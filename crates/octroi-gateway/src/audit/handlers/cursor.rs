//! The stored position of a handler, beside the log.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

const DIRECTORY: &str = "handlers";

/// The file with the number of the last delivered record.
#[derive(Debug)]
pub(super) struct CursorFile {
    path: PathBuf,
}

impl CursorFile {
    /// The file of a handler, in the directory of the log.
    pub(super) fn new(log: &Path, name: &str) -> Self {
        Self { path: log.join(DIRECTORY).join(name) }
    }

    /// The stored number; `None` if this handler is new.
    pub(super) fn load(&self) -> io::Result<Option<u64>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => match text.trim().parse() {
                Ok(seq) => Ok(Some(seq)),
                Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a number")),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores a number atomically. Not synced: after a power failure a handler gets some records again. Not
    /// asynchronous either, so that it cannot be cancelled halfway.
    pub(super) fn save(&self, seq: u64) -> io::Result<()> {
        static N_SAVED: AtomicU64 = AtomicU64::new(0);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        // A handler and its successor may do this concurrently.
        let number = N_SAVED.fetch_add(1, Ordering::Relaxed);
        let new = self.path.with_extension(format!("{number}.new"));
        fs::write(&new, format!("{seq}\n"))?;
        fs::rename(&new, &self.path)
    }
}

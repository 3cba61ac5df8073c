//! Where a handler stands, kept beside the log.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

const DIRECTORY: &str = "handlers";

/// The file that says which record was delivered last.
#[derive(Debug)]
pub(super) struct CursorFile {
    path: PathBuf,
}

impl CursorFile {
    /// The file of a handler, in the directory of the log.
    pub(super) fn new(log: &Path, name: &str) -> Self {
        Self { path: log.join(DIRECTORY).join(name) }
    }

    /// What it says; `None` if this handler is new.
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

    /// Says something else from now on, at once or not at all. Not synced: after a loss of power a
    /// handler gets some records again. Not asynchronous either, so that nobody can end it halfway.
    pub(super) fn save(&self, seq: u64) -> io::Result<()> {
        static N_SAVED: AtomicU64 = AtomicU64::new(0);
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        // A handler and its successor may do this at once.
        let number = N_SAVED.fetch_add(1, Ordering::Relaxed);
        let new = self.path.with_extension(format!("{number}.new"));
        fs::write(&new, format!("{seq}\n"))?;
        fs::rename(&new, &self.path)
    }
}

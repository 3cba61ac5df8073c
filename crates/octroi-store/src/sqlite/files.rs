//! The data directory and the files in it, which are nobody else's to read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Makes the directory and those above it, where they are missing.
pub(crate) fn make_directory(directory: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(directory) {
        Ok(()) => Ok(()),
        Err(_) if directory.exists() && !directory.is_dir() => {
            Err(StoreError::NotADirectory { path: directory.to_owned() })
        }
        Err(error) => Err(StoreError::io(directory, error)),
    }
}

/// Makes an empty file, or finds out that the one there can be read and written. SQLite gives the
/// files that it puts beside this one the same rights.
pub(crate) fn make_private_file(path: &Path) -> Result<(), StoreError> {
    let opened =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map(drop).map_err(|error| StoreError::io(path, error))
}

/// The file's name with something after it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Removes a file if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io(path, error)),
        _ => Ok(()),
    }
}

/// Gives a finished file its name. After this both survive a power cut.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| File::open(path)?.sync_all();
    let failed = |error| StoreError::io(to, error);
    sync(from).map_err(failed)?;
    std::fs::rename(from, to).map_err(failed)?;
    to.parent().map_or(Ok(()), sync).map_err(failed)
}

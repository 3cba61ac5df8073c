//! The data directory and its files, which only their owner may read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

const WRITABLE_FOR_OTHERS: u32 = 0o022;

/// Creates the directory and its parents, where missing. One that others can write is refused.
pub(crate) fn make_directory(directory: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(directory) {
        Ok(()) => refuse_exposed(directory),
        Err(_) if directory.exists() && !directory.is_dir() => {
            Err(StoreError::NotADirectory { path: directory.to_owned() })
        }
        Err(error) => Err(StoreError::io(directory, error)),
    }
}

/// Fails if somebody else can write the directory: they could replace what is in it.
fn refuse_exposed(directory: &Path) -> Result<(), StoreError> {
    let found = std::fs::metadata(directory).map_err(|error| StoreError::io(directory, error))?;
    // The owner of this entry is the effective user of this process.
    let own = std::fs::metadata("/proc/self").ok().map(|process| process.uid());
    let is_foreign = found.uid() != 0 && own.is_some_and(|own| own != found.uid());
    if is_foreign || found.mode() & WRITABLE_FOR_OTHERS != 0 {
        return Err(StoreError::Exposed { directory: directory.to_owned(), is_foreign });
    }
    Ok(())
}

/// Creates an empty file, or checks that the existing one can be read and written. SQLite gives the
/// files beside it the same permissions.
pub(crate) fn make_private_file(path: &Path) -> Result<(), StoreError> {
    let opened =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map(drop).map_err(|error| StoreError::io(path, error))
}

/// The path with a suffix appended to its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io(path, error)),
        _ => Ok(()),
    }
}

/// Renames a finished file. After this, its content and name survive a power failure.
pub(crate) fn rename_durably(from: &Path, to: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| File::open(path)?.sync_all();
    let failed = |error| StoreError::io(to, error);
    sync(from).map_err(failed)?;
    std::fs::rename(from, to).map_err(failed)?;
    to.parent().map_or(Ok(()), sync).map_err(failed)
}

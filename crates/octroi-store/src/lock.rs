//! One gateway for one data directory.
//!
//! The lock is the operating system's: it goes with the process, however that ends. The number in
//! the file only serves to tell people who has it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::error::StoreError;

const FILE_NAME: &str = "gateway.pid";

/// Held as long as the directory is used.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Takes the directory, or says who has it.
    pub(crate) fn take(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(FILE_NAME);
        let failed = |error| StoreError::io(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    directory: directory.to_owned(),
                    process: process_in(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let text = format!("{}\n", std::process::id());
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.set_len(text.len() as u64).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is just being started has it too, until it
        // becomes the program it shall be.
        let _ = self.file.unlock();
    }
}

/// Nobody, if the other has only just begun and not written its number yet.
fn process_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

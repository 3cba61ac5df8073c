//! The lock on a data directory: one gateway per directory.
//!
//! The operating system releases the lock when the process ends, however it ends. The process id in the
//! file is only used in messages.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::error::StoreError;

const FILE_NAME: &str = "gateway.pid";

/// A process that was killed while it spawned a child leaves the lock to the child until that calls exec.
/// That takes milliseconds; the lock is retried for two seconds.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Held as long as the directory is used.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
    /// The directory itself is locked as well: somebody may remove the file.
    directory: File,
}

impl DirectoryLock {
    /// Locks the directory, or fails with the process that holds it.
    pub(crate) fn acquire(directory: &Path) -> Result<Self, StoreError> {
        for _ in 1..TRIES {
            match Self::try_acquire(directory) {
                Err(StoreError::InUse { process: Some(process), .. }) if is_gone(process) => {
                    thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
        Self::try_acquire(directory)
    }

    fn try_acquire(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(FILE_NAME);
        let failed = |error| StoreError::io(&path, error);
        let whole = File::open(directory).map_err(|error| StoreError::io(directory, error))?;
        match whole.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let process = File::open(&path).ok().and_then(|mut file| process_in(&mut file));
                return Err(StoreError::InUse { directory: directory.to_owned(), process });
            }
            // Not every file system can lock a directory; the file is locked in any case.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
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
        Ok(Self { file, directory: whole })
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is just being spawned shares it until it
        // calls exec.
        let _ = self.file.unlock();
        let _ = self.directory.unlock();
    }
}

/// Whether a process has ended, including zombies.
fn is_gone(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The name in parentheses may contain anything.
        Ok(text) => text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(error) => error.kind() == ErrorKind::NotFound && Path::new("/proc/self").exists(),
    }
}

/// `None` if the other process has not written its id yet.
fn process_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test that joins it")]
    fn a_lock_that_a_dead_process_left_to_a_child_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let held = DirectoryLock::acquire(directory.path()).unwrap();
        // No process has such an id.
        std::fs::write(directory.path().join(FILE_NAME), "4194305\n").unwrap();
        let letting_go = thread::Builder::new().spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(held);
        });
        DirectoryLock::acquire(directory.path()).unwrap();
        letting_go.unwrap().join().unwrap();
    }

    #[test]
    fn the_lock_holds_when_its_file_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let held = DirectoryLock::acquire(directory.path()).unwrap();
        std::fs::remove_file(directory.path().join(FILE_NAME)).unwrap();
        let refused = DirectoryLock::acquire(directory.path()).unwrap_err();
        assert!(matches!(refused, StoreError::InUse { process: None, .. }), "{refused}");
        drop(held);
        DirectoryLock::acquire(directory.path()).unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test measures real time")]
    fn a_living_holder_is_reported_immediately() {
        let directory = tempfile::tempdir().unwrap();
        let _held = DirectoryLock::acquire(directory.path()).unwrap();
        let begun = std::time::Instant::now();
        let refused = DirectoryLock::acquire(directory.path()).unwrap_err();
        assert!(
            matches!(refused, StoreError::InUse { process: Some(process), .. } if process == std::process::id())
        );
        assert!(begun.elapsed() < PAUSE * 50, "there is no wait for a living process");
    }
}

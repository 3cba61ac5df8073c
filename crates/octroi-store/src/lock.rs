//! One gateway for one data directory.
//!
//! The lock is the operating system's: it goes with the process, however that ends. The number in
//! the file only serves to tell people who has it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::error::StoreError;

const FILE_NAME: &str = "gateway.pid";

/// A process that was killed while it started another leaves the lock to that one, until it becomes the program
/// it shall be. That takes milliseconds; two seconds are waited for it.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Held as long as the directory is used.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Takes the directory, or says who has it.
    pub(crate) fn take(directory: &Path) -> Result<Self, StoreError> {
        for _ in 1..TRIES {
            match Self::try_take(directory) {
                Err(StoreError::InUse { process: Some(process), .. }) if is_gone(process) => {
                    thread::sleep(PAUSE);
                }
                taken => return taken,
            }
        }
        Self::try_take(directory)
    }

    fn try_take(directory: &Path) -> Result<Self, StoreError> {
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

/// Whether a process has ended, also if nobody has asked how yet.
fn is_gone(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The name in parentheses may hold anything.
        Ok(text) => text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(error) => error.kind() == ErrorKind::NotFound && Path::new("/proc/self").exists(),
    }
}

/// Nobody, if the other has only just begun and not written its number yet.
fn process_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_a_dead_process_left_to_a_child_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let held = DirectoryLock::take(directory.path()).unwrap();
        // No process has such a number.
        std::fs::write(directory.path().join(FILE_NAME), "4194305\n").unwrap();
        let letting_go = thread::Builder::new().spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(held);
        });
        DirectoryLock::take(directory.path()).unwrap();
        letting_go.unwrap().join().unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it must not take long by the real clock")]
    fn a_living_holder_is_named_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let _held = DirectoryLock::take(directory.path()).unwrap();
        let begun = std::time::Instant::now();
        let refused = DirectoryLock::take(directory.path()).unwrap_err();
        assert!(
            matches!(refused, StoreError::InUse { process: Some(process), .. } if process == std::process::id())
        );
        assert!(begun.elapsed() < PAUSE * 50, "nobody waits for one that lives");
    }
}

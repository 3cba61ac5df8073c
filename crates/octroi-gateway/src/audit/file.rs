//! A file that only its owner may read, written at known offsets and synced by two threads.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::error::AuditError;

/// A segment that is being written.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// Why a sync failed, once one did. The kernel reports a lost page only once and then considers it clean,
    /// so this file is never trusted again.
    failed: Mutex<Option<AuditError>>,
    #[cfg(test)]
    faults: Arc<Faults>,
}

/// Faults that tests inject.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Writes fail after this many more bytes, if not zero.
    #[cfg(test)]
    pub(super) bytes_left: std::sync::atomic::AtomicU64,
    /// The next sync fails.
    #[cfg(test)]
    pub(super) sync: std::sync::atomic::AtomicBool,
    /// Truncation fails.
    #[cfg(test)]
    pub(super) cut: std::sync::atomic::AtomicBool,
}

impl LogFile {
    /// Creates a file; one that an earlier attempt left is truncated.
    pub(super) fn create(path: &Path, faults: &Arc<Faults>) -> Result<Self, AuditError> {
        Self::with(path, faults, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Opens an existing file.
    pub(super) fn open(path: &Path, faults: &Arc<Faults>) -> Result<Self, AuditError> {
        Self::with(path, faults, OpenOptions::new().write(true))
    }

    fn with(path: &Path, faults: &Arc<Faults>, options: &mut OpenOptions) -> Result<Self, AuditError> {
        let file = options.mode(0o600).open(path).map_err(|error| AuditError::io(path, error))?;
        let _ = faults;
        Ok(Self {
            path: path.to_owned(),
            file,
            failed: Mutex::new(None),
            #[cfg(test)]
            faults: Arc::clone(faults),
        })
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), AuditError> {
        #[cfg(test)]
        self.faults.write(&self.file, bytes, offset).map_err(|error| AuditError::io(&self.path, error))?;
        self.file.write_all_at(bytes, offset).map_err(|error| AuditError::io(&self.path, error))
    }

    /// Truncates the file.
    pub(super) fn cut(&self, length: u64) -> Result<(), AuditError> {
        #[cfg(test)]
        self.faults.cut().map_err(|error| AuditError::io(&self.path, error))?;
        self.file.set_len(length).map_err(|error| AuditError::io(&self.path, error))
    }

    /// Waits until everything written so far is on disk.
    pub(super) fn sync(&self) -> Result<(), AuditError> {
        let mut failed = self.failed.lock();
        if let Some(error) = &*failed {
            return Err(error.clone());
        }
        #[cfg(test)]
        let result = self.faults.sync().and_then(|()| self.file.sync_data());
        #[cfg(not(test))]
        let result = self.file.sync_data();
        result.map_err(|error| {
            let error = AuditError::io(&self.path, error);
            *failed = Some(error.clone());
            error
        })
    }
}

#[cfg(test)]
impl Faults {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        use std::sync::atomic::Ordering::SeqCst;
        let left = self.bytes_left.load(SeqCst);
        if left == 0 {
            return Ok(());
        }
        let part = bytes.len().min(usize::try_from(left).unwrap());
        if part < bytes.len() {
            file.write_all_at(&bytes[..part], offset)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes_left.store(left - part as u64, SeqCst);
        if left == part as u64 {
            self.bytes_left.store(1, SeqCst);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let fails = self.sync.swap(false, std::sync::atomic::Ordering::SeqCst);
        if fails { Err(io::Error::other("injected")) } else { Ok(()) }
    }

    fn cut(&self) -> io::Result<()> {
        let fails = self.cut.load(std::sync::atomic::Ordering::SeqCst);
        if fails { Err(io::Error::other("injected")) } else { Ok(()) }
    }
}

/// Ensures that a directory exists which only its owner may enter.
pub(super) fn create_directory(directory: &Path) -> Result<(), AuditError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| AuditError::io(directory, error))
}

/// Waits until the directory entries are on disk.
pub(super) fn sync_directory(directory: &Path) -> Result<(), AuditError> {
    let synced = File::open(directory).and_then(|file| file.sync_all());
    synced.map_err(|error| AuditError::io(directory, error))
}

/// Reads until the buffer is full or the file ends.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < buffer.len() {
        match file.read_at(&mut buffer[n_read..], offset + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_read)
}

/// Writes a small file atomically.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), AuditError> {
    let beside = path.with_extension("new");
    let write = || {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| AuditError::io(path, error))
}

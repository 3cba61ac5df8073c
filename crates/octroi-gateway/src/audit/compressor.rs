//! The thread that compresses closed segments, one at a time, with the lowest priority.
//!
//! It also compresses those that a crash or an older version left. A segment that cannot be verified stays as it
//! is. The segment that is being written is never touched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use octroi_upstream::lower_priority;
use parking_lot::{Condvar, Mutex};
use tracing::{debug, info, warn};

use super::error::AuditError;
use super::file::{Faults, sync_directory};
use super::format::{SegmentFile, segments};
use super::replacement::{Compressing, Replacement, remove_copies};

/// The lowest priority there is.
const NICENESS: i32 = 19;
/// The wait after each block, which takes about a tenth of that: calls come first, and a segment is still compressed
/// in a few seconds.
const PAUSE: Duration = Duration::from_millis(1);
/// How soon segments are tried again that could not be compressed, for example because the disk was full.
const RETRY: Duration = Duration::from_mins(10);

/// What the thread shares with the writer and with purges.
#[derive(Debug)]
pub(super) struct Compressor {
    directory: PathBuf,
    state: Mutex<CompressorState>,
    changed: Condvar,
    /// Held while a segment file is replaced or removed.
    replacing: Mutex<()>,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct CompressorState {
    /// The segment that is being written.
    current: u32,
    is_ending: bool,
}

impl Compressor {
    pub(super) fn new(directory: &Path, current: u32, faults: &Arc<Faults>) -> Self {
        Self {
            directory: directory.to_owned(),
            state: Mutex::new(CompressorState { current, is_ending: false }),
            changed: Condvar::new(),
            replacing: Mutex::new(()),
            faults: Arc::clone(faults),
        }
    }

    /// Starts the thread. It ends soon after [`Compressor::end`].
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread of the log, which ends with it: closing joins it"
    )]
    pub(super) fn start(self: &Arc<Self>) -> Result<JoinHandle<()>, AuditError> {
        let own = Arc::clone(self);
        let started = thread::Builder::new().name("audit-compress".to_owned()).spawn(move || own.run());
        started.map_err(|error| AuditError::io(&self.directory, error))
    }

    /// Tells which segment is being written from now on. It is on disk, and those before it are closed.
    pub(super) fn begin_segment(&self, number: u32) {
        self.state.lock().current = number;
        self.changed.notify_one();
    }

    /// Lets the thread end, also in the middle of a segment.
    pub(super) fn end(&self) {
        self.state.lock().is_ending = true;
        self.changed.notify_one();
    }

    /// Removes a segment file for good: no compressed copy takes its place afterwards.
    pub(super) fn remove(&self, path: &Path) -> Result<(), AuditError> {
        let _replacing = self.replacing.lock();
        fs::remove_file(path).map_err(|error| AuditError::io(path, error))
    }

    fn run(&self) {
        lower_priority(NICENESS);
        if let Err(error) = remove_copies(&self.directory) {
            warn!(%error, hint = error.hint(), "unfinished copies of audit segments could not be removed");
        }
        let mut settled = BTreeSet::new();
        let mut tried = None;
        let mut has_failed = false;
        while let Some(current) = self.wait(tried, has_failed) {
            tried = Some(current);
            match self.compress_before(current, &mut settled) {
                Ok(()) => has_failed = false,
                Err(AuditError::Closed) => return,
                Err(error) if !has_failed => {
                    has_failed = true;
                    warn!(%error, hint = error.hint(), "an audit segment could not be compressed; it is tried again");
                }
                Err(_) => {}
            }
        }
    }

    /// Waits until there may be something to compress; returns the segment that is being written. `None` at the end.
    fn wait(&self, tried: Option<u32>, has_failed: bool) -> Option<u32> {
        let mut state = self.state.lock();
        loop {
            if state.is_ending {
                return None;
            }
            if tried != Some(state.current) {
                return Some(state.current);
            }
            if !has_failed {
                self.changed.wait(&mut state);
            } else if self.changed.wait_for(&mut state, RETRY).timed_out() {
                return (!state.is_ending).then_some(state.current);
            }
        }
    }

    /// Waits between two pieces of work. Fails if the log is being closed.
    fn pause(&self) -> Result<(), AuditError> {
        let mut state = self.state.lock();
        if !state.is_ending {
            self.changed.wait_for(&mut state, PAUSE);
        }
        if state.is_ending { Err(AuditError::Closed) } else { Ok(()) }
    }

    /// Compresses the segments before this one, the oldest first. `settled` are those that need no look any more.
    /// One that fails does not keep the others from it; the first failure is returned.
    pub(super) fn compress_before(
        &self,
        current: u32,
        settled: &mut BTreeSet<u32>,
    ) -> Result<(), AuditError> {
        let files = segments(&self.directory).map_err(|error| AuditError::io(&self.directory, error))?;
        let mut failure = None;
        for pair in files.windows(2) {
            let [file, next] = pair else { continue };
            if next.number > current || settled.contains(&file.number) {
                continue;
            }
            match self.compress(file, next) {
                Ok(()) => drop(settled.insert(file.number)),
                Err(error @ (AuditError::Closed | AuditError::DiskFull { .. })) => return Err(error),
                // It may just have been purged, and so need no look any more.
                Err(_) if !file.path.exists() => {}
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn compress(&self, file: &SegmentFile, next: &SegmentFile) -> Result<(), AuditError> {
        let replacement = match Replacement::make(file, next, &|| self.pause(), &self.faults)? {
            Compressing::Ready(replacement) => replacement,
            Compressing::Done => return Ok(()),
            Compressing::Damaged(problem) => {
                info!(audit.segment = file.number, %problem, "a damaged audit segment is not compressed");
                return Ok(());
            }
        };
        let (n_bytes_before, n_bytes) = (replacement.n_bytes_before, replacement.n_bytes);
        let replacing = self.replacing.lock();
        let is_replaced = replacement.put_in_place()?;
        drop(replacing);
        if is_replaced {
            sync_directory(&self.directory)?;
            debug!(audit.segment = file.number, n_bytes_before, n_bytes, "an audit segment was compressed");
        }
        Ok(())
    }
}

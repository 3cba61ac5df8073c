//! The thread that waits for the disk, so that the writer does not have to.
//!
//! One sync serves all waiting callers. Other records are synced a few milliseconds later. Checkpoints are
//! published here too: only records on disk are signed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use octroi_core::audit::{Checkpoint, SigningKey};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;
use tracing::error;

use super::checkpoints::CheckpointFile;
use super::error::AuditError;
use super::file::LogFile;
use super::queue::{WriteQueue, WriteReply};

/// Starts early enough to leave the disk one millisecond of the promised five.
const PAUSE: Duration = Duration::from_millis(4);

/// The state shared by the writer and the syncer.
#[derive(Debug)]
pub(super) struct Syncer {
    state: Mutex<SyncState>,
    changed: Condvar,
    /// Set when unsynced data was reported or is about to be, so that no other caller has to.
    is_dirty: AtomicBool,
    /// The segment whose end cannot be trusted; segments are counted from one.
    suspect: AtomicU32,
}

#[derive(Debug)]
struct SyncState {
    file: Arc<LogFile>,
    segment: u32,
    /// Since when there is unsynced data.
    dirty_since: Option<Instant>,
    waiting: Vec<(u64, WriteReply)>,
    checkpoint: Option<Checkpoint>,
    is_ending: bool,
}

impl Syncer {
    pub(super) fn new(file: Arc<LogFile>, segment: u32) -> Self {
        let state = SyncState {
            file,
            segment,
            dirty_since: None,
            waiting: Vec::new(),
            checkpoint: None,
            is_ending: false,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            is_dirty: AtomicBool::new(false),
            suspect: AtomicU32::new(0),
        }
    }

    /// Reports written data, and the callers that wait for it to be on disk.
    pub(super) fn written(&self, now: Instant, waiting: &mut Vec<(u64, WriteReply)>) {
        if self.is_dirty.swap(true, Ordering::SeqCst) && waiting.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        let is_asleep = state.dirty_since.is_none();
        let is_urgent = !waiting.is_empty();
        state.dirty_since.get_or_insert(now);
        state.waiting.append(waiting);
        drop(state);
        if is_asleep || is_urgent {
            self.changed.notify_one();
        }
    }

    /// Publishes a checkpoint once the records it covers are on disk.
    pub(super) fn publish(&self, checkpoint: Checkpoint) {
        self.state.lock().checkpoint = Some(checkpoint);
        self.changed.notify_one();
    }

    /// Switches to another segment. Returns the waiters of the old one, for the caller to answer.
    pub(super) fn switch(&self, file: Arc<LogFile>, segment: u32, is_synced: bool) -> Vec<(u64, WriteReply)> {
        let mut state = self.state.lock();
        state.file = file;
        state.segment = segment;
        state.dirty_since = None;
        self.is_dirty.store(false, Ordering::SeqCst);
        if !is_synced {
            state.checkpoint = None;
        }
        std::mem::take(&mut state.waiting)
    }

    /// Whether a sync of this segment failed.
    pub(super) fn is_suspect(&self, segment: u32) -> bool {
        self.suspect.load(Ordering::SeqCst) == segment
    }

    /// Lets the thread end when all work is done.
    pub(super) fn end(&self) {
        self.state.lock().is_ending = true;
        self.changed.notify_one();
    }

    /// The main loop of the thread.
    pub(super) fn run(&self, shared: &WriteQueue, mut publisher: Publisher) {
        while let Some(work) = self.wait() {
            let result = work.file.sync();
            if let Err(error) = &result {
                error!(error = %error, "audit records may not be on disk; continuing in a new segment");
                // Before the callers are answered: an immediate retry must find the new segment.
                self.suspect.store(work.segment, Ordering::SeqCst);
                shared.set_ill(error);
            }
            answer(work.waiting, &result);
            if let (Ok(()), Some(checkpoint)) = (&result, work.checkpoint) {
                publisher.publish(&checkpoint);
            }
        }
        let _ = publisher.file.sync();
    }

    /// Waits until there is data to sync; `None` when there never will be.
    fn wait(&self) -> Option<SyncWork> {
        let mut state = self.state.lock();
        loop {
            if !state.waiting.is_empty() || state.checkpoint.is_some() {
                break;
            }
            match state.dirty_since {
                Some(_) if state.is_ending => break,
                Some(since) => {
                    if self.changed.wait_until(&mut state, since + PAUSE).timed_out() {
                        break;
                    }
                }
                None if state.is_ending => return None,
                None => self.changed.wait(&mut state),
            }
        }
        state.dirty_since = None;
        // Before the sync: data written from now on needs another one.
        self.is_dirty.store(false, Ordering::SeqCst);
        Some(SyncWork {
            file: Arc::clone(&state.file),
            segment: state.segment,
            waiting: std::mem::take(&mut state.waiting),
            checkpoint: state.checkpoint.take(),
        })
    }
}

struct SyncWork {
    file: Arc<LogFile>,
    segment: u32,
    waiting: Vec<(u64, WriteReply)>,
    checkpoint: Option<Checkpoint>,
}

/// Answers all waiters with the result.
pub(super) fn answer(waiting: Vec<(u64, WriteReply)>, result: &Result<(), AuditError>) {
    for (seq, answer) in waiting {
        // Fails if the caller gave up.
        let _ = answer.send(result.clone().map(|()| seq));
    }
}

/// Signs and publishes checkpoints.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) key: Arc<SigningKey>,
    pub(super) file: CheckpointFile,
    pub(super) newest: watch::Sender<Option<Arc<str>>>,
}

impl Publisher {
    fn publish(&mut self, checkpoint: &Checkpoint) {
        let note = checkpoint.sign(&self.key);
        // Copies that leave the machine do not depend on the local one.
        if let Err(error) = self.file.append(&note) {
            error!(error = %error, "audit checkpoint could not be written");
        }
        self.newest.send_replace(Some(note.into()));
    }
}

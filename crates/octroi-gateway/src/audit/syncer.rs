//! The thread that waits for the disk, so that the writer does not have to.
//!
//! One sync serves everybody who waits. What nobody waits for is synced a few milliseconds later.
//! Checkpoints are published here too: only what is on disk is worth a signature.

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
use super::queue::{Answer, Shared};

/// Begun so early that the disk has a millisecond left of the five that are promised.
const PAUSE: Duration = Duration::from_millis(4);

/// What the writer and the syncer share.
#[derive(Debug)]
pub(super) struct Syncer {
    state: Mutex<State>,
    changed: Condvar,
    /// Somebody has said, or is about to say, that something is not synced: nobody else has to.
    is_dirty: AtomicBool,
    /// The segment whose end cannot be trusted; segments are counted from one.
    suspect: AtomicU32,
}

#[derive(Debug)]
struct State {
    file: Arc<LogFile>,
    segment: u32,
    /// Since when something is not synced.
    dirty_since: Option<Instant>,
    waiting: Vec<(u64, Answer)>,
    checkpoint: Option<Checkpoint>,
    is_ending: bool,
}

impl Syncer {
    pub(super) fn new(file: Arc<LogFile>, segment: u32) -> Self {
        let state = State {
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

    /// Something was written, and these wait for it to be on disk.
    pub(super) fn written(&self, now: Instant, waiting: &mut Vec<(u64, Answer)>) {
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

    /// Publishes a checkpoint when what it covers is on disk.
    pub(super) fn publish(&self, checkpoint: Checkpoint) {
        self.state.lock().checkpoint = Some(checkpoint);
        self.changed.notify_one();
    }

    /// Goes on with another segment. Returns who waits for the old one, for the caller to answer.
    pub(super) fn switch(&self, file: Arc<LogFile>, segment: u32, is_synced: bool) -> Vec<(u64, Answer)> {
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

    /// Lets the thread end when it has done everything.
    pub(super) fn end(&self) {
        self.state.lock().is_ending = true;
        self.changed.notify_one();
    }

    /// The thread.
    pub(super) fn run(&self, shared: &Shared, mut publisher: Publisher) {
        while let Some(work) = self.wait() {
            let result = work.file.sync();
            if let Err(error) = &result {
                error!(error = %error, "audit records may not be on disk; going on in a new segment");
                // Before anybody is told: who tries again at once shall find the new segment.
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

    /// Waits until there is something to sync; none when there never will be.
    fn wait(&self) -> Option<Work> {
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
        // Before the sync: what is written from now on needs another.
        self.is_dirty.store(false, Ordering::SeqCst);
        Some(Work {
            file: Arc::clone(&state.file),
            segment: state.segment,
            waiting: std::mem::take(&mut state.waiting),
            checkpoint: state.checkpoint.take(),
        })
    }
}

struct Work {
    file: Arc<LogFile>,
    segment: u32,
    waiting: Vec<(u64, Answer)>,
    checkpoint: Option<Checkpoint>,
}

/// Tells everybody who waited how it went.
pub(super) fn answer(waiting: Vec<(u64, Answer)>, result: &Result<(), AuditError>) {
    for (seq, answer) in waiting {
        // Nobody hears it if the caller gave up.
        let _ = answer.send(result.clone().map(|()| seq));
    }
}

/// Signs checkpoints and hands them out.
#[derive(Debug)]
pub(super) struct Publisher {
    pub(super) key: Arc<SigningKey>,
    pub(super) file: CheckpointFile,
    pub(super) newest: watch::Sender<Option<Arc<str>>>,
}

impl Publisher {
    fn publish(&mut self, checkpoint: &Checkpoint) {
        let note = checkpoint.sign(&self.key);
        // Copies that leave the machine do not depend on the one that stays.
        if let Err(error) = self.file.append(&note) {
            error!(error = %error, "an audit checkpoint could not be written");
        }
        self.newest.send_replace(Some(note.into()));
    }
}

//! The queue of pending writes, and how callers and the writer thread wake each other.
//!
//! A caller that adds a record writes it, and all queued ones, if no other caller is doing that: waking the
//! thread for every record, and being woken by it, would cost more than the write. The queue holds records
//! that another caller is to write, or that have to be on disk, and, under load, those of one scheduler turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::time::Instant;

use octroi_core::audit::{CallId, Kind};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot, watch};

use super::error::AuditError;

/// The maximum number of queued records. Beyond it, callers wait.
const WAITING_MAX: usize = 16_384;
/// With more calls in progress, several are likely to add a record in the same scheduler turn. Writing them
/// together costs hardly more than writing one.
const BUSY: usize = 4;

/// Returns the number of a record to its caller, or why it was not written.
pub(super) type WriteReply = oneshot::Sender<Result<u64, AuditError>>;

/// A record to be written.
#[derive(Debug)]
pub(super) struct PendingRecord {
    pub(super) body: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) call: Option<CallId>,
    pub(super) wait: Wait,
}

/// What the caller of a record waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Nothing. The record is kept until it can be written.
    Nothing,
    /// That the operating system has it.
    Os(WriteReply),
    /// That it is on disk.
    Disk(WriteReply),
}

/// A job for the writer.
#[derive(Debug)]
pub(super) enum WriterJob {
    /// Write a record.
    Write(PendingRecord),
    /// Reply when everything before is on disk.
    Flush(WriteReply),
    /// Finish everything and end.
    Close(Option<WriteReply>),
}

/// The queue and the state that callers, the writer and the syncer share.
#[derive(Debug)]
pub(super) struct WriteQueue {
    queue: Mutex<Queue>,
    /// The number of queued jobs, so that an empty queue is detected without the lock.
    n_jobs: AtomicUsize,
    /// The number of finished jobs since the start.
    n_done: AtomicU64,
    n_calls_open: AtomicUsize,
    filled: Condvar,
    /// Limits the records that callers wait for.
    free_places: Semaphore,
    /// Limits the others. They are kept while writes fail, and must not block callers that need to learn of
    /// the failure.
    later_room: Semaphore,
    /// The last record that was written to the operating system.
    pub(super) position: watch::Receiver<u64>,
    /// The last checkpoint.
    pub(super) checkpoint: watch::Receiver<Option<Arc<str>>>,
    /// Why the last write failed, if it did.
    health: Mutex<Option<AuditError>>,
    is_ill: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<WriterJob>,
    /// The number of jobs since the start.
    n_ever: u64,
    /// Whether the thread was woken.
    is_woken: bool,
    is_closed: bool,
}

/// The kind of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuedWork {
    /// The queue is empty.
    Nothing,
    /// Records to write.
    Records,
    /// Jobs that only the thread may do.
    Orders,
}

impl WriteQueue {
    pub(super) fn new(position: watch::Receiver<u64>, checkpoint: watch::Receiver<Option<Arc<str>>>) -> Self {
        Self {
            queue: Mutex::new(Queue::default()),
            n_jobs: AtomicUsize::new(0),
            n_done: AtomicU64::new(0),
            n_calls_open: AtomicUsize::new(0),
            filled: Condvar::new(),
            free_places: Semaphore::new(WAITING_MAX),
            later_room: Semaphore::new(WAITING_MAX),
            position,
            checkpoint,
            health: Mutex::new(None),
            is_ill: AtomicBool::new(false),
        }
    }

    /// Why the last write failed, if it did.
    pub(super) fn health(&self) -> Option<AuditError> {
        self.health.lock().clone()
    }

    /// Stores a failure; returns whether it is new.
    pub(super) fn set_ill(&self, error: &AuditError) -> bool {
        let mut health = self.health.lock();
        self.is_ill.store(true, Ordering::Release);
        health.replace(error.clone()).is_none()
    }

    /// Clears the failure.
    pub(super) fn set_well(&self) {
        if self.is_ill.load(Ordering::Acquire) {
            let mut health = self.health.lock();
            self.is_ill.store(false, Ordering::Release);
            *health = None;
        }
    }

    /// Waits for space, then adds a record. The caller must see that it is written. Returns the job's number.
    pub(super) async fn add(&self, pending: PendingRecord) -> Result<u64, AuditError> {
        let free_places = match pending.wait {
            Wait::Nothing => &self.later_room,
            Wait::Os(_) | Wait::Disk(_) => &self.free_places,
        };
        let permit = match free_places.try_acquire() {
            Ok(permit) => permit,
            // Boxed, because it is rare and every record would reserve space for it.
            Err(_) => Box::pin(free_places.acquire()).await.map_err(|_| AuditError::Closed)?,
        };
        permit.forget();
        self.push(WriterJob::Write(pending))
    }

    /// Adds a job for the thread.
    pub(super) fn order(&self, job: WriterJob) -> Result<(), AuditError> {
        self.push(job)?;
        self.wake();
        Ok(())
    }

    fn push(&self, job: WriterJob) -> Result<u64, AuditError> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(AuditError::Closed);
        }
        queue.jobs.push(job);
        queue.n_ever += 1;
        let number = queue.n_ever;
        self.n_jobs.store(queue.jobs.len(), Ordering::Relaxed);
        drop(queue);
        // The current writer either sees this after releasing the writer, or has already released it.
        fence(Ordering::SeqCst);
        Ok(number)
    }

    /// Counts finished jobs.
    pub(super) fn done(&self, n_jobs: usize) {
        self.n_done.fetch_add(n_jobs as u64, Ordering::Release);
    }

    /// Whether a job is finished: its record was written or kept, or its caller got the error.
    pub(super) fn is_done(&self, number: u64) -> bool {
        self.n_done.load(Ordering::Acquire) >= number
    }

    pub(super) fn set_calls_open(&self, n_calls: usize) {
        self.n_calls_open.store(n_calls, Ordering::Relaxed);
    }

    /// Whether many callers add records.
    pub(super) fn is_busy(&self) -> bool {
        self.n_calls_open.load(Ordering::Relaxed) > BUSY
    }

    /// Wakes the thread.
    pub(super) fn wake(&self) {
        self.queue.lock().is_woken = true;
        self.filled.notify_one();
    }

    /// Waits until the thread is woken, or until a time, if one is given.
    pub(super) fn wait(&self, until: Option<Instant>) {
        let mut queue = self.queue.lock();
        while !queue.is_woken {
            match until {
                None => self.filled.wait(&mut queue),
                Some(until) => {
                    if self.filled.wait_until(&mut queue, until).timed_out() {
                        break;
                    }
                }
            }
        }
        queue.is_woken = false;
    }

    /// Takes all jobs. After a job to close, none is accepted: it would never be written.
    pub(super) fn take(&self, jobs: &mut Vec<WriterJob>) {
        let mut queue = self.queue.lock();
        std::mem::swap(&mut queue.jobs, jobs);
        queue.is_closed |= jobs.iter().any(|job| matches!(job, WriterJob::Close(_)));
        self.n_jobs.store(0, Ordering::Relaxed);
    }

    /// Whether the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        self.n_jobs.load(Ordering::Relaxed) == 0
    }

    /// Takes all jobs, if all of them are records.
    pub(super) fn take_records(&self, jobs: &mut Vec<WriterJob>) -> bool {
        let mut queue = self.queue.lock();
        let is_for_all = queue.jobs.iter().all(|job| matches!(job, WriterJob::Write(_)));
        if is_for_all {
            std::mem::swap(&mut queue.jobs, jobs);
            self.n_jobs.store(0, Ordering::Relaxed);
        }
        is_for_all
    }

    /// The kind of queued work.
    pub(super) fn waiting(&self) -> QueuedWork {
        if self.is_empty() {
            return QueuedWork::Nothing;
        }
        let queue = self.queue.lock();
        match queue.jobs.as_slice() {
            [] => QueuedWork::Nothing,
            jobs if jobs.iter().all(|job| matches!(job, WriterJob::Write(_))) => QueuedWork::Records,
            _ => QueuedWork::Orders,
        }
    }

    /// Releases queue space.
    pub(super) fn release(&self, n_awaited: usize, n_later: usize) {
        self.free_places.add_permits(n_awaited);
        self.later_room.add_permits(n_later);
    }

    /// Refuses new jobs, and fails waiting callers.
    pub(super) fn shut(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        let jobs = std::mem::take(&mut queue.jobs);
        self.n_jobs.store(0, Ordering::Relaxed);
        drop(queue);
        self.free_places.close();
        self.later_room.close();
        // Dropping their reply channels fails the callers.
        drop(jobs);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn record() -> PendingRecord {
        PendingRecord { body: b"{}".to_vec(), kind: Kind::PolicyDecision, call: None, wait: Wait::Nothing }
    }

    #[test]
    fn nothing_is_accepted_after_the_job_to_close() {
        let shared = WriteQueue::new(watch::channel(0).1, watch::channel(None).1);
        let add = || shared.add(record()).now_or_never().unwrap();
        assert_eq!(add().unwrap(), 1);
        shared.order(WriterJob::Close(None)).unwrap();
        assert_eq!(add().unwrap(), 3, "until the thread has taken the order");
        let mut jobs = Vec::new();
        shared.take(&mut jobs);
        assert!(
            matches!(jobs.as_slice(), [WriterJob::Write(_), WriterJob::Close(None), WriterJob::Write(_)]),
            "{jobs:?}"
        );
        assert!(matches!(add(), Err(AuditError::Closed)), "nobody would write it");
        assert!(shared.is_empty());
    }
}

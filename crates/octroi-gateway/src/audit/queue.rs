//! What waits to be written, and how callers and the thread that writes wake each other.
//!
//! Whoever brings a record writes it, and all that wait, if nobody else is just doing that: to wake the thread for
//! every record and be woken by it again would cost more than to write. Here waits what somebody else is to write,
//! what is to be on disk, and while much is going on what the calls of one thread bring in one turn of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::time::Instant;

use octroi_core::audit::{CallId, Kind};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot, watch};

use super::error::AuditError;

/// So many records may wait. Then whoever wants to add one waits himself.
const WAITING_MAX: usize = 16_384;
/// With more calls under way it is likely that several bring a record in the same turn of a thread. To write them
/// together costs hardly more than to write one.
const BUSY: usize = 4;

/// Tells somebody which number his record got, or why it was not written.
pub(super) type Answer = oneshot::Sender<Result<u64, AuditError>>;

/// A record on its way.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) body: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) call: Option<CallId>,
    pub(super) wait: Wait,
}

/// What somebody waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Nothing. The record is kept until it can be written.
    Nothing,
    /// That the operating system has it.
    Os(Answer),
    /// That it is on disk.
    Disk(Answer),
}

/// Something for the writer to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Write a record.
    Write(Pending),
    /// Say when everything before is on disk.
    Flush(Answer),
    /// Finish everything and end.
    Close(Option<Answer>),
}

/// What callers, the writer and the syncer share.
#[derive(Debug)]
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// How many jobs are in the queue, for those who only want to know that there are none.
    n_jobs: AtomicUsize,
    /// How many jobs were done, ever.
    n_done: AtomicU64,
    n_calls_open: AtomicUsize,
    filled: Condvar,
    /// Room for records that somebody waits for.
    room: Semaphore,
    /// Room for the others. They are kept while nothing can be written, and must not be in the way of
    /// those who want to hear of the failure.
    later_room: Semaphore,
    /// The last record that was handed to the operating system.
    pub(super) position: watch::Receiver<u64>,
    /// The last checkpoint.
    pub(super) checkpoint: watch::Receiver<Option<Arc<str>>>,
    /// Why nothing could be written, the last time it was tried.
    health: Mutex<Option<AuditError>>,
    is_ill: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: Vec<Job>,
    /// How many there were, ever.
    n_ever: u64,
    /// The thread has something to look at.
    is_woken: bool,
    is_closed: bool,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Nothing.
    Nothing,
    /// Records to write.
    Records,
    /// Something that is for the thread.
    Orders,
}

impl Shared {
    pub(super) fn new(position: watch::Receiver<u64>, checkpoint: watch::Receiver<Option<Arc<str>>>) -> Self {
        Self {
            queue: Mutex::new(Queue::default()),
            n_jobs: AtomicUsize::new(0),
            n_done: AtomicU64::new(0),
            n_calls_open: AtomicUsize::new(0),
            filled: Condvar::new(),
            room: Semaphore::new(WAITING_MAX),
            later_room: Semaphore::new(WAITING_MAX),
            position,
            checkpoint,
            health: Mutex::new(None),
            is_ill: AtomicBool::new(false),
        }
    }

    /// Why nothing could be written, the last time it was tried.
    pub(super) fn health(&self) -> Option<AuditError> {
        self.health.lock().clone()
    }

    /// Something could not be written. Tells whether that is new.
    pub(super) fn set_ill(&self, error: &AuditError) -> bool {
        let mut health = self.health.lock();
        self.is_ill.store(true, Ordering::Release);
        health.replace(error.clone()).is_none()
    }

    /// Everything could be written.
    pub(super) fn set_well(&self) {
        if self.is_ill.load(Ordering::Acquire) {
            let mut health = self.health.lock();
            self.is_ill.store(false, Ordering::Release);
            *health = None;
        }
    }

    /// Waits for room, then adds a record. Somebody has to see to it that it is written. Tells its number as a job.
    pub(super) async fn add(&self, pending: Pending) -> Result<u64, AuditError> {
        let room = match pending.wait {
            Wait::Nothing => &self.later_room,
            Wait::Os(_) | Wait::Disk(_) => &self.room,
        };
        let permit = match room.try_acquire() {
            Ok(permit) => permit,
            // Boxed, because it hardly ever happens and every record would have room for it.
            Err(_) => Box::pin(room.acquire()).await.map_err(|_| AuditError::Closed)?,
        };
        permit.forget();
        self.push(Job::Write(pending))
    }

    /// Adds something that the thread is to do.
    pub(super) fn order(&self, job: Job) -> Result<(), AuditError> {
        self.push(job)?;
        self.wake();
        Ok(())
    }

    fn push(&self, job: Job) -> Result<u64, AuditError> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(AuditError::Closed);
        }
        queue.jobs.push(job);
        queue.n_ever += 1;
        let number = queue.n_ever;
        self.n_jobs.store(queue.jobs.len(), Ordering::Relaxed);
        drop(queue);
        // Whoever has the writer either sees this after letting go of it, or has let go already.
        fence(Ordering::SeqCst);
        Ok(number)
    }

    /// So many jobs more were done.
    pub(super) fn done(&self, n_jobs: usize) {
        self.n_done.fetch_add(n_jobs as u64, Ordering::Release);
    }

    /// Whether a job was done: its record was written, or is kept, or who waits for it was told why not.
    pub(super) fn is_done(&self, number: u64) -> bool {
        self.n_done.load(Ordering::Acquire) >= number
    }

    pub(super) fn set_calls_open(&self, n_calls: usize) {
        self.n_calls_open.store(n_calls, Ordering::Relaxed);
    }

    /// Whether many bring records.
    pub(super) fn is_busy(&self) -> bool {
        self.n_calls_open.load(Ordering::Relaxed) > BUSY
    }

    /// Has the thread look what there is to do.
    pub(super) fn wake(&self) {
        self.queue.lock().is_woken = true;
        self.filled.notify_one();
    }

    /// Waits until the thread is woken, or until a moment, if one is given.
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

    /// Takes everything there is. After an order to close there is never anything more: nobody would write it.
    pub(super) fn take(&self, jobs: &mut Vec<Job>) {
        let mut queue = self.queue.lock();
        std::mem::swap(&mut queue.jobs, jobs);
        queue.is_closed |= jobs.iter().any(|job| matches!(job, Job::Close(_)));
        self.n_jobs.store(0, Ordering::Relaxed);
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        fence(Ordering::SeqCst);
        self.n_jobs.load(Ordering::Relaxed) == 0
    }

    /// Takes everything there is, if all of it is records.
    pub(super) fn take_records(&self, jobs: &mut Vec<Job>) -> bool {
        let mut queue = self.queue.lock();
        let is_for_all = queue.jobs.iter().all(|job| matches!(job, Job::Write(_)));
        if is_for_all {
            std::mem::swap(&mut queue.jobs, jobs);
            self.n_jobs.store(0, Ordering::Relaxed);
        }
        is_for_all
    }

    /// What there is, as far as anybody may do it.
    pub(super) fn waiting(&self) -> Waiting {
        if self.is_empty() {
            return Waiting::Nothing;
        }
        let queue = self.queue.lock();
        match queue.jobs.as_slice() {
            [] => Waiting::Nothing,
            jobs if jobs.iter().all(|job| matches!(job, Job::Write(_))) => Waiting::Records,
            _ => Waiting::Orders,
        }
    }

    /// Gives room back.
    pub(super) fn release(&self, n_awaited: usize, n_later: usize) {
        self.room.add_permits(n_awaited);
        self.later_room.add_permits(n_later);
    }

    /// Lets nobody in any more, and sends home who waits.
    pub(super) fn shut(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        let jobs = std::mem::take(&mut queue.jobs);
        self.n_jobs.store(0, Ordering::Relaxed);
        drop(queue);
        self.room.close();
        self.later_room.close();
        // Their answers are dropped with them, which is an answer too.
        drop(jobs);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn record() -> Pending {
        Pending { body: b"{}".to_vec(), kind: Kind::PolicyDecision, call: None, wait: Wait::Nothing }
    }

    #[test]
    fn nothing_comes_after_the_order_to_close() {
        let shared = Shared::new(watch::channel(0).1, watch::channel(None).1);
        let add = || shared.add(record()).now_or_never().unwrap();
        assert_eq!(add().unwrap(), 1);
        shared.order(Job::Close(None)).unwrap();
        assert_eq!(add().unwrap(), 3, "until the thread has taken the order");
        let mut jobs = Vec::new();
        shared.take(&mut jobs);
        assert!(matches!(jobs.as_slice(), [Job::Write(_), Job::Close(None), Job::Write(_)]), "{jobs:?}");
        assert!(matches!(add(), Err(AuditError::Closed)), "nobody would write it");
        assert!(shared.is_empty());
    }
}

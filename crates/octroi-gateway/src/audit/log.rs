//! The handle through which all events are recorded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::FutureExt as _;
use octroi_core::Clock;
use octroi_core::audit::{Event, PublicKey, SigningKey};
use octroi_upstream::BackgroundTasks;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tracing::error;

use super::checkpoints::signed_on_disk;
use super::compressor::Compressor;
use super::error::AuditError;
#[cfg(test)]
use super::file::Faults;
use super::format::EVENT_MAX;
use super::found::FoundLog;
use super::queue::{PendingRecord, QueuedWork, Wait, WriteQueue, WriteReply, WriterJob};
use super::recover::{Cut, LogLock};
use super::syncer::{Publisher, Syncer};
use super::unfinished::Unfinished;
use super::walk::LogProblem;
use super::writer::Writer;

/// A write mostly takes a few microseconds; waking up on another thread takes longer than to spin.
const BRIEFLY: Duration = Duration::from_micros(50);

/// The audit log. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct AuditLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<WriteQueue>,
    /// `None` when the log is closed.
    writer: Arc<Mutex<Option<Writer>>>,
    compressor: Arc<Compressor>,
    directory: PathBuf,
    node: String,
    key: Arc<SigningKey>,
    recovered_until: u64,
    clock: Clock,
    /// Work on the log's files that blocks. Made when first used, because a log can be opened without a runtime.
    blocking: OnceLock<BackgroundTasks>,
}

/// The options of a log.
#[derive(Clone, Debug)]
pub struct Options {
    /// The clock.
    pub clock: Clock,
    /// The name of the node of a new log; random by default. An existing log keeps its name.
    pub node: Option<String>,
    /// The size at which a new segment is begun.
    pub segment_bytes: u64,
    /// After how many records a checkpoint is signed.
    pub checkpoint_records: u64,
    /// How long a record may be without a checkpoint.
    pub checkpoint_interval: Duration,
    /// Whether closed segments are compressed, in the background.
    pub compress: bool,
    #[cfg(test)]
    pub(super) faults: Arc<Faults>,
}

impl Options {
    /// The default options.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            node: None,
            segment_bytes: 64 << 20,
            checkpoint_records: 1_000,
            checkpoint_interval: Duration::from_secs(10),
            compress: true,
            #[cfg(test)]
            faults: Arc::default(),
        }
    }
}

/// When a record counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When the operating system has it: it survives the end of this process, however it ends. It
    /// is on disk a few milliseconds later.
    Os,
    /// When it is on disk.
    Disk,
}

/// An opened log, and the state that the last run left.
#[derive(Debug)]
pub struct Opened {
    /// The log.
    pub log: AuditLog,
    /// Calls that were begun and never ended. Their outcome is unknown, which the caller should record.
    pub unfinished: Vec<Unfinished>,
    /// What was truncated from the end, because it was unfinished.
    pub cut: Option<Cut>,
    /// What is wrong with the log. It continues in a new segment anyway.
    pub problems: Vec<LogProblem>,
}

/// What the handle of a log keeps of how it was found.
pub(super) struct LogParts {
    pub(super) lock: LogLock,
    /// Whether closed segments are compressed.
    pub(super) compress: bool,
    pub(super) key: Arc<SigningKey>,
    pub(super) recovered_until: u64,
}

impl AuditLog {
    /// Opens or creates the log in a directory, and starts its threads. Blocks to read the last segment.
    pub fn open(directory: &Path, options: &Options) -> Result<Opened, AuditError> {
        FoundLog::find(directory, options)?.open()
    }

    /// The handle of a log whose threads are to be started.
    pub(super) fn start(parts: LogParts, writer: Writer, publisher: Publisher) -> Result<Self, AuditError> {
        let LogParts { lock, compress, key, recovered_until } = parts;
        let (shared, clock) = (Arc::clone(&writer.shared), writer.clock.clone());
        let (directory, node) = (writer.directory.clone(), writer.node.clone());
        let compressor = Arc::clone(&writer.compressor);
        let compressing = if compress { Some(compressor.start()?) } else { None };
        let writer = start(writer, lock, publisher, compressing)?;
        let blocking = OnceLock::new();
        let inner =
            Inner { shared, writer, compressor, directory, node, key, recovered_until, clock, blocking };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.inner.clock.now_ms()).unwrap_or_default()
    }

    /// Records an event, and waits until it counts as written. Returns its number. If this fails, the
    /// recorded action must not happen.
    pub fn append<'a>(
        &'a self,
        event: &Event<'_>,
        durability: Durability,
    ) -> impl Future<Output = Result<u64, AuditError>> + Send + use<'a> {
        let record = pending(event);
        async move {
            let record = record?;
            if durability == Durability::Os
                && !self.inner.shared.is_busy()
                && let Some(written) = self.inner.write_alone(&record)
            {
                return written;
            }
            let (answer, answered) = oneshot::channel();
            let wait = match durability {
                Durability::Os => Wait::Os(answer),
                Durability::Disk => Wait::Disk(answer),
            };
            self.inner.write(PendingRecord { wait, ..record }).await?;
            answered.await.unwrap_or(Err(AuditError::Closed))
        }
    }

    /// Records an event without waiting for the disk. It is never dropped: while writes fail, it is kept and
    /// retried. Waits only if too many such events are queued already.
    pub fn append_later<'a>(
        &'a self,
        event: &Event<'_>,
    ) -> impl Future<Output = Result<(), AuditError>> + Send + use<'a> {
        let record = pending(event);
        async move { self.inner.write_later(record?).await }
    }

    /// Records an event from a synchronous context. If the queue is full, a task waits for it.
    pub fn append_detached(&self, event: &Event<'_>, tasks: &BackgroundTasks) {
        let record = pending(event);
        let log = self.clone();
        let mut writing = Box::pin(async move { log.inner.write_soon(record?).await });
        let failed = match writing.as_mut().now_or_never() {
            Some(Ok(())) => return,
            Some(Err(error)) => error,
            None => {
                tasks.spawn_on_main("audit-write", async move {
                    if let Err(error) = writing.await {
                        error!(%error, hint = error.hint(), "audit event was not recorded");
                    }
                });
                return;
            }
        };
        error!(error = %failed, hint = failed.hint(), "audit event was not recorded");
    }

    /// Waits until everything so far is on disk.
    pub async fn flush(&self) -> Result<u64, AuditError> {
        let (done, flushed) = oneshot::channel();
        self.inner.shared.order(WriterJob::Flush(done))?;
        flushed.await.unwrap_or(Err(AuditError::Closed))
    }

    /// Writes everything, signs a last checkpoint, and closes the files.
    pub async fn close(&self) -> Result<u64, AuditError> {
        let (done, closed) = oneshot::channel();
        self.inner.shared.order(WriterJob::Close(Some(done)))?;
        let closed = closed.await.unwrap_or(Err(AuditError::Closed));
        if let Some(blocking) = self.inner.blocking.get() {
            blocking.wait().await;
        }
        closed
    }

    /// The number of the last record that was written to the operating system.
    pub fn position(&self) -> u64 {
        *self.inner.shared.position.borrow()
    }

    /// The last record of earlier runs.
    pub(crate) fn recovered_until(&self) -> u64 {
        self.inner.recovered_until
    }

    /// Whether the log is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner.shared.position.has_changed().is_err()
    }

    /// Why writes fail, if they do.
    pub fn health(&self) -> Option<AuditError> {
        self.inner.shared.health()
    }

    /// The newest signed checkpoint, as a note, and each later one: to be sent where the owner of this disk
    /// cannot change it.
    pub fn checkpoints(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.inner.shared.checkpoint.clone()
    }

    /// How many records the newest checkpoint covers that is on disk.
    pub(crate) async fn signed_on_disk(&self) -> Result<u64, AuditError> {
        let (directory, key) = (self.directory().to_owned(), self.public_key());
        self.run_blocking("audit-checkpoint", move || signed_on_disk(&directory, &key)).await
    }

    /// Runs work on the files of the log that blocks.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, AuditError> + Send + 'static,
    ) -> Result<T, AuditError> {
        // The task fails only if the program is ending.
        self.tasks().spawn_blocking_here(name, work).await.unwrap_or(Err(AuditError::Closed))
    }

    /// The owner of that work.
    pub(super) fn tasks(&self) -> &BackgroundTasks {
        self.inner.blocking.get_or_init(|| BackgroundTasks::new(Handle::current()))
    }

    /// The directory of the log.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// The name of this log's node.
    pub fn node(&self) -> &str {
        &self.inner.node
    }

    /// The key for verifying its checkpoints.
    pub fn public_key(&self) -> PublicKey {
        self.inner.key.public()
    }

    pub(super) fn compressor(&self) -> &Compressor {
        &self.inner.compressor
    }

    pub(super) fn positions(&self) -> watch::Receiver<u64> {
        self.inner.shared.position.clone()
    }

    pub(super) fn key(&self) -> &SigningKey {
        &self.inner.key
    }
}

impl Inner {
    /// Writes a record without waiting. A failed write is kept and retried.
    async fn write_later(&self, record: PendingRecord) -> Result<(), AuditError> {
        if self.shared.is_busy() { self.write(record).await } else { self.write_soon(record).await }
    }

    /// The same, without yielding to other tasks first.
    async fn write_soon(&self, record: PendingRecord) -> Result<(), AuditError> {
        if let Some(Ok(_)) = self.write_alone(&record) {
            return Ok(());
        }
        self.shared.add(record).await?;
        self.write_now();
        Ok(())
    }

    /// Writes a record immediately, if no other caller writes or waits and it cannot take long.
    fn write_alone(&self, record: &PendingRecord) -> Option<Result<u64, AuditError>> {
        if !self.shared.is_empty() {
            return None;
        }
        let mut held = self.writer.try_lock_for(BRIEFLY)?;
        let writer = held.as_mut()?;
        let written = writer.is_at_ease().then(|| self.waking(writer, |writer| writer.write_alone(record)));
        drop(held);
        if !self.shared.is_empty() {
            self.write_now();
        }
        written
    }

    /// Writes a record together with others: first, all tasks that are ready on this thread queue theirs.
    async fn write(&self, record: PendingRecord) -> Result<(), AuditError> {
        let number = self.shared.add(record).await?;
        // If this future is dropped while it waits, its record is still written.
        let queued = QueuedRecord { inner: self, number };
        if self.shared.is_busy() {
            tokio::task::yield_now().await;
        }
        drop(queued);
        Ok(())
    }

    /// Writes the queued records, unless another caller is writing or it may take long; then the thread does.
    fn write_now(&self) {
        loop {
            let Some(mut held) = self.writer.try_lock_for(BRIEFLY) else {
                return;
            };
            let Some(writer) = held.as_mut() else {
                return;
            };
            match self.shared.waiting() {
                QueuedWork::Nothing => {}
                QueuedWork::Records if writer.is_at_ease() => self.waking(writer, Writer::write_waiting),
                QueuedWork::Records | QueuedWork::Orders => {
                    self.shared.wake();
                    return;
                }
            }
            drop(held);
            // Callers that queued a record meanwhile rely on this one to write it.
            if self.shared.is_empty() {
                return;
            }
        }
    }

    /// Writes, and wakes the thread if there is work for it now: a deadline, or something slow.
    fn waking<T>(&self, writer: &mut Writer, write: impl FnOnce(&mut Writer) -> T) -> T {
        let was_signed = writer.wakes_at().is_none();
        let written = write(writer);
        if was_signed || !writer.is_at_ease() {
            self.shared.wake();
        }
        written
    }
}

/// A queued record that is to be written with others.
struct QueuedRecord<'a> {
    inner: &'a Inner,
    number: u64,
}

impl Drop for QueuedRecord<'_> {
    fn drop(&mut self) {
        if !self.inner.shared.is_done(self.number) {
            self.inner.write_now();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.shared.order(WriterJob::Close(None));
    }
}

/// Starts the other threads. The writer ends last, and the lock with it: nobody else changes files before that.
#[expect(
    clippy::disallowed_methods,
    reason = "two threads of the log, which end with it: closing joins one, then the other"
)]
fn start(
    writer: Writer,
    lock: LogLock,
    publisher: Publisher,
    compressing: Option<JoinHandle<()>>,
) -> Result<Arc<Mutex<Option<Writer>>>, AuditError> {
    let directory = writer.directory.clone();
    let failed = |error| AuditError::io(&directory, error);
    let syncer = Arc::clone(&writer.syncer);
    let shared = Arc::clone(&writer.shared);
    let syncing = thread::Builder::new()
        .name("audit-sync".to_owned())
        .spawn(move || syncer.run(&shared, publisher))
        .map_err(failed)?;
    let closer = QueueCloser {
        shared: Arc::clone(&writer.shared),
        syncer: Arc::clone(&writer.syncer),
        compressor: Arc::clone(&writer.compressor),
    };
    let shared = Arc::clone(&writer.shared);
    let kept = Arc::new(Mutex::new(Some(writer)));
    let own = Arc::clone(&kept);
    thread::Builder::new()
        .name("audit-write".to_owned())
        .spawn(move || {
            let Some(Closed { writer, done, result }) = work_until_closed(&own, &shared) else {
                return;
            };
            drop(closer);
            let _ = syncing.join();
            let _ = compressing.map(JoinHandle::join);
            let result = result.and_then(|seq| writer.segment.file.sync().map(|()| seq));
            drop((writer, lock));
            if let Some(done) = done {
                let _ = done.send(result);
            }
        })
        .map_err(failed)?;
    Ok(kept)
}

/// A log that was closed.
struct Closed {
    writer: Writer,
    /// Notified of the result when all is done.
    done: Option<WriteReply>,
    result: Result<u64, AuditError>,
}

/// The work that callers do not do themselves: what takes long or is due at some time. At the end, no caller
/// has the writer any more.
fn work_until_closed(writer: &Mutex<Option<Writer>>, shared: &WriteQueue) -> Option<Closed> {
    loop {
        let mut held = writer.lock();
        let writer = held.as_mut()?;
        if let Some((done, result)) = writer.work() {
            return held.take().map(|writer| Closed { writer, done, result });
        }
        let until = writer.wakes_at();
        drop(held);
        // Callers that queued a record while the writer was held rely on this thread.
        if shared.waiting() == QueuedWork::Nothing {
            shared.wait(until);
        }
    }
}

/// Fails all waiting callers when the writer ends, even by a panic: none may wait for a log that is no
/// longer written.
struct QueueCloser {
    shared: Arc<WriteQueue>,
    syncer: Arc<Syncer>,
    compressor: Arc<Compressor>,
}

impl Drop for QueueCloser {
    fn drop(&mut self) {
        self.shared.shut();
        self.syncer.end();
        self.compressor.end();
    }
}

fn pending(event: &Event<'_>) -> Result<PendingRecord, AuditError> {
    let body = event.body();
    if body.len() > EVENT_MAX {
        return Err(AuditError::TooLarge { n_bytes: body.len(), n_max: EVENT_MAX });
    }
    Ok(PendingRecord { body, kind: event.kind, call: event.call, wait: Wait::Nothing })
}

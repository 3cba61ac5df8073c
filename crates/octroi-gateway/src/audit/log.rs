//! The handle through which everything is recorded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use octroi_core::Clock;
use octroi_core::audit::{Event, PublicKey, SigningKey};
use octroi_upstream::BackgroundTasks;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tracing::{error, warn};

use super::checkpoints::CheckpointFile;
use super::error::AuditError;
use super::file::{Faults, create_directory};
use super::format::EVENT_MAX;
use super::queue::{Answer, Job, Pending, Shared, Wait, Waiting};
use super::recover::{Cut, Lock, Recovered, publish_key, recover, signing_key};
use super::syncer::{Publisher, Syncer};
use super::unfinished::{Unfinished, unfinished};
use super::walk::Problem;
use super::writer::{Begin, CheckpointRule, Writer, create_segment};

const NODE_MAX: usize = 64;
/// Who writes is mostly done in a few microseconds; to be told by him, on another thread, takes longer than to wait.
const BRIEFLY: Duration = Duration::from_micros(50);

/// The audit log. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct AuditLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// Gone when the log is closed.
    writer: Arc<Mutex<Option<Writer>>>,
    directory: PathBuf,
    node: String,
    key: Arc<SigningKey>,
    recovered_until: u64,
    clock: Clock,
}

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// What time it is.
    pub clock: Clock,
    /// The name of this node, for a log that is begun; a random one if none is given. A log keeps the
    /// name that it was begun with.
    pub node: Option<String>,
    /// When to begin a new segment.
    pub segment_bytes: u64,
    /// After how many records a checkpoint is signed.
    pub checkpoint_records: u64,
    /// How long a record may be without a checkpoint.
    pub checkpoint_interval: Duration,
    #[cfg(test)]
    pub(super) faults: Arc<Faults>,
}

impl Options {
    /// What is usual.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            node: None,
            segment_bytes: 64 << 20,
            checkpoint_records: 1_000,
            checkpoint_interval: Duration::from_secs(10),
            #[cfg(test)]
            faults: Arc::default(),
        }
    }
}

/// When a record counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When the operating system has it: it survives the end of this process, however that comes. It
    /// is on disk a few milliseconds later.
    Os,
    /// When it is on disk.
    Disk,
}

/// A log that was opened, and what the last run left.
#[derive(Debug)]
pub struct Opened {
    /// The log.
    pub log: AuditLog,
    /// Calls that were begun and never ended. Their outcome is unknown; somebody should record that.
    pub unfinished: Vec<Unfinished>,
    /// What was cut from the end, because it was not finished.
    pub cut: Option<Cut>,
    /// What is wrong with the log. It goes on in a new segment all the same.
    pub problems: Vec<Problem>,
}

impl AuditLog {
    /// Opens the log in a directory, or begins one, and starts the threads that write it. Reads the
    /// last segment, so this may take a moment and must not be done where others wait.
    pub fn open(directory: &Path, options: &Options) -> Result<Opened, AuditError> {
        create_directory(directory)?;
        let lock = Lock::take(directory)?;
        let key = Arc::new(signing_key(directory)?);
        let (checkpoints, signed) = CheckpointFile::open(directory, &key.public())?;
        #[cfg(test)]
        let faults = Arc::clone(&options.faults);
        #[cfg(not(test))]
        let faults = Arc::<Faults>::default();
        let begin = || node_name(options.node.as_deref());
        let recovered = recover(directory, signed.as_ref(), &faults, begin)?;
        publish_key(directory, &recovered.node, &key.public())?;
        let Recovered { node, head, open_calls, segment, last_number, cut, problems } = recovered;
        for problem in &problems {
            error!(problem = %problem, "the audit log was changed or damaged; run `octroi audit verify`");
        }
        if let Some(cut) = cut {
            warn!(audit.segment = cut.segment, n_bytes = cut.n_bytes, "cut an unfinished audit record");
        }
        let problem = problems.first().map(ToString::to_string);
        let begin = Begin {
            directory,
            node: &node,
            number: last_number + 1,
            reason: if problem.is_some() { "damaged" } else { "begun" },
            problem: problem.as_deref(),
            at_ms: u64::try_from(options.clock.now_ms()).unwrap_or_default(),
        };
        let recovered_until = head.seq;
        let must_reopen = segment.is_some();
        let (segment, head) = match segment {
            Some(segment) => (segment, head),
            None => create_segment(&begin, &head, &open_calls, &faults)?,
        };
        let unfinished = unfinished(directory, &open_calls)?;
        let (position, positions) = watch::channel(head.seq);
        let (newest, checkpoint) = watch::channel(None);
        let shared = Arc::new(Shared::new(positions, checkpoint));
        let syncer = Arc::new(Syncer::new(Arc::clone(&segment.file), segment.number));
        let mut writer = Writer {
            directory: directory.to_owned(),
            node: node.clone(),
            segment_bytes: options.segment_bytes,
            checkpoint_rule: CheckpointRule {
                n_records: options.checkpoint_records,
                interval: options.checkpoint_interval,
            },
            signed: signed.map_or(0, |signed| signed.size),
            unsigned_since: Some(options.clock.instant()),
            clock: options.clock.clone(),
            head,
            open_calls,
            segment,
            shared: Arc::clone(&shared),
            syncer,
            position,
            faults,
            buffer: Vec::new(),
            jobs: Vec::new(),
            kept: Vec::new(),
        };
        if must_reopen {
            writer.reopen("opened", cut.map_or(0, |cut| cut.n_bytes))?;
        }
        let publisher = Publisher { key: Arc::clone(&key), file: checkpoints, newest };
        let writer = start(writer, lock, publisher)?;
        let (directory, clock) = (directory.to_owned(), options.clock.clone());
        let inner = Inner { shared, writer, directory, node, key, recovered_until, clock };
        Ok(Opened { log: Self { inner: Arc::new(inner) }, unfinished, cut, problems })
    }

    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.inner.clock.now_ms()).unwrap_or_default()
    }

    /// Records an event, and waits until it counts as written. Tells its number. If this fails, what
    /// was to be recorded must not happen.
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
            self.inner.write(Pending { wait, ..record }).await?;
            answered.await.unwrap_or(Err(AuditError::Closed))
        }
    }

    /// Records an event without waiting for the disk. It is never dropped: while nothing can be
    /// written it is kept and tried again. Waits only if too many such events wait already.
    pub fn append_later<'a>(
        &'a self,
        event: &Event<'_>,
    ) -> impl Future<Output = Result<(), AuditError>> + Send + use<'a> {
        let record = pending(event);
        async move { self.inner.write_later(record?).await }
    }

    /// Records an event from where nobody can wait. If there is no room, a task waits for it.
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
                        error!(%error, hint = error.hint(), "an event was not recorded");
                    }
                });
                return;
            }
        };
        error!(error = %failed, hint = failed.hint(), "an event was not recorded");
    }

    /// Waits until everything so far is on disk.
    pub async fn flush(&self) -> Result<u64, AuditError> {
        let (done, flushed) = oneshot::channel();
        self.inner.shared.order(Job::Flush(done))?;
        flushed.await.unwrap_or(Err(AuditError::Closed))
    }

    /// Writes everything, signs a last checkpoint, and lets go of the files.
    pub async fn close(&self) -> Result<u64, AuditError> {
        let (done, closed) = oneshot::channel();
        self.inner.shared.order(Job::Close(Some(done)))?;
        closed.await.unwrap_or(Err(AuditError::Closed))
    }

    /// The number of the last record that was handed to the operating system.
    pub fn position(&self) -> u64 {
        *self.inner.shared.position.borrow()
    }

    /// The last record that earlier runs left.
    pub(crate) fn recovered_until(&self) -> u64 {
        self.inner.recovered_until
    }

    /// Whether nothing is written any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner.shared.position.has_changed().is_err()
    }

    /// Why nothing can be written, if that is so.
    pub fn health(&self) -> Option<AuditError> {
        self.inner.shared.health()
    }

    /// The newest signed checkpoint, as a note, and each one to come: to be sent where whoever owns
    /// this disk cannot change it.
    pub fn checkpoints(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.inner.shared.checkpoint.clone()
    }

    /// Where the log is.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// The name of the node whose log this is.
    pub fn node(&self) -> &str {
        &self.inner.node
    }

    /// The key that its checkpoints can be checked with.
    pub fn public_key(&self) -> PublicKey {
        self.inner.key.public()
    }

    pub(super) fn positions(&self) -> watch::Receiver<u64> {
        self.inner.shared.position.clone()
    }

    pub(super) fn key(&self) -> &SigningKey {
        &self.inner.key
    }
}

impl Inner {
    /// Writes a record that nobody waits for. What cannot be written now is kept.
    async fn write_later(&self, record: Pending) -> Result<(), AuditError> {
        if self.shared.is_busy() { self.write(record).await } else { self.write_soon(record).await }
    }

    /// The same, without letting others go first.
    async fn write_soon(&self, record: Pending) -> Result<(), AuditError> {
        if let Some(Ok(_)) = self.write_alone(&record) {
            return Ok(());
        }
        self.shared.add(record).await?;
        self.write_now();
        Ok(())
    }

    /// Writes a record at once, if nobody else is writing or waits to, and if it cannot take long.
    fn write_alone(&self, record: &Pending) -> Option<Result<u64, AuditError>> {
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

    /// Writes a record together with those of others: first everybody whose turn it is on this thread brings his own.
    async fn write(&self, record: Pending) -> Result<(), AuditError> {
        let number = self.shared.add(record).await?;
        // Who is dropped while he waits for the others has brought a record all the same.
        let brought = Brought { inner: self, number };
        if self.shared.is_busy() {
            tokio::task::yield_now().await;
        }
        drop(brought);
        Ok(())
    }

    /// Writes what waits, unless somebody is doing that, or it may take long; then the thread does.
    fn write_now(&self) {
        loop {
            let Some(mut held) = self.writer.try_lock_for(BRIEFLY) else {
                return;
            };
            let Some(writer) = held.as_mut() else {
                return;
            };
            match self.shared.waiting() {
                Waiting::Nothing => {}
                Waiting::Records if writer.is_at_ease() => self.waking(writer, Writer::write_waiting),
                Waiting::Records | Waiting::Orders => {
                    self.shared.wake();
                    return;
                }
            }
            drop(held);
            // Who came meanwhile has gone away trusting in us.
            if self.shared.is_empty() {
                return;
            }
        }
    }

    /// Writes, and wakes the thread if there is now something for it: a moment at which it must look, or what takes
    /// longer.
    fn waking<T>(&self, writer: &mut Writer, write: impl FnOnce(&mut Writer) -> T) -> T {
        let was_signed = writer.wakes_at().is_none();
        let written = write(writer);
        if was_signed || !writer.is_at_ease() {
            self.shared.wake();
        }
        written
    }
}

/// A record that waits to be written with others.
struct Brought<'a> {
    inner: &'a Inner,
    number: u64,
}

impl Drop for Brought<'_> {
    fn drop(&mut self) {
        if !self.inner.shared.is_done(self.number) {
            self.inner.write_now();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.shared.order(Job::Close(None));
    }
}

/// Starts both threads. The writer ends last.
fn start(writer: Writer, lock: Lock, publisher: Publisher) -> Result<Arc<Mutex<Option<Writer>>>, AuditError> {
    let directory = writer.directory.clone();
    let failed = |error| AuditError::io(&directory, error);
    let syncer = Arc::clone(&writer.syncer);
    let shared = Arc::clone(&writer.shared);
    let syncing = thread::Builder::new()
        .name("audit-sync".to_owned())
        .spawn(move || syncer.run(&shared, publisher))
        .map_err(failed)?;
    let ending = Ending { shared: Arc::clone(&writer.shared), syncer: Arc::clone(&writer.syncer) };
    let shared = Arc::clone(&writer.shared);
    let kept = Arc::new(Mutex::new(Some(writer)));
    let own = Arc::clone(&kept);
    thread::Builder::new()
        .name("audit-write".to_owned())
        .spawn(move || {
            let Some(Closed { writer, done, result }) = work_until_closed(&own, &shared) else {
                return;
            };
            drop(ending);
            let _ = syncing.join();
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
    /// Who is to be told when all is done, and how it went.
    done: Option<Answer>,
    result: Result<u64, AuditError>,
}

/// What callers do not do themselves: what takes long, and what is due at some moment. In the end nobody else has
/// the writer any more.
fn work_until_closed(writer: &Mutex<Option<Writer>>, shared: &Shared) -> Option<Closed> {
    loop {
        let mut held = writer.lock();
        let writer = held.as_mut()?;
        if let Some((done, result)) = writer.work() {
            return held.take().map(|writer| Closed { writer, done, result });
        }
        let until = writer.wakes_at();
        drop(held);
        // Who came while the writer was held has gone away trusting in us.
        if shared.waiting() == Waiting::Nothing {
            shared.wait(until);
        }
    }
}

/// Sends everybody home when the writer ends, also by a panic: nobody may wait for a log that is not
/// written any more.
struct Ending {
    shared: Arc<Shared>,
    syncer: Arc<Syncer>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.shared.shut();
        self.syncer.end();
    }
}

fn pending(event: &Event<'_>) -> Result<Pending, AuditError> {
    let body = event.body();
    if body.len() > EVENT_MAX {
        return Err(AuditError::TooLarge { n_bytes: body.len(), n_max: EVENT_MAX });
    }
    Ok(Pending { body, kind: event.kind, call: event.call, wait: Wait::Nothing })
}

/// Names go into notes and file headers, so they are kept simple.
fn node_name(wanted: Option<&str>) -> Result<String, AuditError> {
    let Some(node) = wanted else {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(|_| AuditError::NoRandomness)?;
        return Ok(format!("node-{:016x}", u64::from_be_bytes(bytes)));
    };
    let is_plain =
        node.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if is_plain && (1..=NODE_MAX).contains(&node.len()) {
        Ok(node.to_owned())
    } else {
        Err(AuditError::Node { node: node.to_owned() })
    }
}

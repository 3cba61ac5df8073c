//! Takes queued records, chains them, and writes them in batches.
//!
//! State changes only after a write: if one fails, the file is truncated to the last good record, all
//! waiting callers get the error, and the next batch tries again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use octroi_core::Clock;
use octroi_core::audit::merkle::Tree;
use octroi_core::audit::{Actor, Checkpoint, Event, Hash, Kind, Level, chain};
use tokio::sync::watch;
use tracing::error;

use super::carried::Carried;
use super::compressor::Compressor;
use super::error::AuditError;
use super::file::{Faults, LogFile, sync_directory};
use super::format::{FRAME_HEAD, Header, Storage, put_frame, segment_path};
use super::queue::{PendingRecord, Wait, WriteQueue, WriteReply, WriterJob};
use super::syncer::{Syncer, answer};

/// The maximum number of bytes per write.
const CHUNK: usize = 1 << 20;
/// How soon failed records without a waiting caller are retried.
const RETRY: Duration = Duration::from_secs(1);

/// The end of the log: everything that the next record depends on.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// The last record.
    pub(super) seq: u64,
    pub(super) chain: Hash,
    pub(super) tree: Tree,
}

/// When checkpoints are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckpointRule {
    pub(super) n_records: u64,
    pub(super) interval: Duration,
}

/// The segment file that is being written.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) file: Arc<LogFile>,
    /// Where the next frame goes.
    pub(super) offset: u64,
    pub(super) n_records: u64,
    /// Set if there may be data behind the last good record.
    pub(super) needs_cut: bool,
}

/// The writer, which one thread at a time holds.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) directory: PathBuf,
    pub(super) node: String,
    pub(super) segment_bytes: u64,
    pub(super) checkpoint_rule: CheckpointRule,
    pub(super) head: Head,
    pub(super) carried: Carried,
    pub(super) segment: Segment,
    pub(super) shared: Arc<WriteQueue>,
    pub(super) syncer: Arc<Syncer>,
    pub(super) compressor: Arc<Compressor>,
    /// Dropped with the writer, so that followers learn of the end.
    pub(super) position: watch::Sender<u64>,
    pub(super) faults: Arc<Faults>,
    pub(super) buffer: Vec<u8>,
    /// Empty, kept for its capacity.
    pub(super) jobs: Vec<WriterJob>,
    /// Records without a waiting caller that could not be written yet.
    pub(super) kept: Vec<PendingRecord>,
    pub(super) signed: u64,
    /// Since when there are records without a checkpoint.
    pub(super) unsigned_since: Option<Instant>,
    pub(super) clock: Clock,
}

impl Writer {
    /// Writes the queued records, for a caller that adds some. Other jobs must stay for the thread: it would
    /// never learn that the log is closed.
    pub(super) fn write_waiting(&mut self) {
        let mut jobs = std::mem::take(&mut self.jobs);
        if self.shared.take_records(&mut jobs) {
            self.work_on(jobs);
        } else {
            self.jobs = jobs;
        }
    }

    /// Does all queued work. When the log is closed, returns the caller to notify when all is done, and the
    /// result.
    pub(super) fn work(&mut self) -> Option<(Option<WriteReply>, Result<u64, AuditError>)> {
        let mut jobs = std::mem::take(&mut self.jobs);
        self.shared.take(&mut jobs);
        self.work_on(jobs)
    }

    /// Writes one record, for a caller that finds the queue empty. Returns its number.
    pub(super) fn write_alone(&mut self, record: &PendingRecord) -> Result<u64, AuditError> {
        if let Err(error) = self.write_some(std::slice::from_ref(record)) {
            self.refuse(&mut Vec::new(), &error);
            return Err(error);
        }
        self.position.send_replace(self.head.seq);
        self.syncer.written(self.clock.instant(), &mut Vec::new());
        if self.is_checkpoint_due() {
            self.sign();
        }
        Ok(self.head.seq)
    }

    fn work_on(&mut self, mut jobs: Vec<WriterJob>) -> Option<(Option<WriteReply>, Result<u64, AuditError>)> {
        let mut records = std::mem::take(&mut self.kept);
        let mut waiting = Vec::new();
        let n_kept = records.len();
        let n_jobs = jobs.len();
        let (mut n_awaited, mut n_later) = (0, 0);
        let mut close = None;
        for job in jobs.drain(..) {
            match job {
                WriterJob::Write(record) => {
                    match record.wait {
                        Wait::Nothing => n_later += 1,
                        Wait::Os(_) | Wait::Disk(_) => n_awaited += 1,
                    }
                    records.push(record);
                }
                WriterJob::Flush(done) => waiting.push((0, done)),
                WriterJob::Close(done) => close = Some(done),
            }
        }
        self.jobs = jobs;
        let result = self.write_all(&mut records);
        // Kept records keep their space in the queue.
        self.shared.release(n_awaited, (n_later + n_kept).saturating_sub(self.kept.len()));
        match &result {
            Ok(()) if waiting.is_empty() => {}
            Ok(()) => {
                for (seq, _) in &mut waiting {
                    *seq = self.head.seq;
                }
                self.syncer.written(self.clock.instant(), &mut waiting);
            }
            Err(error) => answer(std::mem::take(&mut waiting), &Err(error.clone())),
        }
        self.shared.done(n_jobs);
        if let Some(done) = close {
            self.sign();
            return Some((done, result.map(|()| self.head.seq)));
        }
        if self.is_checkpoint_due() {
            self.sign();
        }
        None
    }

    /// Whether callers can write records themselves, without waiting for the disk.
    pub(super) fn is_at_ease(&self) -> bool {
        let is_roomy = self.segment.offset + CHUNK as u64 <= self.segment_bytes;
        is_roomy
            && self.kept.is_empty()
            && !self.segment.needs_cut
            && !self.syncer.is_suspect(self.segment.number)
    }

    /// When the thread must wake up by itself.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let checkpoint = self.unsigned_since.map(|since| since + self.checkpoint_rule.interval);
        let retry = (!self.kept.is_empty()).then(|| self.clock.instant() + RETRY);
        checkpoint.into_iter().chain(retry).min()
    }

    /// Writes all records, answers callers that wait for the operating system only, and passes the others
    /// to the syncer.
    fn write_all(&mut self, records: &mut Vec<PendingRecord>) -> Result<(), AuditError> {
        let mut for_disk = Vec::new();
        while !records.is_empty() {
            let n_written = match self.write_some(records) {
                Ok(n_written) => n_written,
                Err(error) => {
                    self.refuse(records, &error);
                    return Err(error);
                }
            };
            let mut seq = self.head.seq - n_written as u64;
            self.position.send_replace(self.head.seq);
            for record in records.drain(..n_written) {
                seq += 1;
                match record.wait {
                    Wait::Nothing => {}
                    Wait::Os(answer) => drop(answer.send(Ok(seq))),
                    Wait::Disk(answer) => for_disk.push((seq, answer)),
                }
            }
            self.syncer.written(self.clock.instant(), &mut for_disk);
        }
        Ok(())
    }

    /// Answers all waiting callers with the error, and keeps the records without one.
    fn refuse(&mut self, records: &mut Vec<PendingRecord>, error: &AuditError) {
        if self.shared.set_ill(error) {
            error!(error = %error, "audit log cannot be written; calls are refused until it can");
        }
        for record in records.drain(..) {
            match record.wait {
                Wait::Nothing => self.kept.push(record),
                Wait::Os(answer) | Wait::Disk(answer) => drop(answer.send(Err(error.clone()))),
            }
        }
    }

    /// Writes as many records as fit into one write in this segment, at least one. Returns how many.
    fn write_some(&mut self, records: &[PendingRecord]) -> Result<usize, AuditError> {
        self.make_sound()?;
        if self.is_full_for(&records[0]) {
            self.turn("full", None)?;
        }
        let mut head = self.head.clone();
        let mut n_written = 0;
        self.buffer.clear();
        for record in records {
            let length = FRAME_HEAD + record.body.len();
            let end = self.segment.offset + (self.buffer.len() + length) as u64;
            let is_enough = self.buffer.len() >= CHUNK || end > self.segment_bytes;
            if n_written > 0 && is_enough {
                break;
            }
            head.push(&record.body, &mut self.buffer);
            n_written += 1;
        }
        self.put()?;
        self.head = head;
        self.segment.n_records += n_written as u64;
        self.unsigned_since.get_or_insert_with(|| self.clock.instant());
        if !self.syncer.is_suspect(self.segment.number) {
            self.shared.set_well();
        }
        let first = self.head.seq + 1 - n_written as u64;
        for (seq, record) in (first..).zip(&records[..n_written]) {
            self.carried.note(record.kind, record.call, seq, &record.body);
        }
        self.shared.set_calls_open(self.carried.calls.len());
        Ok(n_written)
    }

    /// Removes the remains of an earlier failure: an incomplete record, or a segment that cannot be trusted.
    fn make_sound(&mut self) -> Result<(), AuditError> {
        if self.segment.needs_cut {
            self.segment.file.cut(self.segment.offset)?;
            self.segment.needs_cut = false;
        }
        if self.syncer.is_suspect(self.segment.number) {
            self.turn("sync_failed", None)?;
        }
        Ok(())
    }

    fn is_full_for(&self, record: &PendingRecord) -> bool {
        let end = self.segment.offset + (FRAME_HEAD + record.body.len()) as u64;
        // The first record of a segment only records that it was opened.
        self.segment.n_records > 1 && end > self.segment_bytes
    }

    /// Writes the buffer at the end of the segment, or nothing.
    fn put(&mut self) -> Result<(), AuditError> {
        let segment = &mut self.segment;
        if let Err(error) = segment.file.write(&self.buffer, segment.offset) {
            segment.needs_cut = segment.file.cut(segment.offset).is_err();
            return Err(error);
        }
        segment.offset += self.buffer.len() as u64;
        Ok(())
    }

    /// Continues in a new segment, which is on disk before any record is written to it.
    pub(super) fn turn(&mut self, reason: &str, problem: Option<&str>) -> Result<(), AuditError> {
        let number = self.segment.number + 1;
        // First the old one: on a power failure now, the end of the log may be lost, but not its middle.
        let synced = self.segment.file.sync();
        let (segment, head) = create_segment(
            &Begin {
                directory: &self.directory,
                node: &self.node,
                number,
                reason,
                problem,
                at_ms: self.now_ms(),
            },
            &self.head,
            &self.carried,
            &self.faults,
        )?;
        // The waiters of the old segment must not be answered by a sync of the new one.
        answer(self.syncer.switch(Arc::clone(&segment.file), number, synced.is_ok()), &synced);
        self.segment = segment;
        self.head = head;
        self.position.send_replace(self.head.seq);
        self.unsigned_since.get_or_insert_with(|| self.clock.instant());
        // Not earlier: only a segment with another one after it on disk may be compressed.
        self.compressor.begin_segment(number);
        Ok(())
    }

    /// Records in the current segment that the log was opened.
    pub(super) fn reopen(&mut self, reason: &str, cut_bytes: u64) -> Result<(), AuditError> {
        let body = opened(self.now_ms(), reason, self.segment.number, &self.carried, cut_bytes, None);
        self.make_sound()?;
        let mut head = self.head.clone();
        self.buffer.clear();
        head.push(&body, &mut self.buffer);
        self.put()?;
        self.segment.file.sync()?;
        self.segment.n_records += 1;
        self.head = head;
        self.position.send_replace(self.head.seq);
        self.unsigned_since.get_or_insert_with(|| self.clock.instant());
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.now_ms()).unwrap_or_default()
    }

    fn is_checkpoint_due(&self) -> bool {
        self.unsigned_since.is_some_and(|since| {
            self.head.seq - self.signed >= self.checkpoint_rule.n_records
                || self.clock.instant().saturating_duration_since(since) >= self.checkpoint_rule.interval
        })
    }

    /// Passes a checkpoint of everything so far to the syncer.
    fn sign(&mut self) {
        if self.unsigned_since.take().is_none() {
            return;
        }
        self.signed = self.head.seq;
        self.syncer.publish(Checkpoint {
            node: self.node.clone(),
            size: self.head.seq,
            root: self.head.tree.root(),
            chain: self.head.chain,
            at_ms: self.now_ms(),
        });
    }
}

impl Head {
    /// Adds a record, and its frame to a buffer.
    fn push(&mut self, body: &[u8], buffer: &mut Vec<u8>) {
        self.seq += 1;
        let leaf = chain::leaf(self.seq, body);
        self.chain = chain::next(self.chain, leaf);
        self.tree.push(leaf);
        put_frame(buffer, self.seq, self.chain, body);
    }
}

/// The parameters of a new segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin<'a> {
    pub(super) directory: &'a std::path::Path,
    pub(super) node: &'a str,
    pub(super) number: u32,
    pub(super) reason: &'a str,
    pub(super) problem: Option<&'a str>,
    pub(super) at_ms: u64,
}

/// Creates a segment that continues after `head`, with its opening record, on disk.
pub(super) fn create_segment(
    begin: &Begin<'_>,
    head: &Head,
    carried: &Carried,
    faults: &Arc<Faults>,
) -> Result<(Segment, Head), AuditError> {
    let path = segment_path(begin.directory, begin.number);
    let header = Header {
        node: begin.node.to_owned(),
        first_seq: head.seq + 1,
        chain: head.chain,
        tree: head.tree.clone(),
    };
    let mut head = head.clone();
    let mut bytes = header.encode(Storage::Plain);
    head.push(&opened(begin.at_ms, begin.reason, begin.number, carried, 0, begin.problem), &mut bytes);
    let create = || {
        let file = LogFile::create(&path, faults)?;
        file.write(&bytes, 0)?;
        file.sync()?;
        sync_directory(begin.directory)?;
        Ok(file)
    };
    let file = create().inspect_err(|_| {
        // An incomplete segment would look like a break. If removal fails, the next attempt truncates it.
        let _ = std::fs::remove_file(&path);
    })?;
    let offset = bytes.len() as u64;
    let file = Arc::new(file);
    Ok((Segment { number: begin.number, file, offset, n_records: 1, needs_cut: false }, head))
}

/// The record that opens a log or a segment.
fn opened(
    at_ms: u64,
    reason: &str,
    segment: u32,
    carried: &Carried,
    cut_bytes: u64,
    problem: Option<&str>,
) -> Vec<u8> {
    let mut context = carried.to_context();
    context["reason"] = reason.into();
    context["segment"] = segment.into();
    if cut_bytes > 0 {
        context["cut_bytes"] = cut_bytes.into();
    }
    if let Some(problem) = problem {
        context["problem"] = problem.into();
    }
    let context = context.to_string();
    let level = if problem.is_some() { Level::Error } else { Level::Info };
    Event { level, context: &context, ..Event::new(at_ms, Kind::AuditOpened, Actor::SYSTEM) }.body()
}

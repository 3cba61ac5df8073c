//! The task of one handler: reads, delivers, retries, and drops what is too old.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use octroi_core::audit::Kind;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::cursor::CursorFile;
use super::delivery::Delivery;
use super::error::HandlerError;
use super::{AuditHandler, HandlerOptions, HandlerState};
use crate::audit::follower::Follower;
use crate::audit::log::AuditLog;
use crate::audit::reader::Record;

/// The maximum number of events in one delivery.
const BATCH: usize = 200;
const BACK_OFF: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1_000 });
const BACK_OFF_MAX: Duration = Duration::from_mins(1);
/// How long to deliver at shutdown; the next run delivers the rest.
const LAST_DELIVERIES: Duration = Duration::from_secs(1);

/// The task and everything it needs.
pub(super) struct HandlerTask {
    pub(super) state: Arc<HandlerState>,
    pub(super) handler: Arc<dyn AuditHandler>,
    pub(super) options: HandlerOptions,
    pub(super) log: AuditLog,
    pub(super) shutdown: CancellationToken,
}

/// The progress of the task.
struct DeliveryPosition {
    follower: Follower,
    checkpoints: watch::Receiver<Option<Arc<str>>>,
    /// Everything up to here is delivered or dropped.
    done: u64,
    /// Dropped records that were not reported yet.
    dropped: Option<(u64, u64)>,
}

impl HandlerTask {
    /// Delivers until the handler is removed or the gateway ends.
    pub(super) async fn until_the_end(self) {
        let cursor = CursorFile::new(self.log.directory(), &self.state.name);
        let mut progress = self.begin(&cursor);
        let delivering = async {
            loop {
                self.skip_old(&mut progress);
                let records = self.next(&mut progress).await;
                let Some(records) = records else { return };
                self.note_gap(&mut progress, &records);
                if !self.deliver(&mut progress, records, &cursor).await && self.log.is_closed() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = self.state.ends.cancelled() => return,
            () = self.shutdown.cancelled() => {}
            () = delivering => return,
        }
        if self.state.is_failing.load(Ordering::Relaxed) {
            return;
        }
        // A batch may have been read and not delivered.
        progress.follower = Follower::new(&self.log, progress.done);
        let rest = async {
            while progress.done < self.log.position() {
                let Ok(records) = progress.follower.next_page(BATCH).await else { return };
                self.note_gap(&mut progress, &records);
                if records.is_empty() || !self.deliver(&mut progress, records, &cursor).await {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_DELIVERIES, rest).await;
    }

    /// Continues where the last run stopped. A new handler gets records from now on.
    fn begin(&self, cursor: &CursorFile) -> DeliveryPosition {
        let position = self.log.position();
        let done = match cursor.load() {
            Ok(Some(done)) => done.min(position),
            Ok(None) => {
                self.save(cursor, position);
                position
            }
            Err(error) => {
                error!(handler = self.state.name, %error, "position of the audit handler is unknown; it starts with new records");
                position
            }
        };
        self.state.last_seq.store(done, Ordering::Relaxed);
        let checkpoints = self.log.checkpoints();
        DeliveryPosition { follower: Follower::new(&self.log, done), checkpoints, done, dropped: None }
    }

    /// Drops records that are too far behind.
    fn skip_old(&self, progress: &mut DeliveryPosition) {
        let position = self.log.position();
        let oldest = position.saturating_sub(self.options.max_lag as u64);
        if progress.done < oldest {
            self.give_up(progress, oldest);
            progress.follower = Follower::new(&self.log, oldest);
        }
    }

    /// Records that were purged or cannot be read count as dropped.
    fn note_gap(&self, progress: &mut DeliveryPosition, records: &[Record]) {
        if let Some(first) = records.first()
            && first.seq > progress.done + 1
        {
            self.give_up(progress, first.seq - 1);
        }
    }

    /// Drops everything up to a record.
    fn give_up(&self, progress: &mut DeliveryPosition, last: u64) {
        let first = progress.done + 1;
        let n_dropped = last + 1 - first;
        self.state.n_dropped.fetch_add(n_dropped, Ordering::Relaxed);
        error!(handler = self.state.name, n_dropped, first, last, "audit handler missed records");
        progress.dropped = Some((progress.dropped.map_or(first, |(first, _)| first), last));
        progress.done = last;
    }

    /// The next records; empty if there is only a checkpoint. `None` when the log has ended.
    async fn next(&self, progress: &mut DeliveryPosition) -> Option<Vec<Record>> {
        if progress.dropped.is_some() {
            // Reported immediately, even if nothing else happens.
            return Some(Vec::new());
        }
        tokio::select! {
            biased;
            page = progress.follower.next_page(BATCH) => match page {
                Ok(page) if page.is_empty() && self.log.is_closed() => None,
                Ok(page) => Some(page),
                Err(error) => {
                    error!(handler = self.state.name, %error, hint = error.hint(), "records cannot be read");
                    if progress.follower.last() > progress.done {
                        self.give_up(progress, progress.follower.last());
                    }
                    tokio::time::sleep(BACK_OFF).await;
                    Some(Vec::new())
                }
            },
            changed = progress.checkpoints.changed() => {
                // The log is closed; the rest is for the next run.
                changed.ok()?;
                progress.checkpoints.mark_changed();
                Some(Vec::new())
            }
        }
    }

    /// Delivers a batch, retrying until it becomes too old. Returns whether it was delivered.
    async fn deliver(
        &self,
        progress: &mut DeliveryPosition,
        records: Vec<Record>,
        cursor: &CursorFile,
    ) -> bool {
        let until = progress.follower.last();
        let batch = self.batch(progress, records);
        let mut pause = BACK_OFF;
        while !batch.is_empty() {
            let delivered = tokio::time::timeout(self.options.timeout, self.handler.handle(&batch)).await;
            let Err(error) = delivered.unwrap_or(Err(HandlerError::Timeout)) else {
                if self.state.is_failing.swap(false, Ordering::Relaxed) {
                    info!(handler = self.state.name, "audit handler works again");
                }
                progress.dropped = None;
                break;
            };
            if !self.state.is_failing.swap(true, Ordering::Relaxed) {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(handler = self.state.name, %error, cause, "audit handler fails, deliveries are retried");
            }
            if self.log.position().saturating_sub(progress.done) > self.options.max_lag as u64 {
                // The batch is read again without records that are too old.
                progress.follower = Follower::new(&self.log, progress.done);
                tokio::time::sleep(pause).await;
                return false;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BACK_OFF_MAX);
        }
        if until > progress.done {
            progress.done = until;
            self.save(cursor, until);
            self.state.last_seq.store(until, Ordering::Relaxed);
        }
        true
    }

    fn batch(&self, progress: &mut DeliveryPosition, records: Vec<Record>) -> Vec<Delivery> {
        let dropped =
            progress.dropped.map(|(first, last)| Delivery::Dropped { first, last, at_ms: self.log.now_ms() });
        let selected = records.into_iter().flat_map(|record| {
            // A decision repeats the record that contains it, so only who names its kind gets it.
            let wants_decision = self.options.names(Kind::PolicyDecision.as_str());
            let decision = wants_decision.then(|| record.decision()).flatten();
            // A record that cannot be parsed is included rather than lost.
            let is_included = record.entry().map_or(true, |entry| self.options.includes(entry.kind.as_str()));
            decision.into_iter().chain(is_included.then_some(record))
        });
        let mut batch: Vec<Delivery> = dropped.into_iter().chain(selected.map(Delivery::Record)).collect();
        if progress.checkpoints.has_changed().unwrap_or(false) {
            let note = progress.checkpoints.borrow_and_update().clone();
            let note = note.filter(|_| self.options.includes("audit_checkpoint"));
            batch.extend(note.map(|note| Delivery::Checkpoint { note, at_ms: self.log.now_ms() }));
        }
        batch
    }

    fn save(&self, cursor: &CursorFile, seq: u64) {
        if let Err(error) = cursor.save(seq) {
            warn!(handler = self.state.name, %error, "position of the audit handler could not be stored");
        }
    }
}

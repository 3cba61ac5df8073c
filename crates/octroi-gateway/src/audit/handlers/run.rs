//! The task of one handler: read, deliver, try again, and give up what is too old.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::cursor::CursorFile;
use super::delivery::Delivery;
use super::error::HandlerError;
use super::{AuditHandler, Post, Wishes};
use crate::audit::follower::Follower;
use crate::audit::log::AuditLog;
use crate::audit::reader::Record;

/// So many are handed over at once.
const BATCH: usize = 200;
const BACK_OFF: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1_000 });
const BACK_OFF_MAX: Duration = Duration::from_mins(1);
/// What is left when the gateway ends may be delivered for so long; the rest by the next run.
const LAST_DELIVERIES: Duration = Duration::from_secs(1);

/// Everything the task needs.
pub(super) struct Run {
    pub(super) post: Arc<Post>,
    pub(super) handler: Arc<dyn AuditHandler>,
    pub(super) wishes: Wishes,
    pub(super) log: AuditLog,
    pub(super) shutdown: CancellationToken,
}

/// Where the task stands.
struct DeliveryPosition {
    follower: Follower,
    checkpoints: watch::Receiver<Option<Arc<str>>>,
    /// Everything up to here is delivered or given up.
    done: u64,
    /// What was given up and not told yet.
    dropped: Option<(u64, u64)>,
}

impl Run {
    /// Delivers until the handler is taken away or the gateway ends.
    pub(super) async fn until_the_end(self) {
        let cursor = CursorFile::new(self.log.directory(), &self.post.name);
        let mut place = self.begin(&cursor);
        let delivering = async {
            loop {
                self.skip_old(&mut place);
                let records = self.next(&mut place).await;
                let Some(records) = records else { return };
                self.note_gap(&mut place, &records);
                if !self.deliver(&mut place, records, &cursor).await && self.log.is_closed() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = self.post.ends.cancelled() => return,
            () = self.shutdown.cancelled() => {}
            () = delivering => return,
        }
        if self.post.is_failing.load(Ordering::Relaxed) {
            return;
        }
        // A batch may have been read and not delivered.
        place.follower = Follower::new(&self.log, place.done);
        let rest = async {
            while place.done < self.log.position() {
                let Ok(records) = place.follower.next_page(BATCH).await else { return };
                self.note_gap(&mut place, &records);
                if records.is_empty() || !self.deliver(&mut place, records, &cursor).await {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_DELIVERIES, rest).await;
    }

    /// Goes on where the last run stopped. A new handler gets what is recorded from now on.
    fn begin(&self, cursor: &CursorFile) -> DeliveryPosition {
        let position = self.log.position();
        let done = match cursor.load() {
            Ok(Some(done)) => done.min(position),
            Ok(None) => {
                self.save(cursor, position);
                position
            }
            Err(error) => {
                error!(handler = self.post.name, %error, "where it stands is not known; it begins now");
                position
            }
        };
        self.post.last_seq.store(done, Ordering::Relaxed);
        let checkpoints = self.log.checkpoints();
        DeliveryPosition { follower: Follower::new(&self.log, done), checkpoints, done, dropped: None }
    }

    /// Gives up what is too far behind.
    fn skip_old(&self, place: &mut DeliveryPosition) {
        let position = self.log.position();
        let oldest = position.saturating_sub(self.wishes.max_lag as u64);
        if place.done < oldest {
            self.give_up(place, oldest);
            place.follower = Follower::new(&self.log, oldest);
        }
    }

    /// Records that were purged, or that cannot be read, are missing like those that came too late.
    fn note_gap(&self, place: &mut DeliveryPosition, records: &[Record]) {
        if let Some(first) = records.first()
            && first.seq > place.done + 1
        {
            self.give_up(place, first.seq - 1);
        }
    }

    /// Everything up to a record will not be delivered.
    fn give_up(&self, place: &mut DeliveryPosition, last: u64) {
        let first = place.done + 1;
        let n_dropped = last + 1 - first;
        self.post.n_dropped.fetch_add(n_dropped, Ordering::Relaxed);
        error!(handler = self.post.name, n_dropped, first, last, "an audit handler never gets some records");
        place.dropped = Some((place.dropped.map_or(first, |(first, _)| first), last));
        place.done = last;
    }

    /// The next records; none if there is only a checkpoint. `None` when the log has ended.
    async fn next(&self, place: &mut DeliveryPosition) -> Option<Vec<Record>> {
        if place.dropped.is_some() {
            // Told at once, also if nothing else happens.
            return Some(Vec::new());
        }
        tokio::select! {
            biased;
            page = place.follower.next_page(BATCH) => match page {
                Ok(page) if page.is_empty() && self.log.is_closed() => None,
                Ok(page) => Some(page),
                Err(error) => {
                    error!(handler = self.post.name, %error, hint = error.hint(), "records cannot be read");
                    if place.follower.last() > place.done {
                        self.give_up(place, place.follower.last());
                    }
                    tokio::time::sleep(BACK_OFF).await;
                    Some(Vec::new())
                }
            },
            changed = place.checkpoints.changed() => {
                // The log is closed; what is left of it is for the next run.
                changed.ok()?;
                place.checkpoints.mark_changed();
                Some(Vec::new())
            }
        }
    }

    /// Hands over a batch, however long it takes, unless it becomes too old. Tells whether it was taken.
    async fn deliver(&self, place: &mut DeliveryPosition, records: Vec<Record>, cursor: &CursorFile) -> bool {
        let until = place.follower.last();
        let batch = self.batch(place, records);
        let mut pause = BACK_OFF;
        while !batch.is_empty() {
            let taken = tokio::time::timeout(self.wishes.timeout, self.handler.handle(&batch)).await;
            let Err(error) = taken.unwrap_or(Err(HandlerError::Timeout)) else {
                if self.post.is_failing.swap(false, Ordering::Relaxed) {
                    info!(handler = self.post.name, "an audit handler takes records again");
                }
                place.dropped = None;
                break;
            };
            if !self.post.is_failing.swap(true, Ordering::Relaxed) {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(handler = self.post.name, %error, cause, "an audit handler takes no records; tried again");
            }
            if self.log.position().saturating_sub(place.done) > self.wishes.max_lag as u64 {
                // The batch is read again without what is too old.
                place.follower = Follower::new(&self.log, place.done);
                tokio::time::sleep(pause).await;
                return false;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BACK_OFF_MAX);
        }
        if until > place.done {
            place.done = until;
            self.save(cursor, until);
            self.post.last_seq.store(until, Ordering::Relaxed);
        }
        true
    }

    fn batch(&self, place: &mut DeliveryPosition, records: Vec<Record>) -> Vec<Delivery> {
        let dropped =
            place.dropped.map(|(first, last)| Delivery::Dropped { first, last, at_ms: self.log.now_ms() });
        let wanted = records.into_iter().filter(|record| {
            // What is not understood is better told than left out.
            record.entry().map_or(true, |entry| self.wishes.wants(entry.kind.as_str()))
        });
        let mut batch: Vec<Delivery> = dropped.into_iter().chain(wanted.map(Delivery::Record)).collect();
        if place.checkpoints.has_changed().unwrap_or(false) {
            let note = place.checkpoints.borrow_and_update().clone();
            let note = note.filter(|_| self.wishes.wants("audit_checkpoint"));
            batch.extend(note.map(|note| Delivery::Checkpoint { note, at_ms: self.log.now_ms() }));
        }
        batch
    }

    fn save(&self, cursor: &CursorFile, seq: u64) {
        if let Err(error) = cursor.save(seq) {
            warn!(handler = self.post.name, %error, "where an audit handler stands is not kept");
        }
    }
}

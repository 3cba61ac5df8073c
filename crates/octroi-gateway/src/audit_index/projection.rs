//! Copies the log into the search index, with a small delay and in batches.
//!
//! On a separate thread of a lower priority: reading a page takes milliseconds, which would delay calls.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use octroi_api::ResourceChange;
use octroi_store::{AuditRecord, AuditRecordReader, Store, StoreError};
use octroi_upstream::lower_priority;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::AuditIndex;
use crate::audit::{AuditLog, Follower, Record};

/// The batch size: larger batches would block other writers; smaller ones cost more, since SQLite rewrites
/// the last pages of its tables for each batch.
const PAGE: usize = 2_000;
/// With few cores, calls come first.
const NICENESS: i32 = 10;
/// How long to wait for more records before a batch is copied.
const EVERY: Duration = Duration::from_millis(500);
/// The pause between two full pages.
const BREATH: Duration = Duration::from_millis(10);
const BACK_OFF: Duration = Duration::from_secs(1);
const BACK_OFF_MAX: Duration = Duration::from_mins(1);
/// How long to copy at shutdown. The next run copies the rest.
const LAST_PAGES: Duration = Duration::from_secs(2);

impl AuditIndex {
    /// Copies until the gateway ends, or until its shutdown limit.
    #[expect(clippy::disallowed_methods, reason = "one thread that copies, whose end this waits for")]
    pub(crate) async fn project(self: Arc<Self>, log: AuditLog, store: Arc<Store>) {
        let dropped = CancellationToken::new();
        let _drop = dropped.clone().drop_guard();
        let (done, ended) = oneshot::channel::<()>();
        let copying = move || {
            lower_priority(NICENESS);
            let copied = Builder::new_current_thread().enable_time().build().map(|runtime| {
                runtime.block_on(dropped.run_until_cancelled(self.copy(log, store)));
            });
            if let Err(error) = copied {
                error!(%error, "audit records cannot be searched; restart Octroi");
            }
            drop(done);
        };
        match thread::Builder::new().name("audit-index".to_owned()).spawn(copying) {
            // An error, because nothing is ever sent.
            Ok(_) => drop(ended.await),
            Err(error) => error!(%error, "audit records cannot be searched; restart Octroi"),
        }
    }

    async fn copy(self: Arc<Self>, log: AuditLog, store: Arc<Store>) {
        let Some(mut follower) = self.go_on_projecting(&log, &store).await else {
            return;
        };
        let shutdown = &self.context.shutdown;
        let copying = async {
            loop {
                let is_full = match self.copy_page(&log, &store, &mut follower).await {
                    Some(n_rows) => n_rows == PAGE,
                    None => return,
                };
                let pause = if is_full { BREATH } else { EVERY };
                tokio::select! {
                    () = self.hurry.notified() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = copying => return,
        }
        // A page may have been read and not copied.
        follower = Follower::new(&log, *self.projected.borrow());
        let rest = async {
            while follower.last() < log.position() {
                if self.copy_page(&log, &store, &mut follower).await.is_none() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(LAST_PAGES, rest).await;
    }

    /// Continues where the last run stopped, or from the beginning if the table is new.
    async fn go_on_projecting(&self, log: &AuditLog, store: &Store) -> Option<Follower> {
        let mut pause = BACK_OFF;
        loop {
            match known_until(log, store).await {
                Ok(last) => {
                    self.projected.send_replace(last);
                    return Some(Follower::new(log, last));
                }
                Err(error) => {
                    warn!(%error, hint = %error.hint(), "audit records cannot be searched yet");
                }
            }
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return None,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(BACK_OFF_MAX),
            }
        }
    }

    /// Copies the next records as soon as there are some; returns how many. `None` when the log has ended.
    async fn copy_page(&self, log: &AuditLog, store: &Store, follower: &mut Follower) -> Option<usize> {
        let page = match follower.next_page_here(PAGE).await {
            Ok(page) if page.is_empty() && follower.last() >= log.position() && log.is_closed() => {
                return None;
            }
            Ok(page) => page,
            Err(error) => {
                error!(%error, hint = error.hint(), "audit records cannot be read and will not be found");
                tokio::time::sleep(BACK_OFF).await;
                return Some(0);
            }
        };
        let mut records: Vec<AuditRecord<'_>> = Vec::with_capacity(page.len());
        let mut reader = AuditRecordReader::default();
        records.extend(page.iter().filter_map(|record| read(&mut reader, record)));
        let mut pause = BACK_OFF;
        while let Err(error) = store.append_audit(log.node(), &records).await {
            warn!(%error, hint = %error.hint(), "audit records cannot be searched yet");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BACK_OFF_MAX);
        }
        self.recent.count(&records, self.context.clock.now_ms());
        self.projected.send_replace(follower.last());
        self.announce(&records);
        Some(page.len())
    }

    /// Tells subscribers what these records change.
    fn announce(&self, records: &[AuditRecord<'_>]) {
        self.subscriptions.announce(&ResourceChange::Audit);
        let is_of_call = |record: &AuditRecord<'_>| record.is_of_call();
        if records.iter().any(is_of_call) {
            self.subscriptions.announce(&ResourceChange::Calls);
            if !self.has_seen_calls.swap(true, Ordering::Relaxed) {
                self.subscriptions.announce(&ResourceChange::Attention);
            }
        }
    }
}

/// The last record in the table. A log that lost its end, as by a power failure, may be shorter than the
/// table; newer records then reuse numbers that the table already has.
async fn known_until(log: &AuditLog, store: &Store) -> Result<u64, StoreError> {
    let (last, end) = (store.last_audit_seq(log.node()).await?.unwrap_or_default(), log.recovered_until());
    // A table that is being rebuilt is shorter than the log was known to be.
    let nodes = store.audit_nodes().await?;
    let known = nodes.into_iter().find(|(node, _)| node == log.node()).map_or(0, |(_, known)| known);
    if known > end {
        let n_gone = store.rewind_audit(log.node(), end).await?;
        warn!(n_gone, "removed records from the index that the audit log has lost");
    }
    Ok(last.min(end))
}

/// A record of a newer Octroi may fail to parse.
fn read<'a>(reader: &mut AuditRecordReader<'a>, record: &'a Record) -> Option<AuditRecord<'a>> {
    reader
        .read(record.seq, &record.body)
        .inspect_err(|error| {
            warn!(seq = record.seq, %error, "audit record cannot be parsed and will not be found");
        })
        .ok()
}

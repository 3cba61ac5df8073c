//! Retention: purges old records from the log and from the index.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::audit::Actor;
use octroi_core::config::AuditSection;
use octroi_store::Store;
use tracing::{info, warn};

use super::snapshots::SnapshotWhen;
use super::{AuditIndex, AuditIndexError};
use crate::audit::{AuditLog, LogReader, PurgeLimits, Purged};
use crate::audit_recorder::actor_kind;

/// How often the size of the log is looked at: at the highest load a segment is written in seconds.
const EVERY: Duration = Duration::from_mins(1);
/// How often the age of its records is looked at.
const AGE_EVERY: Duration = Duration::from_hours(1);

impl AuditIndex {
    /// Checks now, regularly, and after each change of the configuration.
    pub(crate) async fn keep_short(self: Arc<Self>, log: AuditLog, store: Arc<Store>) {
        let mut settings = self.settings.subscribe();
        let mut looked_at_age = None;
        loop {
            let (now, now_ms) = (self.context.clock.instant(), self.context.clock.now_ms());
            let has_changed = settings.has_changed().unwrap_or(false);
            let is_due = looked_at_age.is_none_or(|at| now.saturating_duration_since(at) >= AGE_EVERY);
            let AuditSection { retention, max_bytes, .. } = **settings.borrow_and_update();
            let mut limits = PurgeLimits { before_ms: None, max_bytes };
            if has_changed || is_due {
                looked_at_age = Some(now);
                limits.before_ms = retention.map(|retention| before(now_ms, retention).unsigned_abs());
            }
            self.purge_beyond(limits, &log, &store, looked_at_age == Some(now)).await;
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = settings.changed() => settings.mark_changed(),
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Purges what is beyond the configured limits.
    async fn purge_beyond(&self, limits: PurgeLimits, log: &AuditLog, store: &Store, is_age_due: bool) {
        let _purging = self.purging.lock().await;
        let purged = match log.purge(limits, Actor::SYSTEM).await {
            Ok(purged) => purged,
            Err(error) => {
                return warn!(%error, hint = error.hint(), "old audit records could not be purged");
            }
        };
        if purged.n_segments > 0 {
            info!(purged.n_segments, purged.n_records, "old audit records were purged");
            self.record_state(SnapshotWhen::Always).await;
        }
        // Also what an interrupted purge left behind.
        if is_age_due || purged.n_segments > 0 {
            forget_purged(log, store).await;
        }
    }

    /// Purges old records on an operator's request. Whole segments only, and never the one in use.
    pub async fn purge(&self, principal: &Principal, before_ms: u64) -> Result<Purged, AuditIndexError> {
        let (log, store) = self.parts()?;
        let kind = actor_kind(principal);
        let _purging = self.purging.lock().await;
        let limits = PurgeLimits { before_ms: Some(before_ms), max_bytes: None };
        let purged = log.purge(limits, Actor::new(kind, principal.id())).await?;
        if purged.n_segments > 0 {
            self.record_state(SnapshotWhen::Always).await;
        }
        forget_purged(log, store).await;
        Ok(purged)
    }
}

/// The moment from which on records are kept.
fn before(now_ms: i64, retention: Duration) -> i64 {
    now_ms.saturating_sub(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX)).max(0)
}

/// Deletes the rows of purged records.
async fn forget_purged(log: &AuditLog, store: &Store) {
    let directory = log.directory().to_owned();
    let look = log.run_blocking("audit-first-record", move || {
        let mut reader = LogReader::open(&directory)?;
        reader.records(1)?.next().transpose().map(|first| first.map_or(1, |first| first.seq))
    });
    let first = match look.await {
        Ok(first) => first,
        Err(error) => {
            return warn!(%error, hint = error.hint(), "the first record of the audit log could not be read");
        }
    };
    if first > 1
        && let Err(error) = store.purge_audit(log.node(), first).await
    {
        warn!(%error, hint = %error.hint(), "rows of purged records could not be deleted");
    }
}

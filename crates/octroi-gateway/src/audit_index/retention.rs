//! Retention: purges old records from the log and from the index.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::audit::Actor;
use octroi_store::Store;
use tracing::{info, warn};

use super::snapshots::SnapshotWhen;
use super::{AuditIndex, AuditIndexError};
use crate::audit_recorder::actor_kind;
use crate::audit::{AuditError, AuditLog, LogReader, Purged};

const EVERY: Duration = Duration::from_hours(1);

impl AuditIndex {
    /// Checks now, every hour, and after each change of the configuration.
    pub(crate) async fn keep_short(self: Arc<Self>, log: AuditLog, store: Arc<Store>) {
        let mut settings = self.settings.subscribe();
        loop {
            let retention = settings.borrow_and_update().retention;
            let purging = self.purging.lock().await;
            if let Some(retention) = retention {
                let kept_ms = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
                let before_ms =
                    u64::try_from(self.context.clock.now_ms().saturating_sub(kept_ms)).unwrap_or_default();
                match log.purge(before_ms, Actor::SYSTEM).await {
                    Ok(purged) if purged.n_segments > 0 => {
                        info!(purged.n_segments, purged.n_records, "old audit records were purged");
                        self.record_state(SnapshotWhen::Always).await;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        warn!(%error, hint = error.hint(), "old audit records could not be purged");
                    }
                }
            }
            forget_purged(&log, &store).await;
            drop(purging);
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = settings.changed() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Purges old records on an operator's request. Whole segments only, and never the one in use.
    pub async fn purge(&self, principal: &Principal, before_ms: u64) -> Result<Purged, AuditIndexError> {
        let (log, store) = self.parts()?;
        let kind = actor_kind(principal);
        let _purging = self.purging.lock().await;
        let purged = log.purge(before_ms, Actor::new(kind, principal.id())).await?;
        if purged.n_segments > 0 {
            self.record_state(SnapshotWhen::Always).await;
        }
        forget_purged(log, store).await;
        Ok(purged)
    }
}

/// Deletes the rows of purged records.
async fn forget_purged(log: &AuditLog, store: &Store) {
    let directory = log.directory().to_owned();
    let look = tokio::task::spawn_blocking(move || {
        let mut reader = LogReader::open(&directory)?;
        reader.records(1)?.next().transpose().map(|first| first.map_or(1, |first| first.seq))
    });
    // The task fails only if the program is ending.
    let first = look.await.unwrap_or(Err(AuditError::Closed));
    let first = match first {
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

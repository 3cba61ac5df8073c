//! Keeps a snapshot of what the database must not forget in the audit log.

use std::sync::Arc;
use std::time::Duration;

use octroi_core::audit::Kind;
use tracing::error;

use super::AuditIndex;
use crate::state_snapshot::{digest, read_state, to_records};

/// Several changes at once, such as the definitions of a new server, become one snapshot.
const SETTLING: Duration = Duration::from_millis(200);

/// When a snapshot is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotWhen {
    /// If the state differs from the last one.
    Changed,
    /// In any case, because the last one may have been purged.
    Always,
}

impl AuditIndex {
    /// Writes a snapshot after each change, until the gateway ends.
    pub(crate) async fn keep_snapshots(self: Arc<Self>) {
        let Some(persistence) = &self.persistence else {
            return;
        };
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                () = persistence.changed().notified() => {}
            }
            tokio::time::sleep(SETTLING).await;
            self.record_state(SnapshotWhen::Changed).await;
        }
    }

    /// Writes a snapshot. A failure is only reported: what it holds is in the database.
    pub(crate) async fn record_state(&self, when: SnapshotWhen) {
        let (Some(persistence), Some(log)) = (&self.persistence, self.recorder.log()) else {
            return;
        };
        // Held while it is written: two snapshots must not mix their parts.
        let mut last = self.snapshot.lock().await;
        let _ = persistence.flush().await;
        let items = match read_state(persistence.store(), |text| self.recorder.redact(text)).await {
            Ok(items) => items,
            Err(error) => return error!(%error, hint = error.hint(), "no snapshot for the audit log"),
        };
        let digest = digest(&items);
        if when == SnapshotWhen::Changed && last.as_ref() == Some(&digest) {
            return;
        }
        // In the database first: if its number is lower than that of the log, it is an older database.
        let number = match persistence.store().next_snapshot(log.node()).await {
            Ok(number) => number,
            Err(error) => return error!(%error, hint = error.hint(), "no snapshot for the audit log"),
        };
        for context in &to_records(&items, number) {
            let event = self.recorder.system_event(Kind::StateSnapshot, context);
            if let Err(error) = self.recorder.record(&event).await {
                return error!(%error, hint = error.hint(), "no snapshot for the audit log");
            }
        }
        *last = Some(digest);
    }
}

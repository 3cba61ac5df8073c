//! The audit log as it can be asked.

use super::{Engine, Store};
use crate::audit::{AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRecord};
use crate::error::StoreError;

impl Store {
    /// Adds records of a gateway's log, in its order, and passes over those up to the newest that is there already.
    /// Says how many were new. Best with some hundred at once.
    pub async fn append_audit(&self, node: &str, records: &[AuditRecord<'_>]) -> Result<usize, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.append_audit(node, records).await,
        }
    }

    /// Events, the newest first; those before a place, if that is given.
    pub async fn audit_events(
        &self,
        filter: &AuditFilter,
        before: Option<AuditCursor>,
        n_max: u32,
    ) -> Result<AuditPage, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.audit_events(filter, before, n_max).await,
        }
    }

    /// The newest event that is here of a gateway's log: what comes after it is still to be added.
    pub async fn last_audit_seq(&self, node: &str) -> Result<Option<u64>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.last_audit_seq(node).await,
        }
    }

    /// Forgets the events of a gateway before a number, a few thousand at a time, so that others can
    /// write in between. Says how many there were. Counts are kept.
    pub async fn purge_audit(&self, node: &str, before_seq: u64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.purge_audit(node, before_seq).await,
        }
    }

    /// Forgets the events of a gateway after a number, because its log has lost its end: what comes next has numbers
    /// that were given before. Says how many there were. Counts are kept.
    pub async fn rewind_audit(&self, node: &str, last_seq: u64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.rewind_audit(node, last_seq).await,
        }
    }

    /// How many events of each sort there were since a moment, the most frequent first.
    pub async fn audit_counts(&self, since_ms: i64, n_max: u32) -> Result<Vec<AuditCount>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.audit_counts(since_ms, n_max).await,
        }
    }
}

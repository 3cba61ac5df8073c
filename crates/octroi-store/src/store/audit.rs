//! The queryable index of the audit log.

use octroi_core::audit::CallSums;

use super::{Engine, Store};
use crate::audit::{
    AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRecord, CallFilter, CallsOfTool, KnownLog,
};
use crate::error::StoreError;

impl Store {
    /// Appends records of a gateway's log, in order; skips those that are already indexed. Returns how many
    /// were new. Most efficient with a few hundred at once.
    pub async fn append_audit(&self, node: &str, records: &[AuditRecord<'_>]) -> Result<usize, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.append_audit(node, records).await,
        }
    }

    /// Events, the newest first; those before a position, if it is given.
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

    /// The newest indexed sequence number of a gateway's log: later records are still to be added.
    pub async fn last_audit_seq(&self, node: &str) -> Result<Option<u64>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.last_audit_seq(node).await,
        }
    }

    /// The gateways whose logs are known, each with the newest known sequence number. It is higher than that of
    /// [`Self::last_audit_seq`] while the index is being rebuilt.
    pub async fn audit_nodes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.audit_nodes().await,
        }
    }

    /// What is known of the logs besides their records.
    pub async fn known_logs(&self) -> Result<Vec<KnownLog>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.known_logs().await,
        }
    }

    /// Replaces what is known of a log, durably.
    pub async fn save_known_log(&self, known: &KnownLog) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_known_log(known).await,
        }
    }

    /// Takes the next number for a snapshot of this database in a log that is known. When this returns, the
    /// number and everything that was stored before are on disk; so no log has a snapshot of a newer database.
    pub async fn next_snapshot(&self, node: &str) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.next_snapshot(node).await,
        }
    }

    /// Remembers how many records of a known log a checkpoint covers.
    pub async fn note_signed(&self, node: &str, signed_until: u64) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.note_signed(node, signed_until).await,
        }
    }

    /// Deletes the events of a gateway before a sequence number, a few thousand per transaction, so that
    /// others can write in between. Returns how many there were. Counts are kept.
    pub async fn purge_audit(&self, node: &str, before_seq: u64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.purge_audit(node, before_seq).await,
        }
    }

    /// Deletes the events of a gateway after a sequence number, because its log has lost its end and will
    /// reuse the numbers. Returns how many there were. Counts are kept.
    pub async fn rewind_audit(&self, node: &str, last_seq: u64) -> Result<u64, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.rewind_audit(node, last_seq).await,
        }
    }

    /// The number of events by type, agent, tool and decision since a time, the most frequent first.
    pub async fn audit_counts(&self, since_ms: i64, n_max: u32) -> Result<Vec<AuditCount>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.audit_counts(since_ms, n_max).await,
        }
    }

    /// How the calls of a period went, by agent and tool, the most frequent first. The period consists of the spans
    /// of ten minutes that it touches.
    pub async fn calls_by_tool(
        &self,
        filter: &CallFilter,
        n_max: u32,
    ) -> Result<Vec<CallsOfTool>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.calls_by_tool(filter, n_max).await,
        }
    }

    /// How the calls of a period went, by steps of this many spans: the beginning of each step with calls, and sums.
    pub async fn calls_by_time(
        &self,
        filter: &CallFilter,
        n_spans: u32,
    ) -> Result<Vec<(i64, CallSums)>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.calls_by_time(filter, n_spans).await,
        }
    }
}

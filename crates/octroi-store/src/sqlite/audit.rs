//! The index of the audit log: purging, rewinding and counting.

mod append;
mod calls;
mod chunk;
mod filling;
mod known;
mod late;
mod search;

use std::ops::RangeBounds;

use sqlx::{Sqlite as Driver, Transaction};

use super::Sqlite;
use crate::audit::AuditCount;
use crate::error::StoreError;
use chunk::{CHUNK_BITS, Chunk};

/// A block has two to this power positions.
const BLOCK_BITS: u32 = 12;

/// Events are counted in spans of ten minutes: short enough to read the events of one, long enough that
/// the counts of a month are few.
const SPAN_MS: i64 = 10 * 60 * 1_000;

/// The number of chunks that one transaction deletes.
const PURGE_MAX: i64 = 20;

impl Sqlite {
    pub(crate) async fn last_audit_seq(&self, node: &str) -> Result<Option<u64>, StoreError> {
        let seq: Option<Option<i64>> =
            sqlx::query_scalar("SELECT indexed_seq FROM audit_nodes WHERE node = ?")
                .bind(node)
                .fetch_optional(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
        Ok(seq.flatten().map(i64::cast_unsigned))
    }

    pub(crate) async fn audit_nodes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let nodes: Vec<(String, i64)> =
            sqlx::query_as("SELECT node, last_seq FROM audit_nodes WHERE last_seq > 0 ORDER BY node")
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
        Ok(nodes.into_iter().map(|(node, seq)| (node, seq.cast_unsigned())).collect())
    }

    pub(crate) async fn purge_audit(&self, node: &str, before_seq: u64) -> Result<u64, StoreError> {
        let mut n_purged = 0;
        loop {
            let mut transaction = self.begin().await?;
            // The oldest chunks of a gateway come first, so no later ones need to be read.
            let mut chunks: Vec<Chunk> =
                sqlx::query_as("SELECT * FROM audit_chunks WHERE node = ? ORDER BY chunk LIMIT ?")
                    .bind(node)
                    .bind(PURGE_MAX)
                    .fetch_all(&mut *transaction)
                    .await
                    .map_err(|error| self.failed(error))?;
            let n_old = chunks.partition_point(|chunk| chunk.first_seq < before_seq.cast_signed());
            chunks.truncate(n_old);
            for chunk in &chunks {
                n_purged += self.cut_chunk(&mut transaction, chunk, before_seq..).await?;
            }
            for (sql, bits) in FORGET_BEFORE_ALL {
                sqlx::query(sql)
                    .bind(bits)
                    .execute(&mut *transaction)
                    .await
                    .map_err(|error| self.failed(error))?;
            }
            self.commit(transaction).await?;
            if chunks.len() < usize::try_from(PURGE_MAX).unwrap_or(usize::MAX) {
                return Ok(n_purged.cast_unsigned());
            }
        }
    }

    pub(crate) async fn rewind_audit(&self, node: &str, last_seq: u64) -> Result<u64, StoreError> {
        let mut transaction = self.begin().await?;
        let chunks: Vec<Chunk> = sqlx::query_as(
            "SELECT * FROM audit_chunks WHERE node = ?1 AND chunk >= (
                SELECT coalesce(max(chunk), 0) FROM audit_chunks WHERE node = ?1 AND first_seq <= ?2
             )",
        )
        .bind(node)
        .bind(last_seq.cast_signed())
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let mut n_gone = 0;
        for chunk in &chunks {
            n_gone += self.cut_chunk(&mut transaction, chunk, ..=last_seq).await?;
        }
        sqlx::query(
            "UPDATE audit_nodes SET last_seq = min(last_seq, ?1), indexed_seq = min(indexed_seq, ?1)
             WHERE node = ?2",
        )
        .bind(last_seq.cast_signed())
        .bind(node)
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit(transaction).await?;
        Ok(n_gone.cast_unsigned())
    }

    /// Removes all events from a chunk except these; returns how many were removed.
    async fn cut_chunk(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        chunk: &Chunk,
        kept: impl RangeBounds<u64>,
    ) -> Result<i64, StoreError> {
        let rest = chunk.with_only(kept).ok().ok_or_else(self.unreadable("part of the audit log"))?;
        let n_left = rest.as_ref().map_or(0, |rest| rest.n_events);
        if let Some(rest) = rest {
            self.put_chunks(transaction, vec![rest]).await?;
        } else {
            sqlx::query("DELETE FROM audit_chunks WHERE chunk = ?")
                .bind(chunk.number)
                .execute(&mut **transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        Ok(chunk.n_events - n_left)
    }

    pub(crate) async fn audit_counts(
        &self,
        since_ms: i64,
        n_max: u32,
    ) -> Result<Vec<AuditCount>, StoreError> {
        // Whole spans have counts; the partial span before them is counted from its events.
        let first_span = since_ms.div_euclid(SPAN_MS) + i64::from(since_ms.rem_euclid(SPAN_MS) > 0);
        let rows: Vec<(String, String, String, String, i64)> = sqlx::query_as(COUNTS)
            .bind(first_span)
            .bind(since_ms)
            .bind(first_span.saturating_mul(SPAN_MS))
            .bind(BLOCK_BITS - CHUNK_BITS)
            .bind(n_max)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        let unless_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        let count =
            |(event_type, agent, tool, decision, n): (String, String, String, String, i64)| AuditCount {
                event_type,
                agent: unless_empty(agent),
                tool: unless_empty(tool),
                decision: unless_empty(decision),
                n: n.cast_unsigned(),
            };
        Ok(rows.into_iter().map(count).collect())
    }
}

/// Data about events before the first remaining one, with the power of two that converts it to a chunk.
const FORGET_BEFORE_ALL: [(&str, u32); 3] = [
    (
        "DELETE FROM audit_marks WHERE block < (SELECT coalesce(min(chunk) >> ?, 1 << 62) FROM audit_chunks)",
        BLOCK_BITS - CHUNK_BITS,
    ),
    (
        "DELETE FROM audit_blocks WHERE block < (SELECT coalesce(min(chunk) >> ?, 1 << 62) FROM audit_chunks)",
        BLOCK_BITS - CHUNK_BITS,
    ),
    (
        "DELETE FROM audit_late WHERE position < (SELECT coalesce(min(chunk) << ?, 1 << 62) FROM audit_chunks)",
        CHUNK_BITS,
    ),
];

/// Only blocks that reach into the time before the first whole span are read.
const COUNTS: &str = "
    SELECT event_type, agent, tool, decision, CAST(sum(n) AS INTEGER) AS n FROM (
        SELECT event_type, agent, tool, decision, n FROM audit_counts WHERE span >= ?1
        UNION ALL
        SELECT event_type, coalesce(agent, ''), coalesce(tool, ''), coalesce(decision, ''), 1
        FROM audit_blocks CROSS JOIN audit_events
        WHERE last_at_ms >= ?2 AND first_at_ms < ?3
            AND chunk >= block << ?4 AND chunk < (block + 1) << ?4
            AND at_ms >= ?2 AND at_ms < ?3
    )
    GROUP BY event_type, agent, tool, decision
    ORDER BY n DESC, event_type, agent, tool, decision LIMIT ?5";

#[cfg(test)]
mod tests;

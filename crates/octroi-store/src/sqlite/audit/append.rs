//! Adding events, many at once: this runs beside every call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use serde_json::json;
use sqlx::{AssertSqlSafe, Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::chunk::Chunk;
use super::{BLOCK_BITS, SPAN_MS, late};
use crate::audit::AuditRow;
use crate::error::StoreError;

/// How many counts one statement adds. Few sizes, so that each is prepared once and used again.
const SIZES: [usize; 3] = [100, 10, 1];

static ADD_COUNTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    SIZES.map(|n_rows| {
        let rows = vec!["(?, ?, ?, ?, ?, ?)"; n_rows].join(", ");
        format!(
            "INSERT INTO audit_counts (span, event_type, agent, tool, decision, n) VALUES {rows}
             ON CONFLICT DO UPDATE SET n = n + excluded.n"
        )
    })
});

/// The columns that events are looked for by, and blocks are remembered by.
const KINDS: [&str; 6] = ["event_type", "source_type", "tool", "agent", "server", "decision"];

/// What a block is told of the events that were added to it.
#[derive(Default)]
struct Added<'a> {
    times: Option<(i64, i64)>,
    /// How many there were of each sort: those with the same values in the columns above, in the same span of time.
    sorts: HashMap<(i64, [Option<&'a str>; 6]), i64>,
}

impl Sqlite {
    pub(crate) async fn append_audit(&self, rows: &[AuditRow<'_>]) -> Result<usize, StoreError> {
        let mut transaction = self.begin().await?;
        let rows = self.new_rows(&mut transaction, rows).await?;
        let mut blocks: BTreeMap<i64, Added<'_>> = BTreeMap::new();
        let mut chunk = self.last_chunk(&mut transaction).await?;
        for row in &rows {
            let open = match chunk.take() {
                Some(open) if open.has_room_for(row) => open,
                Some(full) => {
                    self.put_chunk(&mut transaction, &full).await?;
                    Chunk::before(full.chunk + 1, row)
                }
                None => Chunk::before(0, row),
            };
            let open = chunk.insert(open);
            let position = open.push(row);
            blocks.entry(position >> BLOCK_BITS).or_default().add(row);
            if let Some(call_id) = row.call_id.as_deref().filter(|call_id| late::is_late(call_id, row.at_ms))
            {
                self.add_late(&mut transaction, call_id, position).await?;
            }
        }
        if let Some(open) = chunk.filter(|_| !rows.is_empty()) {
            self.put_chunk(&mut transaction, &open).await?;
        }
        for (block, added) in &blocks {
            self.mark_block(&mut transaction, *block, added).await?;
        }
        self.count(&mut transaction, &blocks).await?;
        self.commit(transaction).await?;
        Ok(rows.len())
    }

    /// Those that are not there yet, each once, in the order of each log. Remembers how far the logs are known now.
    async fn new_rows<'a>(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        rows: &'a [AuditRow<'a>],
    ) -> Result<Vec<&'a AuditRow<'a>>, StoreError> {
        let mut rows: Vec<&AuditRow<'_>> = rows.iter().collect();
        rows.sort_by_key(|row| (&row.node, row.seq));
        rows.dedup_by_key(|row| (&row.node, row.seq));
        let mut new = Vec::with_capacity(rows.len());
        for of_node in rows.chunk_by(|one, other| one.node == other.node) {
            let Some(last) = of_node.last() else { continue };
            let known: Option<i64> = sqlx::query_scalar("SELECT last_seq FROM audit_nodes WHERE node = ?")
                .bind(&*last.node)
                .fetch_optional(&mut **transaction)
                .await
                .map_err(|error| self.failed(error))?;
            let n_known =
                of_node.partition_point(|row| known.is_some_and(|known| row.seq.cast_signed() <= known));
            new.extend(&of_node[n_known..]);
            sqlx::query(
                "INSERT INTO audit_nodes (node, last_seq) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET last_seq = max(last_seq, ?2)",
            )
            .bind(&*last.node)
            .bind(last.seq.cast_signed())
            .execute(&mut **transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        Ok(new)
    }

    async fn last_chunk(
        &self,
        transaction: &mut Transaction<'static, Driver>,
    ) -> Result<Option<Chunk>, StoreError> {
        sqlx::query_as("SELECT * FROM audit_chunks ORDER BY chunk DESC LIMIT 1")
            .fetch_optional(&mut **transaction)
            .await
            .map_err(|error| self.failed(error))
    }

    pub(super) async fn put_chunk(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        chunk: &Chunk,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT OR REPLACE INTO audit_chunks (chunk, node, first_seq, n_gone, n_events, events)
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(chunk.chunk)
        .bind(&chunk.node)
        .bind(chunk.first_seq)
        .bind(chunk.n_gone)
        .bind(chunk.n_events)
        .bind(&chunk.events)
        .execute(&mut **transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Keeps which times and values a block holds, now that these events are in it.
    async fn mark_block(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        block: i64,
        added: &Added<'_>,
    ) -> Result<(), StoreError> {
        let (first_at_ms, last_at_ms) = added.times.unwrap_or_default();
        sqlx::query(
            "INSERT INTO audit_blocks (block, first_at_ms, last_at_ms) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET first_at_ms = min(first_at_ms, ?2), last_at_ms = max(last_at_ms, ?3)",
        )
        .bind(block)
        .bind(first_at_ms)
        .bind(last_at_ms)
        .execute(&mut **transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query(
            "INSERT INTO audit_marks (block, kind, value)
             SELECT ?, kinds.key, marks.value FROM json_each(?) AS kinds, json_each(kinds.value) AS marks
             WHERE TRUE ON CONFLICT DO NOTHING",
        )
        .bind(block)
        .bind(json!(added.marks()).to_string())
        .execute(&mut **transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Counts events into the spans of time that they belong to.
    async fn count(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        blocks: &BTreeMap<i64, Added<'_>>,
    ) -> Result<(), StoreError> {
        let mut counts: BTreeMap<(i64, [&str; 4]), i64> = BTreeMap::new();
        for ((span, [event_type, _, tool, agent, _, decision]), n) in
            blocks.values().flat_map(|added| &added.sorts)
        {
            let sort = [event_type, agent, tool, decision].map(|value| value.unwrap_or_default());
            *counts.entry((*span, sort)).or_default() += n;
        }
        let counts: Vec<_> = counts.into_iter().collect();
        let mut rest = counts.as_slice();
        for (size, sql) in SIZES.into_iter().zip(ADD_COUNTS.iter()) {
            while let Some((now, later)) = rest.split_at_checked(size) {
                rest = later;
                let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
                for ((span, [event_type, agent, tool, decision]), n) in now {
                    query = query.bind(span).bind(event_type).bind(agent).bind(tool).bind(decision).bind(n);
                }
                query.execute(&mut **transaction).await.map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }
}

impl<'a> Added<'a> {
    fn add(&mut self, row: &'a AuditRow<'_>) {
        let (first, last) = self.times.unwrap_or((row.at_ms, row.at_ms));
        self.times = Some((first.min(row.at_ms), last.max(row.at_ms)));
        let sort = [
            Some(&*row.event_type),
            row.source_type.as_deref(),
            row.tool.as_deref(),
            row.agent.as_deref(),
            row.server.as_deref(),
            row.decision.as_deref(),
        ];
        *self.sorts.entry((row.at_ms.div_euclid(SPAN_MS), sort)).or_default() += 1;
    }

    /// The values of each column.
    fn marks(&self) -> BTreeMap<&'static str, BTreeSet<&'a str>> {
        let mut marks: BTreeMap<&'static str, BTreeSet<&'a str>> = BTreeMap::new();
        for (_, values) in self.sorts.keys() {
            for (kind, value) in KINDS.into_iter().zip(values) {
                marks.entry(kind).or_default().extend(value);
            }
        }
        marks
    }
}

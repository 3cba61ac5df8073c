//! Appending events in batches: this runs alongside every call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use octroi_core::audit::{Entry, Ruling, SourceType};
use serde_json::json;
use sqlx::{AssertSqlSafe, Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::chunk::{CHUNK_BITS, Chunk};
use super::filling::{Filed, Filling};
use super::late::is_late;
use super::{BLOCK_BITS, SPAN_MS};
use crate::audit::{AuditRecord, at_ms};
use crate::error::StoreError;

/// How many rows one statement inserts. Few sizes, so that each is prepared once and reused.
const CHUNKS_AT_ONCE: [usize; 2] = [8, 1];
const COUNTS_AT_ONCE: [usize; 3] = [100, 10, 1];

static PUT_CHUNKS: LazyLock<[String; 2]> = LazyLock::new(|| {
    CHUNKS_AT_ONCE.map(|n_rows| {
        let rows = vec!["(?, ?, ?, ?, ?, ?, ?, ?)"; n_rows].join(", ");
        format!(
            "INSERT OR REPLACE INTO audit_chunks
             (chunk, node, first_seq, n_gone, n_events, base_ms, templates, events) VALUES {rows}"
        )
    })
});

static ADD_COUNTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    COUNTS_AT_ONCE.map(|n_rows| {
        let rows = vec!["(?, ?, ?, ?, ?, ?)"; n_rows].join(", ");
        format!(
            "INSERT INTO audit_counts (span, event_type, agent, tool, decision, n) VALUES {rows}
             ON CONFLICT DO UPDATE SET n = n + excluded.n"
        )
    })
});

/// While the table is made again, the log is known to be longer than the table.
const SAVE_LAST: &str = "
    INSERT INTO audit_nodes (node, last_seq, indexed_seq) VALUES (?1, ?2, ?2)
    ON CONFLICT DO UPDATE SET last_seq = max(last_seq, ?2), indexed_seq = ?2";

/// The filterable columns, whose values are recorded per block.
const KINDS: [&str; 6] = ["event_type", "source_type", "tool", "agent", "server", "decision"];

/// The times and values of events that were added to a block.
#[derive(Default)]
struct Added<'a> {
    times: Option<(i64, i64)>,
    /// Each time span and values in the columns above, with the index of the number of such events.
    sorts: HashMap<(i64, [Option<&'a str>; 6]), usize>,
    counts: Vec<i64>,
    /// There are too many of them to count their events.
    sessions: BTreeSet<&'a str>,
    /// The last chunk, and the sort that the last event with each of its templates had.
    by_template: (i64, Vec<Option<(i64, usize)>>),
}

impl Sqlite {
    pub(crate) async fn append_audit(
        &self,
        node: &str,
        records: &[AuditRecord<'_>],
    ) -> Result<usize, StoreError> {
        let mut transaction = self.begin().await?;
        let records = self.new_records(&mut transaction, node, records).await?;
        let Some(last) = records.last() else { return Ok(0) };
        let last_chunk = self.last_chunk(&mut transaction).await?;
        let mut next = last_chunk.as_ref().map_or(0, |last| last.number + 1);
        // A chunk that cannot be read is left as it is.
        let open = last_chunk.filter(|last| last.has_room_for(node)).map(Filling::resume);
        let mut chunks: Vec<Filling> = open.into_iter().flatten().collect();
        let mut blocks: BTreeMap<i64, Added<'_>> = BTreeMap::new();
        for record in records {
            let chunk = match chunks.last_mut() {
                Some(open) if open.chunk().has_room_for(node) => open,
                Some(_) | None => {
                    next += 1;
                    chunks.push_mut(Filling::new(next - 1, node, record))
                }
            };
            let filed = chunk.add(record);
            blocks.entry(filed.position >> BLOCK_BITS).or_default().add(&record.entry, filed);
            if let Some(call) = record.entry.call.filter(|call| is_late(*call, at_ms(&record.entry))) {
                self.add_late(&mut transaction, call, filed.position).await?;
            }
        }
        self.put_chunks(&mut transaction, chunks.into_iter().map(Filling::into_chunk).collect()).await?;
        for (block, added) in &blocks {
            self.mark_block(&mut transaction, *block, added).await?;
        }
        self.count(&mut transaction, &blocks).await?;
        self.count_calls(&mut transaction, records).await?;
        sqlx::query(SAVE_LAST)
            .bind(node)
            .bind(last.seq.cast_signed())
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.commit(transaction).await?;
        Ok(records.len())
    }

    /// The records that are not in the index yet.
    async fn new_records<'a>(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        node: &str,
        records: &'a [AuditRecord<'a>],
    ) -> Result<&'a [AuditRecord<'a>], StoreError> {
        let known: Option<Option<i64>> =
            sqlx::query_scalar("SELECT indexed_seq FROM audit_nodes WHERE node = ?")
                .bind(node)
                .fetch_optional(&mut **transaction)
                .await
                .map_err(|error| self.failed(error))?;
        let known = known.flatten();
        let n_known =
            records.partition_point(|record| known.is_some_and(|known| record.seq.cast_signed() <= known));
        Ok(&records[n_known..])
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

    pub(super) async fn put_chunks(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        chunks: Vec<Chunk>,
    ) -> Result<(), StoreError> {
        let mut rest = chunks.into_iter();
        for (size, sql) in CHUNKS_AT_ONCE.into_iter().zip(PUT_CHUNKS.iter()) {
            while rest.len() >= size {
                let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
                for chunk in rest.by_ref().take(size) {
                    query = query.bind(chunk.number).bind(chunk.node).bind(chunk.first_seq);
                    query = query.bind(chunk.n_gone).bind(chunk.n_events).bind(chunk.base_ms);
                    query = query.bind(chunk.templates).bind(chunk.events);
                }
                query.execute(&mut **transaction).await.map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }

    /// Records the times and values of these events for their block.
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

    /// Adds the events to the counts of their time spans.
    async fn count(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        blocks: &BTreeMap<i64, Added<'_>>,
    ) -> Result<(), StoreError> {
        let mut counts: BTreeMap<(i64, [&str; 4]), i64> = BTreeMap::new();
        for added in blocks.values() {
            for ((span, [event_type, _, tool, agent, _, decision]), index) in &added.sorts {
                let sort = [event_type, agent, tool, decision].map(|value| value.unwrap_or_default());
                *counts.entry((*span, sort)).or_default() += added.counts[*index];
            }
        }
        let counts: Vec<_> = counts.into_iter().collect();
        let mut rest = counts.as_slice();
        for (size, sql) in COUNTS_AT_ONCE.into_iter().zip(ADD_COUNTS.iter()) {
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
    fn add(&mut self, entry: &'a Entry<'_>, Filed { position, template }: Filed) {
        let at_ms = at_ms(entry);
        let (first, last) = self.times.unwrap_or((at_ms, at_ms));
        self.times = Some((first.min(at_ms), last.max(at_ms)));
        let span = at_ms.div_euclid(SPAN_MS);
        // Events with the same template have the same values, so most need no search.
        let (chunk, by_template) = &mut self.by_template;
        if *chunk != position >> CHUNK_BITS {
            *chunk = position >> CHUNK_BITS;
            by_template.clear();
        }
        if by_template.len() <= template {
            by_template.resize(template + 1, None);
        }
        let sort = match by_template[template] {
            Some((known, sort)) if known == span => sort,
            Some(_) | None => self.sort(entry, span),
        };
        self.by_template.1[template] = Some((span, sort));
        self.counts[sort] += 1;
    }

    /// The index of the number of events like this one.
    fn sort(&mut self, entry: &'a Entry<'_>, span: i64) -> usize {
        let values = [
            Some(entry.kind.as_str()),
            entry.source.map(SourceType::as_str),
            entry.tool.as_deref(),
            entry.agent.as_deref(),
            entry.server.as_deref(),
            entry.ruling.map(Ruling::as_str),
        ];
        self.sessions.extend(entry.session.as_deref());
        let next = self.counts.len();
        let sort = *self.sorts.entry((span, values)).or_insert(next);
        if sort == next {
            self.counts.push(0);
        }
        sort
    }

    /// The distinct values of each column.
    fn marks(&self) -> BTreeMap<&'static str, BTreeSet<&'a str>> {
        let mut marks = BTreeMap::from([("session", self.sessions.clone())]);
        for (_, values) in self.sorts.keys() {
            for (kind, value) in KINDS.into_iter().zip(values) {
                marks.entry(kind).or_default().extend(*value);
            }
        }
        marks
    }
}

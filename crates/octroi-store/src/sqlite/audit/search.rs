//! Searching events, the newest first, in a time that does not depend on their total number.

use octroi_core::audit::{CallId, Entry};
use sqlx::{QueryBuilder, Sqlite as Driver};

use super::super::Sqlite;
use super::BLOCK_BITS;
use super::chunk::{CHUNK_BITS, Chunk, Unpacked, Unreadable};
use crate::audit::{AuditCursor, AuditFilter, AuditPage, AuditRow};
use crate::error::StoreError;

/// The number of blocks that one search reads.
const BLOCKS_MAX: usize = 64;
/// The number of chunks that are read at once.
const CHUNKS_READ: i64 = 4;

/// The matches so far.
struct FoundRecord<'a> {
    filter: &'a AuditFilter,
    before: AuditCursor,
    n_max: usize,
    rows: Vec<(AuditCursor, AuditRow)>,
}

impl Sqlite {
    pub(crate) async fn audit_events(
        &self,
        filter: &AuditFilter,
        before: Option<AuditCursor>,
        n_max: u32,
    ) -> Result<AuditPage, StoreError> {
        let before = before.unwrap_or(AuditCursor::END);
        let mut found = FoundRecord { filter, before, n_max: n_max as usize, rows: Vec::new() };
        let mut next = None;
        if let Some(call_id) = &filter.call_id {
            let chunks = match CallId::parse(call_id) {
                Some(call) => self.chunks_of_call(call, before.position()).await?,
                None => Vec::new(),
            };
            for chunk in chunks {
                if self.look_into(&mut found, chunk, chunk + 1).await? {
                    break;
                }
            }
        } else {
            let mut blocks = self.blocks_with(filter, before.position()).await?;
            // One more block than is read means that there are further results.
            if blocks.len() > BLOCKS_MAX {
                blocks.truncate(BLOCKS_MAX);
                next = blocks.last().map(|block| AuditCursor::before(block << BLOCK_BITS));
            }
            for block in blocks {
                let chunks = BLOCK_BITS - CHUNK_BITS;
                if self.look_into(&mut found, block << chunks, (block + 1) << chunks).await? {
                    break;
                }
            }
        }
        if found.is_full() {
            next = Some(found.rows.last().map_or(before, |(cursor, _)| *cursor));
        }
        let rows = found.rows.into_iter().map(|(_, row)| row).collect();
        Ok(AuditPage { rows, next })
    }

    /// The newest blocks before a position that may contain matches.
    async fn blocks_with(&self, filter: &AuditFilter, before: i64) -> Result<Vec<i64>, StoreError> {
        blocks_query(filter, before)
            .build_query_scalar()
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))
    }

    /// Searches chunks, the newest first; returns whether enough was found.
    async fn look_into(&self, found: &mut FoundRecord<'_>, start: i64, end: i64) -> Result<bool, StoreError> {
        let before = found.before.position();
        let mut end = end.min((before.saturating_sub(1) >> CHUNK_BITS).saturating_add(1));
        while end > start && !found.is_full() {
            let chunks: Vec<Chunk> = sqlx::query_as(CHUNKS)
                .bind(start)
                .bind(end)
                .bind(CHUNKS_READ)
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
            end = chunks.last().map_or(start, |oldest| oldest.number);
            for chunk in chunks {
                found.add(&chunk).ok().ok_or_else(self.unreadable("part of the audit log"))?;
            }
        }
        Ok(found.is_full())
    }
}

impl FoundRecord<'_> {
    fn is_full(&self) -> bool {
        self.rows.len() >= self.n_max
    }

    /// Adds the matching events of a chunk, the newest first.
    fn add(&mut self, chunk: &Chunk) -> Result<(), Unreadable> {
        let Unpacked { templates, events } = chunk.unpack()?;
        // A record of a newer Octroi may fail to parse.
        let templates: Vec<Option<Entry<'_>>> =
            templates.into_iter().map(|text| Entry::parse_text(text).ok()).collect();
        let mut context = String::new();
        for event in events.iter().rev() {
            if self.is_full() {
                break;
            }
            if let Some(template) = &templates[event.template] {
                let entry = event.entry(template, &mut context);
                let cursors = [AuditCursor::at(event.position), AuditCursor::of_decision_at(event.position)];
                let events = cursors.into_iter().zip(self.filter.events(&chunk.node, event.seq, &entry));
                let n_missing = self.n_max - self.rows.len();
                let before = self.before;
                let found = events.filter_map(|(cursor, row)| Some((cursor, row?)));
                self.rows.extend(found.filter(|(cursor, _)| *cursor < before).take(n_missing));
            }
        }
        Ok(())
    }
}

pub(super) const CHUNKS: &str =
    "SELECT * FROM audit_chunks WHERE chunk >= ? AND chunk < ? ORDER BY chunk DESC LIMIT ?";

/// Columns with the value that each must have.
fn equalities(filter: &AuditFilter) -> impl Iterator<Item = (&'static str, &str)> {
    [
        ("source_type", &filter.source_type),
        ("tool", &filter.tool),
        ("agent", &filter.agent),
        ("server", &filter.server),
        ("session", &filter.session),
        ("decision", &filter.decision),
    ]
    .into_iter()
    .filter_map(|(column, value)| value.as_deref().map(|value| (column, value)))
}

pub(super) fn blocks_query(filter: &AuditFilter, before: i64) -> QueryBuilder<Driver> {
    let mut query = QueryBuilder::new("SELECT block FROM audit_blocks WHERE block <= ");
    query.push_bind(before.saturating_sub(1) >> BLOCK_BITS);
    if let Some(since_ms) = filter.since_ms {
        query.push(" AND last_at_ms >= ").push_bind(since_ms);
    }
    if let Some(until_ms) = filter.until_ms {
        query.push(" AND first_at_ms < ").push_bind(until_ms);
    }
    let mark = " AND EXISTS (
        SELECT 1 FROM audit_marks WHERE audit_marks.block = audit_blocks.block AND kind = ";
    for (column, value) in equalities(filter) {
        query.push(mark).push_bind(column).push(" AND value = ").push_bind(value).push(")");
    }
    if !filter.agents.is_empty() {
        query.push(mark).push_bind("agent").push(" AND value ");
        push_one_of(&mut query, &filter.agents.iter().map(String::as_str).collect::<Vec<_>>());
        query.push(")");
    }
    if !filter.event_types.is_empty() {
        query.push(mark).push_bind("event_type").push(" AND value ");
        push_one_of(&mut query, &filter.recorded_types());
        query.push(")");
    }
    query.push(" ORDER BY block DESC LIMIT ").push_bind(i64::try_from(BLOCKS_MAX + 1).unwrap_or(i64::MAX));
    query
}

fn push_one_of(query: &mut QueryBuilder<Driver>, values: &[&str]) {
    query.push("IN (");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind((*value).to_owned());
    }
    query.push(")");
}

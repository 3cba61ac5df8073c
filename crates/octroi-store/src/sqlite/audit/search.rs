//! Looking for events, the newest first, in a time that does not depend on how many there are.

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite as Driver};

use super::super::Sqlite;
use super::BLOCK_BITS;
use crate::audit::{AuditCursor, AuditFilter, AuditPage, AuditRow};
use crate::error::StoreError;

/// One search looks into so many blocks.
const BLOCKS_MAX: usize = 64;

impl Sqlite {
    pub(crate) async fn audit_events(
        &self,
        filter: &AuditFilter,
        before: Option<AuditCursor>,
        n_max: u32,
    ) -> Result<AuditPage, StoreError> {
        let before = before.map_or(i64::MAX, AuditCursor::number);
        let n_max = n_max as usize;
        let mut found: Vec<(i64, AuditRow)> = Vec::new();
        let mut next = None;
        if filter.call_id.is_some() {
            found = self.rows_between(filter, 0, before, n_max).await?;
        } else {
            let mut blocks = self.blocks_with(filter, before).await?;
            // One more than is looked into: there is something left.
            if blocks.len() > BLOCKS_MAX {
                blocks.truncate(BLOCKS_MAX);
                next = blocks.last().map(|block| block << BLOCK_BITS);
            }
            for block in blocks {
                let (start, end) = (block << BLOCK_BITS, (block + 1) << BLOCK_BITS);
                found.extend(self.rows_between(filter, start, end.min(before), n_max - found.len()).await?);
                if found.len() >= n_max {
                    break;
                }
            }
        }
        if found.len() >= n_max {
            next = Some(found.last().map_or(before, |(position, _)| *position));
        }
        let rows = found.into_iter().map(|(_, row)| row).collect();
        Ok(AuditPage { rows, next: next.map(AuditCursor::from_number) })
    }

    /// The newest blocks before a place that may hold what is looked for.
    async fn blocks_with(&self, filter: &AuditFilter, before: i64) -> Result<Vec<i64>, StoreError> {
        blocks_query(filter, before)
            .build_query_scalar()
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))
    }

    /// What is looked for between two places.
    async fn rows_between(
        &self,
        filter: &AuditFilter,
        start: i64,
        before: i64,
        n_max: usize,
    ) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let rows = rows_query(filter, start, before, n_max)
            .build()
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| Ok((self.column(row, "position")?, self.read_audit(row)?))).collect()
    }

    fn read_audit(&self, row: &SqliteRow) -> Result<AuditRow, StoreError> {
        Ok(AuditRow {
            node: self.column(row, "node")?,
            seq: self.column::<i64>(row, "seq")?.cast_unsigned(),
            at_ms: self.column(row, "at_ms")?,
            event_type: self.column(row, "event_type")?,
            level: self.column(row, "level")?,
            actor_kind: self.column(row, "actor_kind")?,
            actor_id: self.column(row, "actor_id")?,
            agent: self.column(row, "agent")?,
            session: self.column(row, "session")?,
            server: self.column(row, "server")?,
            tool: self.column(row, "tool")?,
            source_type: self.column(row, "source_type")?,
            project: self.column(row, "project")?,
            call_id: self.column(row, "call_id")?,
            decision: self.column(row, "decision")?,
            context: self.column(row, "context")?,
        })
    }
}

/// Columns with the value that each must have.
fn equalities(filter: &AuditFilter) -> impl Iterator<Item = (&'static str, &str)> {
    [
        ("source_type", &filter.source_type),
        ("tool", &filter.tool),
        ("agent", &filter.agent),
        ("server", &filter.server),
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
    if !filter.event_types.is_empty() {
        query.push(mark).push_bind("event_type").push(" AND value ");
        push_one_of(&mut query, &filter.event_types);
        query.push(")");
    }
    query.push(" ORDER BY block DESC LIMIT ").push_bind(i64::try_from(BLOCKS_MAX + 1).unwrap_or(i64::MAX));
    query
}

pub(super) fn rows_query(
    filter: &AuditFilter,
    start: i64,
    before: i64,
    n_max: usize,
) -> QueryBuilder<Driver> {
    let mut query = QueryBuilder::new("SELECT * FROM audit_events WHERE position >= ");
    query.push_bind(start).push(" AND position < ").push_bind(before);
    if let Some(call_id) = &filter.call_id {
        query.push(" AND call_id = ").push_bind(call_id);
    }
    if let Some(since_ms) = filter.since_ms {
        query.push(" AND at_ms >= ").push_bind(since_ms);
    }
    if let Some(until_ms) = filter.until_ms {
        query.push(" AND at_ms < ").push_bind(until_ms);
    }
    for (column, value) in equalities(filter) {
        query.push(format_args!(" AND {column} = ")).push_bind(value);
    }
    if !filter.event_types.is_empty() {
        query.push(" AND event_type ");
        push_one_of(&mut query, &filter.event_types);
    }
    if let Some(text) = &filter.text {
        let pattern = like_pattern(text);
        query.push(" AND (context LIKE ").push_bind(pattern.clone()).push(" ESCAPE '\\' OR tool LIKE ");
        query.push_bind(pattern.clone()).push(" ESCAPE '\\' OR actor_id LIKE ").push_bind(pattern);
        query.push(" ESCAPE '\\')");
    }
    query.push(" ORDER BY position DESC LIMIT ").push_bind(i64::try_from(n_max).unwrap_or(i64::MAX));
    query
}

fn push_one_of(query: &mut QueryBuilder<Driver>, values: &[String]) {
    query.push("IN (");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    query.push(")");
}

/// The text anywhere, each letter for itself.
fn like_pattern(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

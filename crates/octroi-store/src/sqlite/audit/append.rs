//! Adding events, many at once: this runs beside every call.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::json;
use sqlx::{AssertSqlSafe, Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::{BLOCK_BITS, SPAN_MS};
use crate::audit::AuditRow;
use crate::error::StoreError;

/// How many rows one statement adds. Few sizes, so that each is prepared once and used again.
const SIZES: [usize; 3] = [100, 10, 1];

static ADD_EVENTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    SIZES.map(|n_rows| {
        let rows = places(7, n_rows);
        format!("INSERT INTO audit_rows (position, node, seq, at_ms, call_id, head, context) VALUES {rows}")
    })
});

static ADD_COUNTS: LazyLock<[String; 3]> = LazyLock::new(|| {
    SIZES.map(|n_rows| {
        let rows = places(6, n_rows);
        format!(
            "INSERT INTO audit_counts (span, event_type, agent, tool, decision, n) VALUES {rows}
             ON CONFLICT DO UPDATE SET n = n + excluded.n"
        )
    })
});

impl Sqlite {
    pub(crate) async fn append_audit(&self, rows: &[AuditRow]) -> Result<usize, StoreError> {
        let mut transaction = self.begin().await?;
        let rows = self.new_rows(&mut transaction, rows).await?;
        let last: Option<i64> = sqlx::query_scalar("SELECT max(position) FROM audit_rows")
            .fetch_one(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let first_position = last.unwrap_or_default() + 1;
        self.add_events(&mut transaction, first_position, &rows).await?;
        let mut rest = rows.as_slice();
        let mut position = first_position;
        while let Some(first) = rest.first() {
            let block = position >> BLOCK_BITS;
            let in_block = ((block + 1) << BLOCK_BITS) - position;
            let (now, later) = rest.split_at(rest.len().min(usize::try_from(in_block).unwrap_or(usize::MAX)));
            self.mark_block(&mut transaction, block, first.at_ms, now).await?;
            (rest, position) = (later, position + in_block);
        }
        self.count(&mut transaction, &rows).await?;
        self.commit(transaction).await?;
        Ok(rows.len())
    }

    /// Those that are not there yet, each once.
    async fn new_rows<'a>(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        rows: &'a [AuditRow],
    ) -> Result<Vec<&'a AuditRow>, StoreError> {
        let mut ranges: HashMap<&str, (u64, u64)> = HashMap::new();
        for row in rows {
            let (least, most) = ranges.entry(&row.node).or_insert((row.seq, row.seq));
            (*least, *most) = ((*least).min(row.seq), (*most).max(row.seq));
        }
        let mut known: HashSet<(&str, u64)> = HashSet::with_capacity(rows.len());
        for (node, (least, most)) in ranges {
            // Mostly none: the log is read once, from front to back.
            let seqs: Vec<i64> =
                sqlx::query_scalar("SELECT seq FROM audit_rows WHERE node = ? AND seq BETWEEN ? AND ?")
                    .bind(node)
                    .bind(least.cast_signed())
                    .bind(most.cast_signed())
                    .fetch_all(&mut **transaction)
                    .await
                    .map_err(|error| self.failed(error))?;
            known.extend(seqs.into_iter().map(|seq| (node, seq.cast_unsigned())));
        }
        Ok(rows.iter().filter(|row| known.insert((&row.node, row.seq))).collect())
    }

    async fn add_events(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        first_position: i64,
        rows: &[&AuditRow],
    ) -> Result<(), StoreError> {
        let mut position = first_position;
        let mut rest = rows;
        for (size, sql) in SIZES.into_iter().zip(ADD_EVENTS.iter()) {
            while let Some((now, later)) = rest.split_at_checked(size) {
                rest = later;
                let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
                for row in now {
                    query = query
                        .bind(position)
                        .bind(&row.node)
                        .bind(row.seq.cast_signed())
                        .bind(row.at_ms)
                        .bind(row.call_id.as_deref())
                        .bind(head_of(row))
                        .bind(&row.context);
                    position += 1;
                }
                query.execute(&mut **transaction).await.map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }

    /// Keeps which times and values a block holds, now that these rows are in it.
    async fn mark_block(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        block: i64,
        at_ms: i64,
        rows: &[&AuditRow],
    ) -> Result<(), StoreError> {
        let (mut first_at_ms, mut last_at_ms) = (at_ms, at_ms);
        let mut values: [HashSet<&str>; 6] = Default::default();
        for row in rows {
            (first_at_ms, last_at_ms) = (first_at_ms.min(row.at_ms), last_at_ms.max(row.at_ms));
            for (values, value) in values.iter_mut().zip(marks_of(row)) {
                values.extend(value);
            }
        }
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
        let lists = KINDS.into_iter().zip(values);
        let marks: serde_json::Map<_, _> = lists
            .map(|(kind, values)| (kind.to_owned(), json!(values.into_iter().collect::<Vec<_>>())))
            .collect();
        sqlx::query(
            "INSERT INTO audit_marks (block, kind, value)
             SELECT ?, kinds.key, marks.value FROM json_each(?) AS kinds, json_each(kinds.value) AS marks
             WHERE TRUE ON CONFLICT DO NOTHING",
        )
        .bind(block)
        .bind(serde_json::Value::Object(marks).to_string())
        .execute(&mut **transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Counts rows into the spans of time that they belong to.
    async fn count(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        rows: &[&AuditRow],
    ) -> Result<(), StoreError> {
        let mut counts: HashMap<(i64, [&str; 4]), i64> = HashMap::new();
        for row in rows {
            let [agent, tool, decision] =
                [&row.agent, &row.tool, &row.decision].map(|value| value.as_deref().unwrap_or_default());
            let sort = [row.event_type.as_str(), agent, tool, decision];
            *counts.entry((row.at_ms.div_euclid(SPAN_MS), sort)).or_default() += 1;
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

/// The columns that rows are looked for by, and blocks are remembered by.
const KINDS: [&str; 6] = ["event_type", "source_type", "tool", "agent", "server", "decision"];

/// The values of these columns.
fn marks_of(row: &AuditRow) -> [Option<&str>; 6] {
    [
        Some(&row.event_type),
        row.source_type.as_deref(),
        row.tool.as_deref(),
        row.agent.as_deref(),
        row.server.as_deref(),
        row.decision.as_deref(),
    ]
}

/// The short values of a row in the order of the columns that read them.
fn head_of(row: &AuditRow) -> String {
    let values = [
        Some(&row.event_type),
        Some(&row.level),
        Some(&row.actor_kind),
        Some(&row.actor_id),
        row.agent.as_ref(),
        row.session.as_ref(),
        row.server.as_ref(),
        row.tool.as_ref(),
        row.source_type.as_ref(),
        row.project.as_ref(),
        row.decision.as_ref(),
    ];
    serde_json::to_string(&values).unwrap_or_default()
}

/// Places for the values of so many rows.
fn places(n_columns: usize, n_rows: usize) -> String {
    let row = format!("({})", vec!["?"; n_columns].join(", "));
    vec![row; n_rows].join(", ")
}

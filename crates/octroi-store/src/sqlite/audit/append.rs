//! Adding events, many at once: this runs beside every call.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::json;
use sqlx::{AssertSqlSafe, Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::{BLOCK_BITS, HOUR_MS};
use crate::audit::AuditRow;
use crate::error::StoreError;

/// How many rows one statement adds. Few sizes, so that each is prepared once and used again.
const SIZES: [usize; 3] = [100, 10, 1];

static STATEMENTS: LazyLock<[String; 3]> = LazyLock::new(|| SIZES.map(statement));

impl Sqlite {
    pub(crate) async fn append_audit(&self, rows: &[AuditRow]) -> Result<usize, StoreError> {
        let mut transaction = self.begin().await?;
        let rows = self.new_rows(&mut transaction, rows).await?;
        let last: Option<i64> = sqlx::query_scalar("SELECT max(position) FROM audit_events")
            .fetch_one(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let first_position = last.unwrap_or_default() + 1;

        let mut position = first_position;
        let mut rest = rows.as_slice();
        for (size, sql) in SIZES.into_iter().zip(STATEMENTS.iter()) {
            while let Some((now, later)) = rest.split_at_checked(size) {
                rest = later;
                let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
                for row in now {
                    query = query
                        .bind(position)
                        .bind(&row.node)
                        .bind(row.seq.cast_signed())
                        .bind(row.at_ms)
                        .bind(&row.event_type)
                        .bind(&row.level)
                        .bind(&row.actor_kind)
                        .bind(&row.actor_id)
                        .bind(row.agent.as_deref())
                        .bind(row.session.as_deref())
                        .bind(row.server.as_deref())
                        .bind(row.tool.as_deref())
                        .bind(row.source_type.as_deref())
                        .bind(row.project.as_deref())
                        .bind(row.call_id.as_deref())
                        .bind(row.decision.as_deref())
                        .bind(&row.context);
                    position += 1;
                }
                query.execute(&mut *transaction).await.map_err(|error| self.failed(error))?;
            }
        }
        self.summarise(&mut transaction, first_position, &rows).await?;
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
                sqlx::query_scalar("SELECT seq FROM audit_events WHERE node = ? AND seq BETWEEN ? AND ?")
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

    /// Keeps what the blocks hold now, and counts the rows into their hours.
    async fn summarise(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        first_position: i64,
        rows: &[&AuditRow],
    ) -> Result<(), StoreError> {
        let mut blocks: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        let mut marks: BTreeSet<(i64, &str, &str)> = BTreeSet::new();
        let mut counts: BTreeMap<(i64, [&str; 4]), i64> = BTreeMap::new();
        for (position, row) in (first_position..).zip(rows) {
            let block = position >> BLOCK_BITS;
            let (first, last) = blocks.entry(block).or_insert((row.at_ms, row.at_ms));
            (*first, *last) = ((*first).min(row.at_ms), (*last).max(row.at_ms));
            for (kind, value) in marks_of(row) {
                marks.extend(value.map(|value| (block, kind, value)));
            }
            let [agent, tool, decision] =
                [&row.agent, &row.tool, &row.decision].map(|value| value.as_deref().unwrap_or_default());
            let hour = row.at_ms.div_euclid(HOUR_MS);
            *counts.entry((hour, [row.event_type.as_str(), agent, tool, decision])).or_default() += 1;
        }
        let blocks = blocks.into_iter().map(|(block, (first, last))| json!([block, first, last])).collect();
        let marks = marks.into_iter().map(|(block, kind, value)| json!([block, kind, value])).collect();
        let counts = counts
            .into_iter()
            .map(|((hour, [event_type, agent, tool, decision]), n)| {
                json!([hour, event_type, agent, tool, decision, n])
            })
            .collect();
        for (sql, list) in [
            (
                "INSERT INTO audit_blocks (block, first_at_ms, last_at_ms)
                 SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE TRUE
                 ON CONFLICT DO UPDATE SET first_at_ms = min(first_at_ms, excluded.first_at_ms),
                    last_at_ms = max(last_at_ms, excluded.last_at_ms)",
                blocks,
            ),
            (
                "INSERT INTO audit_marks (block, kind, value)
                 SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE TRUE
                 ON CONFLICT DO NOTHING",
                marks,
            ),
            (
                "INSERT INTO audit_counts (hour, event_type, agent, tool, decision, n)
                 SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
                 FROM json_each(?) WHERE TRUE
                 ON CONFLICT DO UPDATE SET n = n + excluded.n",
                counts,
            ),
        ] {
            sqlx::query(sql)
                .bind(serde_json::Value::Array(list).to_string())
                .execute(&mut **transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }
}

/// What a block is remembered by. The kinds are the columns that rows are looked for by.
fn marks_of(row: &AuditRow) -> [(&'static str, Option<&str>); 6] {
    [
        ("event_type", Some(&row.event_type)),
        ("source_type", row.source_type.as_deref()),
        ("tool", row.tool.as_deref()),
        ("agent", row.agent.as_deref()),
        ("server", row.server.as_deref()),
        ("decision", row.decision.as_deref()),
    ]
}

/// The statement that adds so many rows.
fn statement(n_rows: usize) -> String {
    let one = format!("({})", ["?"; 17].join(", "));
    let all = vec![one; n_rows].join(", ");
    format!(
        "INSERT INTO audit_events
            (position, node, seq, at_ms, event_type, level, actor_kind, actor_id, agent, session, server, tool,
             source_type, project, call_id, decision, context)
         VALUES {all}"
    )
}

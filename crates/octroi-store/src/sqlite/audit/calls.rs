//! How calls went, counted in spans of time: so statistics need not read the events.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use octroi_core::audit::{CallEnd, CallSums, DURATION_BOUNDS_MS, Durations};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, Sqlite as Driver, Transaction};

use super::super::Sqlite;
use crate::audit::{AuditRecord, CALL_SPAN_MS, CallFilter, CallsOfTool, at_ms};
use crate::error::StoreError;

/// How many rows one statement inserts.
const ROWS_AT_ONCE: [usize; 2] = [50, 1];
const N_DURATIONS: usize = DURATION_BOUNDS_MS.len() + 1;
/// Columns with a number, after those of the key.
const N_NUMBERS: usize = 3 + N_DURATIONS;

/// `calls, errors, denials, took_0, …`, each of them changed.
fn numbers(of_each: impl Fn(&str) -> String) -> String {
    let durations = (0..N_DURATIONS).map(|place| format!("took_{place}"));
    let names = ["calls", "errors", "denials"].into_iter().map(str::to_owned).chain(durations);
    names.map(|name| of_each(&name)).collect::<Vec<_>>().join(", ")
}

static ADD: LazyLock<[String; 2]> = LazyLock::new(|| {
    ROWS_AT_ONCE.map(|n_rows| {
        let row = format!("({})", vec!["?"; 3 + N_NUMBERS].join(", "));
        let rows = vec![row.as_str(); n_rows].join(", ");
        let (names, added) =
            (numbers(str::to_owned), numbers(|name| format!("{name} = {name} + excluded.{name}")));
        format!(
            "INSERT INTO audit_calls (span, agent, tool, {names}) VALUES {rows} ON CONFLICT DO UPDATE SET {added}"
        )
    })
});

/// The parameters of all queries: the first and the last span, the agents as a JSON array, the tool, its beginning.
const WHERE: &str = "
    WHERE span >= ?1 AND span <= ?2
        AND (?3 IS NULL OR agent IN (SELECT value FROM json_each(?3)))
        AND (?4 IS NULL OR tool = ?4)
        AND (?5 IS NULL OR substr(tool, 1, length(?5)) = ?5)";

static BY_TOOL: LazyLock<String> = LazyLock::new(|| {
    let sums = numbers(|name| format!("CAST(sum({name}) AS INTEGER) AS {name}"));
    format!(
        "SELECT agent, tool, {sums} FROM audit_calls {WHERE} GROUP BY agent, tool
         ORDER BY sum(calls + denials) DESC, agent, tool LIMIT ?6"
    )
});

static BY_TIME: LazyLock<String> = LazyLock::new(|| {
    let sums = numbers(|name| format!("CAST(sum({name}) AS INTEGER) AS {name}"));
    format!("SELECT span / ?6 AS step, {sums} FROM audit_calls {WHERE} GROUP BY step ORDER BY step")
});

impl Sqlite {
    /// Adds the calls that ended in these records.
    pub(super) async fn count_calls(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        records: &[AuditRecord<'_>],
    ) -> Result<(), StoreError> {
        let mut sums: BTreeMap<(i64, &str, &str), CallSums> = BTreeMap::new();
        for entry in records.iter().map(|record| &record.entry) {
            if let Some(end) = CallEnd::of(entry) {
                let span = at_ms(entry).div_euclid(CALL_SPAN_MS);
                let [agent, tool] =
                    [&entry.agent, &entry.tool].map(|text| text.as_deref().unwrap_or_default());
                sums.entry((span, agent, tool)).or_default().count(end);
            }
        }
        let sums: Vec<_> = sums.into_iter().collect();
        let mut rest = sums.as_slice();
        for (size, sql) in ROWS_AT_ONCE.into_iter().zip(ADD.iter()) {
            while let Some((now, later)) = rest.split_at_checked(size) {
                rest = later;
                let mut query = sqlx::query(AssertSqlSafe(sql.as_str()));
                for ((span, agent, tool), sums) in now {
                    query = query.bind(span).bind(agent).bind(tool);
                    let durations = sums.durations.into_iter();
                    for number in [sums.calls, sums.errors, sums.denials].into_iter().chain(durations) {
                        query = query.bind(number.cast_signed());
                    }
                }
                query.execute(&mut **transaction).await.map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }

    pub(crate) async fn calls_by_tool(
        &self,
        filter: &CallFilter,
        n_max: u32,
    ) -> Result<Vec<CallsOfTool>, StoreError> {
        let rows = self.calls(&BY_TOOL, filter, n_max.into()).await?;
        let read = |row: &SqliteRow| -> Result<_, sqlx::Error> {
            Ok(CallsOfTool { agent: row.try_get(0)?, tool: row.try_get(1)?, sums: sums_of(row, 2)? })
        };
        rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(|error| self.failed(error))
    }

    pub(crate) async fn calls_by_time(
        &self,
        filter: &CallFilter,
        n_spans: u32,
    ) -> Result<Vec<(i64, CallSums)>, StoreError> {
        let n_spans = i64::from(n_spans.max(1));
        let rows = self.calls(&BY_TIME, filter, n_spans).await?;
        let read = |row: &SqliteRow| -> Result<_, sqlx::Error> {
            let step: i64 = row.try_get(0)?;
            Ok((step.saturating_mul(n_spans * CALL_SPAN_MS), sums_of(row, 1)?))
        };
        rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(|error| self.failed(error))
    }

    async fn calls(
        &self,
        sql: &'static str,
        filter: &CallFilter,
        last: i64,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let until_ms = filter.until_ms.unwrap_or(i64::MAX);
        let agents = filter.agents.as_ref().map(|agents| serde_json::json!(agents).to_string());
        sqlx::query(sql)
            .bind(filter.since_ms.div_euclid(CALL_SPAN_MS))
            // The end itself is not part of the period.
            .bind(until_ms.saturating_sub(1).div_euclid(CALL_SPAN_MS))
            .bind(agents)
            .bind(&filter.tool)
            .bind(&filter.tool_prefix)
            .bind(last)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))
    }
}

/// The sums in the columns from this one on.
fn sums_of(row: &SqliteRow, first: usize) -> Result<CallSums, sqlx::Error> {
    let number = |place: usize| row.try_get::<i64, _>(first + place).map(i64::cast_unsigned);
    let mut durations = Durations::default();
    for (place, count) in durations.iter_mut().enumerate() {
        *count = number(3 + place)?;
    }
    Ok(CallSums { calls: number(0)?, errors: number(1)?, denials: number(2)?, durations })
}

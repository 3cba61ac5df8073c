use std::fmt::Write as _;
use std::path::Path;

use super::super::Sqlite;
use super::search::{blocks_query, rows_query};
use super::{BLOCK_BITS, COUNTS};
use crate::audit::{AuditFilter, AuditRow};

async fn filled(directory: &Path, n_rows: u64) -> Sqlite {
    let sqlite = Sqlite::open(directory).await.unwrap();
    let rows: Vec<AuditRow> = (0..n_rows)
        .map(|seq| AuditRow {
            node: "n1".to_owned(),
            seq,
            at_ms: seq.cast_signed(),
            event_type: "tool_invocation_start".to_owned(),
            tool: Some(if seq == 5 { "rare" } else { "common" }.to_owned()),
            call_id: Some(format!("call-{seq:09}")),
            context: "{\"source_type\":\"forged\",\"more\":1}".to_owned(),
            ..AuditRow::default()
        })
        .collect();
    for batch in rows.chunks(5_000) {
        sqlite.append_audit(batch).await.unwrap();
    }
    sqlite
}

/// How SQLite goes about a query.
async fn plan(sqlite: &Sqlite, sql: &str) -> String {
    let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let steps: Vec<(i64, i64, i64, String)> = sqlx::query_as(sql).fetch_all(&sqlite.readers).await.unwrap();
    let mut plan = String::new();
    for (_, _, _, step) in steps {
        let _ = writeln!(plan, "{step}");
    }
    plan
}

fn every_filter() -> Vec<AuditFilter> {
    let some = || Some("x".to_owned());
    let any = AuditFilter::default;
    vec![
        any(),
        AuditFilter { since_ms: Some(1), until_ms: Some(2), ..any() },
        AuditFilter { event_types: vec!["a".to_owned(), "b".to_owned()], ..any() },
        AuditFilter { source_type: some(), ..any() },
        AuditFilter { tool: some(), ..any() },
        AuditFilter { agent: some(), ..any() },
        AuditFilter { server: some(), ..any() },
        AuditFilter { decision: some(), ..any() },
        AuditFilter { text: some(), ..any() },
        AuditFilter { tool: some(), agent: some(), since_ms: Some(1), text: some(), ..any() },
    ]
}

#[tokio::test]
async fn no_search_goes_through_all_events_or_sorts_them() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = filled(directory.path(), 1_000).await;
    for filter in every_filter() {
        let rows = plan(&sqlite, rows_query(&filter, 1, 2, 3).sql().as_str()).await;
        let by_position = "SEARCH audit_rows USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n";
        assert_eq!(rows, by_position, "{filter:?}");

        // A row for each few thousand events, and look-ups beside it.
        let blocks = plan(&sqlite, blocks_query(&filter, 2).sql().as_str()).await;
        assert!(blocks.starts_with("SEARCH audit_blocks USING INTEGER PRIMARY KEY (rowid<?)"), "{blocks}");
        assert!(!blocks.contains("SCAN") && !blocks.contains("TEMP B-TREE"), "{blocks}");
    }
    let of_call = AuditFilter { call_id: Some("x".to_owned()), ..AuditFilter::default() };
    let rows = plan(&sqlite, rows_query(&of_call, 1, 2, 3).sql().as_str()).await;
    assert!(rows.starts_with("SEARCH audit_rows USING INDEX audit_rows_of_call (call_id=?"), "{rows}");
    assert!(!rows.contains("TEMP B-TREE"), "{rows}");

    let counts = plan(&sqlite, COUNTS).await;
    assert!(counts.contains("SEARCH audit_counts USING PRIMARY KEY (span>?)"), "{counts}");
    assert!(counts.contains("SEARCH audit_rows USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"), "{counts}");
}

#[tokio::test]
async fn a_rare_value_is_found_without_looking_at_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let n_blocks = 5;
    let sqlite = filled(directory.path(), n_blocks << BLOCK_BITS).await;
    let tool = |tool: &str| AuditFilter { tool: Some(tool.to_owned()), ..AuditFilter::default() };
    for (filter, expected) in [
        (tool("rare"), vec![0]),
        (tool("common"), vec![5, 4, 3, 2, 1, 0]),
        (tool("unknown"), vec![]),
        (AuditFilter { until_ms: Some(10), ..tool("common") }, vec![0]),
        (AuditFilter { since_ms: Some(18_000), ..AuditFilter::default() }, vec![5, 4]),
    ] {
        let blocks: Vec<i64> =
            blocks_query(&filter, i64::MAX).build_query_scalar().fetch_all(&sqlite.readers).await.unwrap();
        assert_eq!(blocks, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn the_view_for_sql_tells_what_the_columns_say() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = filled(directory.path(), 1).await;
    let mut rows = vec![AuditRow {
        node: "n1".to_owned(),
        seq: 1,
        at_ms: 1_700_000_000_123,
        event_type: "policy_decision".to_owned(),
        level: "warn".to_owned(),
        actor_kind: "agent".to_owned(),
        actor_id: "coder".to_owned(),
        agent: Some("coder".to_owned()),
        session: Some("s1".to_owned()),
        tool: Some("mcp:files:write".to_owned()),
        source_type: Some("mcp".to_owned()),
        decision: Some("ask".to_owned()),
        context: "{\"source_type\":\"forged\",\"more\":1}".to_owned(),
        ..AuditRow::default()
    }];
    // What is no object, or no JSON at all, breaks nothing.
    rows.push(AuditRow { seq: 2, context: "[1]".to_owned(), ..rows[0].clone() });
    rows.push(AuditRow { seq: 3, context: "{".to_owned(), ..rows[0].clone() });
    sqlite.append_audit(&rows).await.unwrap();
    let told: Vec<(String, String, String, String, String, String, String)> = sqlx::query_as(
        "SELECT audit_id, task_id, level, event_type, context, payload, created_at FROM task_audits ORDER BY audit_id",
    )
    .fetch_all(&sqlite.readers)
    .await
    .unwrap();
    let mut lines = String::new();
    for (id, task, level, event_type, context, payload, at) in told {
        let _ = writeln!(lines, "{id} {task} {level} {event_type} {at}\n  {context}\n  {payload}");
    }
    let columns = "\"source_type\":\"mcp\",\"tool\":\"mcp:files:write\",\"agent\":\"coder\",\"session\":\"s1\",\
         \"decision\":\"ask\",\"actor\":{\"kind\":\"agent\",\"id\":\"coder\"}";
    let in_context = columns.replace("\"source_type\":\"mcp\",", "\"source_type\":\"mcp\",\"more\":1,");
    let head = "s1 warn policy_decision 2023-11-14T22:13:20.123Z";
    let expected = format!(
        "n1:0 ORPHAN  tool_invocation_start 1970-01-01T00:00:00.000Z\n  \
         {{\"more\":1,\"tool\":\"common\",\"call_id\":\"call-000000000\",\"actor\":{{\"kind\":\"\",\"id\":\"\"}}}}\n  \
         {{\"source_type\":\"forged\",\"more\":1}}\n\
         n1:1 {head}\n  {{{in_context}}}\n  {{\"source_type\":\"forged\",\"more\":1}}\n\
         n1:2 {head}\n  {{{columns}}}\n  [1]\n\
         n1:3 {head}\n  {{{columns}}}\n  {{\n"
    );
    assert_eq!(lines, expected);
}

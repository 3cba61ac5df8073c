mod shared_texts;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::super::Sqlite;
use super::late::CHUNKS_OF_CALL;
use super::search::{CHUNKS, blocks_query};
use super::{BLOCK_BITS, COUNTS};
use crate::audit::{AuditCursor, AuditFilter, AuditRecord, AuditRecordReader};

/// An event and its sequence number.
fn event(seq: u64, at_ms: i64, tool: &str, call: &str) -> (u64, String) {
    let event = json!({
        "at_ms": at_ms,
        "kind": "tool_invocation_start",
        "level": "info",
        "actor": { "kind": "agent", "id": "coder" },
        "tool": tool,
        "call": call,
        "context": { "source_type": "forged", "more": 1 },
    });
    (seq, event.to_string())
}

fn call(number: u64) -> String {
    format!("01900000-0000-7000-8000-{number:012}")
}

async fn add(sqlite: &Sqlite, events: &[(u64, String)]) {
    for batch in events.chunks(5_000) {
        let mut reader = AuditRecordReader::default();
        let records: Vec<AuditRecord<'_>> =
            batch.iter().map(|(seq, text)| reader.read(*seq, text.as_bytes()).unwrap()).collect();
        sqlite.append_audit("n1", &records).await.unwrap();
    }
}

async fn filled(directory: &Path, n_rows: u64) -> Sqlite {
    let sqlite = Sqlite::open(directory, &|_, _| Ok(None)).await.unwrap();
    let tool = |seq| if seq == 5 { "rare" } else { "common" };
    let events: Vec<_> =
        (0..n_rows).map(|seq| event(seq, seq.cast_signed(), tool(seq), &call(seq))).collect();
    add(&sqlite, &events).await;
    sqlite
}

/// The query plan of SQLite.
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
        AuditFilter { agents: vec!["a".to_owned(), "b".to_owned()], ..any() },
        AuditFilter { server: some(), ..any() },
        AuditFilter { session: some(), ..any() },
        AuditFilter { decision: some(), ..any() },
        AuditFilter { text: some(), ..any() },
        AuditFilter { tool: some(), agent: some(), since_ms: Some(1), text: some(), ..any() },
    ]
}

#[tokio::test]
async fn no_search_goes_through_all_events_or_sorts_them() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = filled(directory.path(), 1_000).await;
    let by_number = "SEARCH audit_chunks USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n";
    assert_eq!(plan(&sqlite, CHUNKS).await, by_number);
    for filter in every_filter() {
        // One row per few thousand events, plus index lookups.
        let blocks = plan(&sqlite, blocks_query(&filter, 2).sql().as_str()).await;
        assert!(blocks.starts_with("SEARCH audit_blocks USING INTEGER PRIMARY KEY (rowid<?)"), "{blocks}");
        assert!(!blocks.contains("SCAN") && !blocks.contains("TEMP B-TREE"), "{blocks}");
    }
    let of_call = plan(&sqlite, CHUNKS_OF_CALL).await;
    assert!(of_call.contains(by_number.trim()), "{of_call}");
    assert!(of_call.contains("SEARCH audit_late USING PRIMARY KEY (call_id=? AND position<?)"), "{of_call}");
    let counts = plan(&sqlite, COUNTS).await;
    assert!(counts.contains("SEARCH audit_counts USING PRIMARY KEY (span>?)"), "{counts}");
    assert!(counts.contains(by_number.trim()), "{counts}");
}

/// A call that waited for approval ends long after it began.
#[tokio::test]
async fn all_events_of_a_call_are_found_whenever_they_came() {
    const BEGAN_MS: i64 = 0x0190_0000_0000;
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let event = |seq: u64, after_ms: i64, number: u64| event(seq, BEGAN_MS + after_ms, "t", &call(number));
    let n_others = 3_u64 << BLOCK_BITS;
    let mut events = vec![event(1, 0, 1), event(2, 10, 2), event(3, 4_999, 1)];
    events.extend((4..n_others).map(|seq| event(seq, 10_000, seq)));
    // An hour later, and after the clock was set back.
    events.push(event(n_others, 3_600_000, 1));
    events.push(event(n_others + 1, -60_000, 1));
    add(&sqlite, &events).await;
    let found = async |call_id: String, before| {
        let filter = AuditFilter { call_id: Some(call_id), ..AuditFilter::default() };
        let page = sqlite.audit_events(&filter, before, 100).await.unwrap();
        page.rows.iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    assert_eq!(found(call(1), None).await, [n_others + 1, n_others, 3, 1]);
    assert_eq!(found(call(1), Some(AuditCursor::before(2))).await, [1]);
    assert_eq!(found(call(2), None).await, [2]);
    assert_eq!(found(call(5_000), None).await, [5_000]);
    assert_eq!(found("unknown".to_owned(), None).await, [0_u64; 0]);
}

#[tokio::test]
async fn a_rare_value_is_found_without_looking_at_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let n_blocks = 5;
    let sqlite = filled(directory.path(), n_blocks << BLOCK_BITS).await;
    let tool = |tool: &str| AuditFilter { tool: Some(tool.to_owned()), ..AuditFilter::default() };
    for (filter, expected) in [
        (tool("rare"), vec![0]),
        (tool("common"), vec![4, 3, 2, 1, 0]),
        (tool("unknown"), vec![]),
        (AuditFilter { until_ms: Some(10), ..tool("common") }, vec![0]),
        (AuditFilter { since_ms: Some(18_000), ..AuditFilter::default() }, vec![4]),
    ] {
        let blocks: Vec<i64> =
            blocks_query(&filter, i64::MAX).build_query_scalar().fetch_all(&sqlite.readers).await.unwrap();
        assert_eq!(blocks, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn the_sql_view_shows_the_columns() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = filled(directory.path(), 1).await;
    let decision = json!({
        "at_ms": 1_700_000_000_123_u64,
        "kind": "policy_violation",
        "level": "warn",
        "actor": { "kind": "agent", "id": "coder" },
        "agent": "coder",
        "session": "s1",
        "tool": "mcp:files:write",
        "source_type": "mcp",
        "decision": "ask",
        "context": { "source_type": "forged", "more": 1, "gate": "mode" },
    });
    let mut bare = decision.clone();
    bare.as_object_mut().unwrap().remove("context");
    add(&sqlite, &[(1, decision.to_string()), (2, bare.to_string())]).await;
    let rows: Vec<(String, String, String, String, String, String, String)> = sqlx::query_as(
        "SELECT audit_id, task_id, level, event_type, context, payload, created_at FROM task_audits
         ORDER BY audit_id",
    )
    .fetch_all(&sqlite.readers)
    .await
    .unwrap();
    let mut lines = String::new();
    for (id, task, level, event_type, context, payload, at) in rows {
        let _ = writeln!(lines, "{id} {task} {level} {event_type} {at}\n  {context}\n  {payload}");
    }
    let columns = "\"source_type\":\"mcp\",\"tool\":\"mcp:files:write\",\"agent\":\"coder\",\"session\":\"s1\",\
         \"decision\":\"ask\",\"actor\":{\"kind\":\"agent\",\"id\":\"coder\"}";
    let with = |more: &str| format!("{{{}}}", columns.replacen("\"mcp\",", &format!("\"mcp\",{more},"), 1));
    let after = |more: &str| format!("{{{more},{columns}}}");
    let (head, time) = ("s1 warn", "2023-11-14T22:13:20.123Z");
    let expected = format!(
        "n1:0 ORPHAN info tool_invocation_start 1970-01-01T00:00:00.000Z\n  \
         {{\"more\":1,\"tool\":\"common\",\"call_id\":\"{}\",\"actor\":{{\"kind\":\"agent\",\"id\":\"coder\"}}}}\n  \
         {{\"source_type\":\"forged\",\"more\":1}}\n\
         n1:1 {head} policy_violation {time}\n  {}\n  {{\"source_type\":\"forged\",\"more\":1,\"gate\":\"mode\"}}\n\
         n1:1:decision {head} policy_decision {time}\n  {}\n  {{\"gate\":\"mode\"}}\n\
         n1:2 {head} policy_violation {time}\n  {{{columns}}}\n  {{}}\n\
         n1:2:decision {head} policy_decision {time}\n  {{{columns}}}\n  {{}}\n",
        call(0),
        with("\"more\":1,\"gate\":\"mode\""),
        after("\"gate\":\"mode\""),
    );
    assert_eq!(lines, expected);
}

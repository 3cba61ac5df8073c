//! The table has what records share once; nobody who reads it sees that.

use octroi_core::audit::Entry;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor};

use super::super::super::Sqlite;
use super::{add, call};
use crate::audit::{AuditFilter, AuditRow};

/// The table and the views as they were when a chunk had whole records.
const WHOLE_RECORDS: [&str; 3] = [
    include_str!("../../../../migrations/sqlite/0008_audit.sql"),
    "CREATE TABLE health_samples (at_ms);",
    include_str!("../../../../migrations/sqlite/0015_task_audits.sql"),
];

/// Contexts, some of which end alike.
const CONTEXTS: [&str; 16] = [
    "{}",
    r#"{"arguments":{"a":1.0,"b":1e400,"c":12345678901234567890123,"d":-0},"risk":"low","trace":["x"]}"#,
    r#"{"arguments":null,"risk":"low","trace":["x"]}"#,
    r#"{"arguments":{"a":null,"b":{"c":null},"d":[null]},"risk":"low","trace":["x"]}"#,
    r#"{"arguments":"ü\u00fc\u0000\ud834\udd1e𝄞\"}","risk":"low","trace":["x"]}"#,
    r#"{"arguments":{"trace":["x"]},"trace":["x"]}"#,
    r#"{"risk":"low","trace":["x"]}"#,
    r#"{"risk":null,"left":1.0,"right":1e400}"#,
    r#"{"arguments":{},"risk":null,"left":1.0,"right":1e400}"#,
    r#"{"arguments":1,"risk":2,"arguments":3,"risk":4}"#,
    r#"{ "arguments" : { "a" : 1 } , "risk" : "low" }"#,
    r#"{"outcome":"completed","duration_ms":3,"result_bytes":1.5e3,"result":"é"}"#,
    r#"{"outcome":null}"#,
    r#"{"source_type":"forged","actor":1,"tool":null}"#,
    r#"{"method":"resources/read","uri":"file:///ü","revision":3,"trace":[]}"#,
    r#"{"":{"":null},"arguments":[]}"#,
];

/// Records with all contexts, and some of unusual forms.
fn records() -> Vec<(u64, String)> {
    let frame = r#""level":"info","actor":{"kind":"agent","id":"cöder"},"agent":"a","session":"s","server":"files","tool":"mcp:files:read","source_type":"mcp","project":"p""#;
    let mut texts = Vec::new();
    for (number, context) in (1..).zip(CONTEXTS) {
        let (at_ms, call) = (1_700_000_000_000_u64 + 7 * number, call(number));
        for (kind, decision) in [
            ("tool_invocation_start", r#","decision":"allow""#),
            ("policy_violation", r#","decision":"deny_abort""#),
            ("tool_invocation_end", ""),
        ] {
            texts.push(format!(
                r#"{{"at_ms":{at_ms},"kind":"{kind}",{frame},"call":"{call}"{decision},"context":{context}}}"#
            ));
        }
    }
    let actor = r#""actor":{"kind":"system","id":""}"#;
    let bare = format!(r#""kind":"auth_failed","level":"warn",{actor}"#);
    texts.extend([
        format!(r#"{{"at_ms":7,{bare}}}"#),
        format!(r#"{{"at_ms":0,{bare}}}"#),
        format!(r#"{{"at_ms":7,{bare},"context":{{"left_out":3}}}}"#),
        format!(r#"{{"at_ms":18446744073709551615,{bare},"context":{{"a":1}}}}"#),
        format!(r#"{{"at_ms":7,{bare},"context":null}}"#),
        format!(r#"{{"at_ms":7,{bare},"context":[1.0, null]}}"#),
        format!(r#"{{"at_ms":7,{bare},"context":"text"}}"#),
        format!(r#"{{"context":{{"arguments":1}},"call":"{}",{bare},"at_ms":7}}"#, call(1)),
        format!(r#"{{ "at_ms":7,{bare},"call":"{}","newer":[1e400] }}"#, call(1)),
        format!(r#"{{"at_ms":7,{bare},"tool":"a\u0062\"\\","context":{{"a":1}}}}"#),
    ]);
    (1..).zip(texts).collect()
}

/// All rows of a view as SQL literals, which tell types apart.
async fn literals(
    connection: impl Executor<'_, Database = sqlx::Sqlite>,
    view: &str,
    columns: &[&str],
) -> Vec<String> {
    let columns: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
    let sql = format!("SELECT {} FROM {view}", columns.join(" || ', ' || "));
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap()
}

#[tokio::test]
async fn the_views_show_what_they_showed_of_whole_records() {
    let records = records();
    let mut whole = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    for sql in WHOLE_RECORDS {
        sqlx::raw_sql(sql).execute(&mut whole).await.unwrap();
    }
    let events: Vec<String> = records.iter().map(|(seq, text)| format!("[{seq},{text}]")).collect();
    sqlx::query("INSERT INTO audit_chunks VALUES (0, 'n1', 1, 0, ?, ?)")
        .bind(i64::try_from(events.len()).unwrap())
        .bind(format!("[{}]", events.join(",")))
        .execute(&mut whole)
        .await
        .unwrap();

    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    add(&sqlite, &records).await;
    let event = [
        "chunk",
        "position",
        "node",
        "seq",
        "at_ms",
        "event_type",
        "level",
        "actor_kind",
        "actor_id",
        "agent",
        "session",
        "server",
        "tool",
        "source_type",
        "project",
        "call_id",
        "decision",
        "context",
    ];
    let task = ["audit_id", "task_id", "level", "event_type", "context", "payload", "created_at"];
    for (view, columns) in [("audit_events", &event[..]), ("audit_decisions", &event), ("task_audits", &task)]
    {
        let rows = literals(&sqlite.readers, view, columns).await;
        let expected = literals(&mut whole, view, columns).await;
        assert!(rows.len() > CONTEXTS.len(), "{view}");
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row, expected, "{view}");
        }
        assert_eq!(rows.len(), expected.len(), "{view}");
    }
}

#[tokio::test]
async fn a_search_finds_records_as_they_were() {
    let records = records();
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    // In many batches, each of which continues the chunk of the last one.
    for batch in records.chunks(3) {
        add(&sqlite, batch).await;
    }
    let search = async |filter: AuditFilter| sqlite.audit_events(&filter, None, 1_000).await.unwrap().rows;
    let expected: Vec<AuditRow> = records
        .iter()
        .rev()
        .map(|(seq, text)| AuditRow::new("n1", *seq, &Entry::parse_text(text).unwrap()))
        .collect();
    assert_eq!(search(AuditFilter::default()).await, expected);
    for (seq, text) in &records {
        let entry = Entry::parse_text(text).unwrap();
        let Some(call_id) = entry.call.map(|call| call.to_string()) else { continue };
        let found = search(AuditFilter { call_id: Some(call_id), ..AuditFilter::default() }).await;
        assert!(found.contains(&AuditRow::new("n1", *seq, &entry)), "{text}");
    }
}

#[tokio::test]
async fn a_chunk_that_cannot_be_read_does_not_stop_the_index() {
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let records = records();
    add(&sqlite, &records[..3]).await;
    sqlx::query("UPDATE audit_chunks SET events = 'x'").execute(&sqlite.writer).await.unwrap();
    add(&sqlite, &records[3..]).await;
    let chunks: Vec<(i64, i64)> = sqlx::query_as("SELECT chunk, n_events FROM audit_chunks ORDER BY chunk")
        .fetch_all(&sqlite.readers)
        .await
        .unwrap();
    assert_eq!(chunks, [(0, 3), (1, i64::try_from(records.len()).unwrap() - 3)]);
}

/// The records of a call, as the gateway writes them: arguments and result have 64 bytes.
fn records_of_call(number: u64) -> [String; 2] {
    let tool = number % 10;
    let hash = "0123456789abcdef".repeat(4);
    let at_ms = 1_794_801_600_000 + number / 20;
    let id = format!("01a1e283-0600-7003-{number:016x}");
    let id = format!("{}-{}", &id[..23], &id[23..]);
    let frame = format!(
        r#""level":"info","actor":{{"kind":"agent","id":"agent-{}"}},"agent":"agent-{}","session":"0123456789abcdef","server":"server-{}","tool":"mcp:server-{}:tool-{tool}","source_type":"mcp","call":"{id}""#,
        tool % 2,
        tool % 2,
        tool % 3,
        tool % 3,
    );
    let arguments = format!(r#"{{"path":"/{number:052}"}}"#);
    assert_eq!(arguments.len(), 64);
    [
        format!(
            r#"{{"at_ms":{at_ms},"kind":"tool_invocation_start",{frame},"decision":"allow","context":{{"arguments":{arguments},"risk":"low","side_effects":[],"definition":"{hash}","mode":"execution","revision":3,"trace":["protocol","identity","catalog","scope","quota",{{"gate":"policy","outcome":"allow","by":"rule 3"}},"approval"]}}}}"#
        ),
        format!(
            r#"{{"at_ms":{at_ms},"kind":"tool_invocation_end",{frame},"context":{{"outcome":"completed","duration_ms":3,"result_bytes":64,"result":"{number:064}"}}}}"#
        ),
    ]
}

#[tokio::test]
async fn a_record_of_a_call_takes_less_than_200_bytes() {
    const N_CALLS: u64 = 10_000;
    let directory = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let mut texts: Vec<String> = (0..N_CALLS).flat_map(records_of_call).collect();
    let n_bytes_of_log: usize = texts.iter().map(String::len).sum();
    assert!(n_bytes_of_log > 450 * texts.len(), "{n_bytes_of_log}");
    // Twenty calls are open at a time.
    for calls in texts.chunks_mut(40) {
        calls.sort_by_key(|text| text.contains("_end"));
    }
    add(&sqlite, &(1..).zip(texts).collect::<Vec<_>>()).await;
    let path = sqlite.path.clone();
    sqlite.close().await;
    let n_bytes = std::fs::metadata(path).unwrap().len();
    assert!(n_bytes < 200 * 2 * N_CALLS, "{} bytes a record", n_bytes / (2 * N_CALLS));
}

//! Databases of other versions.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use octroi_store::{AuditFilter, AuditRecord, ContentHash, Store};

use crate::support::{approval, catalogue, connect, definition, describe, fill, key, run_sql, test_key};

/// The migrations to the newest version.
const NAMES: [&str; 25] = [
    "servers",
    "catalogues",
    "health",
    "approvals",
    "policies",
    "pins",
    "agents",
    "audit",
    "kept_out",
    "other_params",
    "kept_arguments",
    "audit_logs",
    "whole_params",
    "asks_clients",
    "task_audits",
    "people",
    "invites",
    "former_agents",
    "server_consent",
    "shared_texts",
    "secrets",
    "audit_calls",
    "server_entries",
    "agent_presets",
    "browser_sessions",
];

const FIRST: &str = include_str!("../../migrations/sqlite/0001_servers.sql");

/// The migrations up to the version before operator decisions were stored.
const BEFORE_DECISIONS: [&str; 3] = [
    FIRST,
    include_str!("../../migrations/sqlite/0002_catalogues.sql"),
    include_str!("../../migrations/sqlite/0003_health.sql"),
];

/// A database as the first version left it.
async fn make_version_1(directory: &Path) {
    let checksum = ContentHash::of(FIRST);
    let server = definition("old");
    run_sql(
        directory,
        &format!(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT;
             {FIRST}
             INSERT INTO migrations VALUES (1, 'servers', '{checksum}');
             INSERT INTO servers VALUES ('system', 'old', 'file', '{}', '{}', 4, 0, 1, 2);",
            server.as_str(),
            server.hash(),
        ),
    )
    .await;
}

/// The names and contents of a directory, without the lock.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut contents: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| {
            name.starts_with("octroi.db") && !name.ends_with("-shm") && !name.ends_with("-wal")
        })
        .collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn a_fresh_database_has_every_version_and_no_backup() {
    let directory = tempfile::tempdir().unwrap();
    Store::open(directory.path(), &test_key).await.unwrap().close().await;
    let mut connection = connect(directory.path()).await;
    let versions: Vec<(i64, String)> =
        sqlx::query_as("SELECT version, name FROM migrations ORDER BY version")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    let names = NAMES.map(str::to_owned);
    assert_eq!(versions, (1..).zip(names).collect::<Vec<_>>());
    let names: Vec<String> = contents(directory.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["octroi.db"]);
}

#[tokio::test]
async fn an_older_database_is_backed_up_and_brought_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    make_version_1(directory.path()).await;
    // Left by an interrupted attempt.
    fs::write(directory.path().join("octroi.db.backup-1.part"), "half").unwrap();

    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let server = store.server(&key("old")).await.unwrap().unwrap();
    assert_eq!((server.revision, server.enabled_override), (4, Some(false)));
    assert!(server.is_agreed, "it ran before");
    assert_eq!(server.definition, definition("old"));
    store.save_catalogue(&key("old"), &catalogue(1), 3).await.unwrap();
    store.close().await;

    let names: Vec<String> = contents(directory.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["octroi.db", "octroi.db.backup-1"]);
    let backup = directory.path().join("octroi.db.backup-1");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);

    // The backup is a database of the old version, which can be migrated again.
    let other = tempfile::tempdir().unwrap();
    fs::copy(&backup, other.path().join("octroi.db")).unwrap();
    let store = Store::open(other.path(), &test_key).await.unwrap();
    assert_eq!(store.server(&key("old")).await.unwrap().unwrap().revision, 4);
    assert_eq!(store.catalogues().await.unwrap(), []);
    assert!(other.path().join("octroi.db.backup-1").exists());
}

/// A store filled by the present version, with everything removed that came after version 3.
async fn make_version_3(directory: &Path) {
    fill(directory).await;
    let mut connection = connect(directory).await;
    let newer: Vec<(String, String)> = sqlx::query_as(
        "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'
         AND name NOT IN ('migrations', 'servers', 'catalogues', 'catalogue_items', 'health_samples')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert!(!newer.is_empty());
    let drops: Vec<String> = newer.iter().map(|(kind, name)| format!("DROP {kind} {name};")).collect();
    let columns = "ALTER TABLE servers DROP COLUMN asks_clients; ALTER TABLE servers DROP COLUMN switched_by;
         ALTER TABLE servers DROP COLUMN is_agreed; DROP INDEX health_samples_by_time;";
    let drops = format!("{} {columns} DELETE FROM migrations WHERE version > 3;", drops.join(" "));
    run_sql(directory, &drops).await;
    // What is left is exactly what version 3 created.
    let checksums: Vec<String> = sqlx::query_scalar("SELECT checksum FROM migrations ORDER BY version")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(checksums, BEFORE_DECISIONS.map(|sql| ContentHash::of(sql).to_string()));
}

#[tokio::test]
async fn a_database_without_decisions_keeps_what_it_has_and_can_keep_them() {
    let directory = tempfile::tempdir().unwrap();
    make_version_3(directory.path()).await;
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(store.server(&key("files")).await.unwrap().unwrap().definition, definition("files"));
    assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue(1));
    assert_eq!(store.policy_revision().await.unwrap(), 0);
    let asked = store.request_approval(&approval(1)).await.unwrap();
    store.close().await;
    assert!(directory.path().join("octroi.db.backup-3").exists());

    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(store.approval(&asked.approval.id).await.unwrap(), Some(approval(1)));
}

#[tokio::test]
async fn a_database_that_is_up_to_date_is_not_backed_up() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path()).await;
    let before = contents(directory.path());
    Store::open(directory.path(), &test_key).await.unwrap().close().await;
    assert_eq!(contents(directory.path()), before);
}

#[tokio::test]
async fn databases_that_are_not_ours_are_refused_and_left_alone() {
    for (sql, expected) in [
        (
            "UPDATE migrations SET checksum = 'other' WHERE version = 2",
            "DIR/octroi.db was brought to version 2 by another migration than this Octroi's; nothing was changed\n\
             hint: move DIR/octroi.db, DIR/octroi.db-wal and DIR/octroi.db-shm away, or name another directory with \
             --data DIR",
        ),
        (
            "DELETE FROM migrations WHERE version = 1",
            "DIR/octroi.db was brought to version 1 by another migration than this Octroi's; nothing was changed\n\
             hint: move DIR/octroi.db, DIR/octroi.db-wal and DIR/octroi.db-shm away, or name another directory with \
             --data DIR",
        ),
        (
            "INSERT INTO migrations VALUES (1000, 'next', 'x'), (1001, 'after', 'y')",
            "DIR/octroi.db has version 1001, but this Octroi only knows versions up to NEWEST; nothing was changed\n\
             hint: use a newer octroi; or move DIR/octroi.db, DIR/octroi.db-wal and DIR/octroi.db-shm away, \
             and copy DIR/octroi.db.backup-NEWEST to DIR/octroi.db if there is one",
        ),
        (
            "DROP TABLE migrations",
            "DIR/octroi.db is a database, but not Octroi's; nothing was changed\n\
             hint: move DIR/octroi.db, DIR/octroi.db-wal and DIR/octroi.db-shm away, or name another directory with \
             --data DIR",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path()).await;
        run_sql(directory.path(), sql).await;
        let before = contents(directory.path());
        let error = Store::open(directory.path(), &test_key).await.unwrap_err();
        let expected = expected.replace("NEWEST", &NAMES.len().to_string());
        assert_eq!(describe(&error, directory.path()), expected);
        assert_eq!(contents(directory.path()), before, "{sql}");
    }
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    make_version_1(directory.path()).await;
    // The last missing migration finds that its table already exists.
    run_sql(directory.path(), "CREATE TABLE health_samples (x)").await;
    Store::open(directory.path(), &test_key).await.unwrap_err();
    let mut connection = connect(directory.path()).await;
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert_eq!(tables, ["health_samples", "migrations", "servers"]);
}

/// What came between operator decisions and users.
const BEFORE_PEOPLE: [&str; 12] = [
    include_str!("../../migrations/sqlite/0004_approvals.sql"),
    include_str!("../../migrations/sqlite/0005_policies.sql"),
    include_str!("../../migrations/sqlite/0006_pins.sql"),
    include_str!("../../migrations/sqlite/0007_agents.sql"),
    include_str!("../../migrations/sqlite/0008_audit.sql"),
    include_str!("../../migrations/sqlite/0009_kept_out.sql"),
    include_str!("../../migrations/sqlite/0010_other_params.sql"),
    include_str!("../../migrations/sqlite/0011_kept_arguments.sql"),
    include_str!("../../migrations/sqlite/0012_audit_logs.sql"),
    include_str!("../../migrations/sqlite/0013_whole_params.sql"),
    include_str!("../../migrations/sqlite/0014_asks_clients.sql"),
    include_str!("../../migrations/sqlite/0015_task_audits.sql"),
];

/// What came between users and audit events that share their texts.
const BEFORE_SHARED_TEXTS: [&str; 4] = [
    include_str!("../../migrations/sqlite/0016_people.sql"),
    include_str!("../../migrations/sqlite/0017_invites.sql"),
    include_str!("../../migrations/sqlite/0018_former_agents.sql"),
    include_str!("../../migrations/sqlite/0019_server_consent.sql"),
];

/// The SQL that makes a database with these migrations.
fn sql_of(migrations: impl Iterator<Item = &'static str>) -> String {
    let mut sql = "PRAGMA journal_mode = WAL;
         CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT;"
        .to_owned();
    for (version, migration) in (1..).zip(migrations) {
        let (name, checksum) = (NAMES[version - 1], ContentHash::of(migration));
        let _ =
            write!(sql, "{migration}; INSERT INTO migrations VALUES ({version}, '{name}', '{checksum}');");
    }
    sql
}

/// A database as the last version without users left it, with rows of these people.
async fn make_version_15(directory: &Path, people: &[&str]) {
    let mut sql = sql_of(BEFORE_DECISIONS.into_iter().chain(BEFORE_PEOPLE));
    for (n, by) in people.iter().enumerate() {
        let _ = write!(
            sql,
            "INSERT INTO approvals (id, call_id, principal, tool, definition_hash, arguments_hash, policy_revision,
                state, arguments_preview, arguments, risk, side_effects, reasons, requested_at_ms, expires_at_ms,
                decided_by)
             VALUES ('ap_{n}', 'c', '{by}', 'mcp:a:b', zeroblob(32), zeroblob(32), 0, 'denied_continue', '{{}}', '{{}}',
                'low', '[]', '[]', 1, 2, '{by}');
             INSERT INTO policies (level, agent, language, source, status, was_proposed, author, created_at_ms, decided_by)
             VALUES ('global', '', 'rules', '', 'superseded', 0, '{by}', 1, '{by}');
             INSERT INTO pins VALUES ('system', 'a', 'tool', 'p{n}', zeroblob(32), '{{}}', 1, '{by}');
             INSERT INTO past_pins (scope, server, kind, name, hash, definition, accepted_at_ms, accepted_by, ended_at_ms)
             VALUES ('system', 'a', 'tool', 'p{n}', zeroblob(32), '{{}}', 1, '{by}', 2);
             INSERT INTO kept_out VALUES ('system', 'a', 'tool', 'p{n}', zeroblob(32), 1, '{by}');
             INSERT INTO agents (id, updated_at_ms, updated_by) VALUES ('a{n}', 1, '{by}');"
        );
    }
    run_sql(directory, &sql).await;
}

#[tokio::test]
async fn people_of_positions_become_the_administrator() {
    let named = [
        ("human-1", "admin"),
        ("human-12", "admin"),
        ("human-3 as agent:coder-7", "admin as agent:coder-7"),
        ("human-1x", "human-1x"),
        ("human-2 as well", "human-2 as well"),
        ("human-", "human-"),
        ("agent:human-1", "agent:human-1"),
        ("inhuman-1", "inhuman-1"),
    ];
    let directory = tempfile::tempdir().unwrap();
    make_version_15(directory.path(), &named.map(|(before, _)| before)).await;
    Store::open(directory.path(), &test_key).await.unwrap().close().await;
    let mut connection = connect(directory.path()).await;
    let versions: i64 =
        sqlx::query_scalar("SELECT max(version) FROM migrations").fetch_one(&mut connection).await.unwrap();
    assert_eq!(usize::try_from(versions).unwrap(), NAMES.len());
    for sql in [
        "SELECT principal FROM approvals ORDER BY number",
        "SELECT decided_by FROM approvals ORDER BY number",
        "SELECT author FROM policies ORDER BY id",
        "SELECT decided_by FROM policies ORDER BY id",
        "SELECT accepted_by FROM pins ORDER BY name",
        "SELECT accepted_by FROM past_pins ORDER BY id",
        "SELECT decided_by FROM kept_out ORDER BY name",
        "SELECT updated_by FROM agents ORDER BY id",
    ] {
        let found: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
        assert_eq!(found, named.map(|(_, after)| after.to_owned()), "{sql}");
    }
}

/// The events come from the log again; what only the database knows remains.
#[tokio::test]
async fn the_table_of_audit_events_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let migrations = BEFORE_DECISIONS.into_iter().chain(BEFORE_PEOPLE).chain(BEFORE_SHARED_TEXTS);
    let event = |seq: u64, minutes: u64| {
        let at_ms = minutes * 60_000;
        let text = format!(
            r#"{{"at_ms":{at_ms},"kind":"auth_failed","level":"warn","actor":{{"kind":"system","id":"octroi"}}}}"#
        );
        (seq, text)
    };
    let events = [event(5, 25), event(6, 31)];
    let pairs = events.clone().map(|(seq, text)| format!("[{seq},{text}]")).join(",");
    let sql = format!(
        "{}
         INSERT INTO audit_chunks VALUES (0, 'n1', 5, 0, 2, '[{pairs}]');
         INSERT INTO audit_nodes VALUES ('n1', 6), ('n2', 9);
         INSERT INTO audit_logs VALUES ('n1', 'key', 4, 3);
         INSERT INTO audit_blocks VALUES (0, 1500000, 1860000);
         INSERT INTO audit_marks VALUES (0, 'event_type', 'auth_failed');
         INSERT INTO audit_late VALUES ('x', 1);
         INSERT INTO audit_counts VALUES (1, 'auth_failed', '', '', '', 7), (2, 'auth_failed', '', '', '', 1),
            (3, 'auth_failed', '', '', '', 1);",
        sql_of(migrations)
    );
    run_sql(directory.path(), &sql).await;

    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(store.last_audit_seq("n1").await.unwrap(), None);
    // A log that lost its end is still noticed, until that is accepted.
    let known = |last_1, last_2| [("n1".to_owned(), last_1), ("n2".to_owned(), last_2)];
    assert_eq!(store.audit_nodes().await.unwrap(), known(6, 9));
    assert_eq!(store.rewind_audit("n2", 4).await.unwrap(), 0);
    assert_eq!(store.last_audit_seq("n2").await.unwrap(), None);
    assert_eq!(store.audit_nodes().await.unwrap(), known(6, 4));
    assert_eq!(store.known_logs().await.unwrap().len(), 1);
    let n_events = async || {
        let page = store.audit_events(&AuditFilter::default(), None, 10).await.unwrap();
        let counts = store.audit_counts(0, 10).await.unwrap();
        (page.rows.len(), counts.iter().map(|count| count.n).sum::<u64>())
    };
    // Events that are in the log no longer are only counted.
    assert_eq!(n_events().await, (0, 7));
    let records = events.each_ref().map(|(seq, text)| AuditRecord::read(*seq, text.as_bytes()).unwrap());
    for (record, last) in records.iter().zip([5, 6]) {
        assert_eq!(store.append_audit("n1", std::slice::from_ref(record)).await.unwrap(), 1);
        assert_eq!(store.last_audit_seq("n1").await.unwrap(), Some(last));
        assert_eq!(store.audit_nodes().await.unwrap(), known(6, 4));
    }
    assert_eq!(n_events().await, (2, 9));
    assert_eq!(store.append_audit("n1", &records).await.unwrap(), 0);
    assert_eq!(store.rewind_audit("n1", 5).await.unwrap(), 1);
    assert_eq!(store.audit_nodes().await.unwrap(), known(5, 4));
    assert_eq!(store.last_audit_seq("n1").await.unwrap(), Some(5));
}

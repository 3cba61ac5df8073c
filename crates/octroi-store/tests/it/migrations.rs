//! Databases of other versions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use octroi_store::{ContentHash, Store};

use crate::support::{approval, catalogue, connect, definition, describe, fill, key, run_sql, test_key};

/// The migrations to the newest version.
const NAMES: [&str; 18] = [
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
    "former_agents",
    "server_consent",
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

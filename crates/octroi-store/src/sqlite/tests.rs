use std::path::Path;

use octroi_core::ServerName;
use serde_json::json;
use sqlx::ConnectOptions as _;

use super::approvals::OPEN;
use super::migrate::{Check, examine};
use super::{PAGE_BYTES, Sqlite, options};
use crate::catalogue::{Catalogue, Saved};
use crate::error::StoreError;
use crate::policy::{PolicyDraft, PolicyLevel};
use crate::server::{CanonicalJson, ManagedBy, ServerKey};

async fn open(directory: &Path) -> (Sqlite, ServerKey) {
    let sqlite = Sqlite::open(directory, &|_, _| Ok(None)).await.unwrap();
    let key = ServerKey::system(ServerName::parse("files").unwrap());
    let definition = CanonicalJson::of(json!({ "command": "x" }));
    sqlite.record_server(&key, ManagedBy::File, &definition, 1).await.unwrap();
    (sqlite, key)
}

fn catalogue(n_tools: usize) -> Catalogue {
    let tools = (0..n_tools).map(|number| json!({ "name": format!("tool{number}") }).to_string()).collect();
    Catalogue { identity: "{}".to_owned(), tools, ..Catalogue::default() }
}

async fn pragma(sqlite: &Sqlite, sql: &'static str) {
    sqlx::query(sql).execute(&sqlite.writer).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_reported_and_leaves_the_old_catalogue() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, key) = open(directory.path()).await;
    sqlite.save_catalogue(&key, &catalogue(3), 2).await.unwrap();

    pragma(&sqlite, "PRAGMA max_page_count = 1").await;
    let error = sqlite.save_catalogue(&key, &catalogue(10_000), 3).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert_eq!(sqlite.catalogues().await.unwrap()[0].catalogue, catalogue(3));

    pragma(&sqlite, "PRAGMA max_page_count = 1000000").await;
    assert_eq!(sqlite.save_catalogue(&key, &catalogue(10_000), 4).await.unwrap(), Saved::Written);
}

#[tokio::test]
async fn a_decision_that_finds_no_room_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, _) = open(directory.path()).await;
    let draft = |n_letters| PolicyDraft {
        level: PolicyLevel::Floor,
        language: "rules".to_owned(),
        source: "x".repeat(n_letters),
        author: "bob".to_owned(),
        rationale: None,
        check_result: None,
    };
    sqlite.activate_policy(&draft(1), None, 1).await.unwrap().unwrap();
    let limit = async |sql: &'static str| {
        sqlx::query(sql).execute(&sqlite.durable).await.unwrap();
    };
    limit("PRAGMA max_page_count = 1").await;
    let error = sqlite.activate_policy(&draft(1_000_000), None, 2).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    let active = sqlite.active_policies().await.unwrap();
    assert_eq!((active.revision, &active.policies[0].draft), (1, &draft(1)));

    limit("PRAGMA max_page_count = 1000000").await;
    sqlite.activate_policy(&draft(1_000_000), Some(1), 3).await.unwrap().unwrap();
    assert_eq!(sqlite.policy_revision().await.unwrap(), 2);
}

#[tokio::test]
async fn a_database_that_became_read_only_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, key) = open(directory.path()).await;
    pragma(&sqlite, "PRAGMA query_only = 1").await;
    let error = sqlite.save_catalogue(&key, &catalogue(3), 2).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_locked_by_another_program_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, key) = open(directory.path()).await;
    pragma(&sqlite, "PRAGMA busy_timeout = 10").await;
    let mut other = options(&sqlite.path).connect().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = sqlite.save_catalogue(&key, &catalogue(3), 2).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(sqlite.save_catalogue(&key, &catalogue(3), 3).await.unwrap(), Saved::Written);
}

#[tokio::test]
async fn a_catalogue_that_was_altered_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, key) = open(directory.path()).await;
    sqlite.save_catalogue(&key, &catalogue(3), 2).await.unwrap();
    pragma(&sqlite, "UPDATE catalogue_items SET item = '{}' WHERE position = 1").await;
    assert_eq!(sqlite.catalogues().await.unwrap(), []);
    assert_eq!(sqlite.save_catalogue(&key, &catalogue(3), 3).await.unwrap(), Saved::Written);
}

#[tokio::test]
async fn settings_are_those_that_were_meant() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, _) = open(directory.path()).await;
    // Durable transactions wait for the disk (FULL, 2); others do not (NORMAL, 1).
    for (pool, expected) in [(&sqlite.writer, 1), (&sqlite.durable, 2), (&sqlite.readers, 1)] {
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await.unwrap();
        let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(pool).await.unwrap();
        let foreign_keys: i64 = sqlx::query_scalar("PRAGMA foreign_keys").fetch_one(pool).await.unwrap();
        let timeout: i64 = sqlx::query_scalar("PRAGMA busy_timeout").fetch_one(pool).await.unwrap();
        assert_eq!((mode.as_str(), synchronous, foreign_keys, timeout), ("wal", expected, 1, 5_000));
    }
    let error = sqlx::query("DELETE FROM servers").execute(&sqlite.readers).await.unwrap_err();
    assert!(matches!(sqlite.failed(error), StoreError::ReadOnly { .. }));
}

#[tokio::test]
async fn a_grant_is_found_without_going_through_all() {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, _) = open(directory.path()).await;
    let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {OPEN}"));
    let steps: Vec<(i64, i64, i64, String)> = sqlx::query_as(sql).fetch_all(&sqlite.readers).await.unwrap();
    let (_, _, _, first) = &steps[0];
    let expected =
        "SEARCH approvals USING INDEX approvals_open (principal=? AND tool=? AND arguments_hash=?)";
    assert_eq!(first, expected);
}

/// Overwrites the first page of a table in the file; returns which checks notice.
async fn noticed(table: &'static str) -> [bool; 2] {
    let directory = tempfile::tempdir().unwrap();
    let (sqlite, _) = open(directory.path()).await;
    let page: i64 = sqlx::query_scalar("SELECT rootpage FROM sqlite_schema WHERE name = ?")
        .bind(table)
        .fetch_one(&sqlite.readers)
        .await
        .unwrap();
    let path = sqlite.path.clone();
    sqlite.close().await;
    let mut bytes = std::fs::read(&path).unwrap();
    let start = usize::try_from(page - 1).unwrap() * PAGE_BYTES as usize;
    bytes[start..start + PAGE_BYTES as usize].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let mut noticed = [false; 2];
    for (noticed, check) in noticed.iter_mut().zip([Check::Whole, Check::AllButAudit]) {
        let mut connection = options(&path).read_only(true).connect().await.unwrap();
        *noticed = match examine(&path, &mut connection, check).await {
            Ok(_) => false,
            Err(StoreError::Corrupt { .. }) => true,
            Err(other) => panic!("{other:?}"),
        };
    }
    noticed
}

#[tokio::test]
async fn damage_is_noticed_in_large_files_too_but_for_the_audit_log() {
    for table in ["servers", "approvals", "policies", "pins", "audit_blocks", "tool_uses", "migrations"] {
        assert_eq!(noticed(table).await, [true, true], "{table}");
    }
    assert_eq!(noticed("audit_chunks").await, [true, false]);
}

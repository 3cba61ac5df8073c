//! Migrations: forwards only, all or nothing.

use std::path::Path;

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _};
use tracing::info;

use super::failure::from_sqlx;
use super::{files, options};
use crate::error::StoreError;
use crate::hash::ContentHash;

/// The migrations in order; the first leads to version 1. A released migration never changes.
const MIGRATIONS: [Migration; 25] = [
    Migration { name: "servers", sql: include_str!("../../migrations/sqlite/0001_servers.sql") },
    Migration { name: "catalogues", sql: include_str!("../../migrations/sqlite/0002_catalogues.sql") },
    Migration { name: "health", sql: include_str!("../../migrations/sqlite/0003_health.sql") },
    Migration { name: "approvals", sql: include_str!("../../migrations/sqlite/0004_approvals.sql") },
    Migration { name: "policies", sql: include_str!("../../migrations/sqlite/0005_policies.sql") },
    Migration { name: "pins", sql: include_str!("../../migrations/sqlite/0006_pins.sql") },
    Migration { name: "agents", sql: include_str!("../../migrations/sqlite/0007_agents.sql") },
    Migration { name: "audit", sql: include_str!("../../migrations/sqlite/0008_audit.sql") },
    Migration { name: "kept_out", sql: include_str!("../../migrations/sqlite/0009_kept_out.sql") },
    Migration { name: "other_params", sql: include_str!("../../migrations/sqlite/0010_other_params.sql") },
    Migration {
        name: "kept_arguments",
        sql: include_str!("../../migrations/sqlite/0011_kept_arguments.sql"),
    },
    Migration { name: "audit_logs", sql: include_str!("../../migrations/sqlite/0012_audit_logs.sql") },
    Migration { name: "whole_params", sql: include_str!("../../migrations/sqlite/0013_whole_params.sql") },
    Migration { name: "asks_clients", sql: include_str!("../../migrations/sqlite/0014_asks_clients.sql") },
    Migration { name: "task_audits", sql: include_str!("../../migrations/sqlite/0015_task_audits.sql") },
    Migration { name: "people", sql: include_str!("../../migrations/sqlite/0016_people.sql") },
    Migration { name: "invites", sql: include_str!("../../migrations/sqlite/0017_invites.sql") },
    Migration { name: "former_agents", sql: include_str!("../../migrations/sqlite/0018_former_agents.sql") },
    Migration {
        name: "server_consent",
        sql: include_str!("../../migrations/sqlite/0019_server_consent.sql"),
    },
    Migration { name: "shared_texts", sql: include_str!("../../migrations/sqlite/0020_shared_texts.sql") },
    Migration { name: "secrets", sql: include_str!("../../migrations/sqlite/0021_secrets.sql") },
    Migration { name: "audit_calls", sql: include_str!("../../migrations/sqlite/0022_audit_calls.sql") },
    Migration {
        name: "server_entries",
        sql: include_str!("../../migrations/sqlite/0023_server_entries.sql"),
    },
    Migration { name: "agent_presets", sql: include_str!("../../migrations/sqlite/0024_agent_presets.sql") },
    Migration {
        name: "browser_sessions",
        sql: include_str!("../../migrations/sqlite/0025_browser_sessions.sql"),
    },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS migrations (
    version  INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    checksum TEXT NOT NULL
) STRICT";

struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// The version of a database: the number of applied migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(usize);

impl Version {
    /// Whether there is nothing in it yet.
    pub(super) fn is_new(self) -> bool {
        self.0 == 0
    }

    /// Whether the table of approvals exists.
    pub(super) fn has_approvals(self) -> bool {
        self.has("approvals")
    }

    /// Whether the tables of secrets and of their key exist.
    pub(super) fn has_secrets(self) -> bool {
        self.has("secrets")
    }

    fn has(self, name: &str) -> bool {
        MIGRATIONS.iter().take(self.0).any(|migration| migration.name == name)
    }
}

/// Larger files are large because of the audit log, and are not checked completely.
const CHECKED_WHOLE_MAX: u64 = 256 << 20;

/// How much of a file the integrity check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// The whole file.
    Whole,
    /// All tables except the audit events: reading gigabytes at every start would take too long, and they
    /// can be rebuilt from the log.
    AllButAudit,
}

impl Check {
    fn of_file(n_bytes: u64) -> Self {
        if n_bytes <= CHECKED_WHOLE_MAX { Self::Whole } else { Self::AllButAudit }
    }

    /// `ok`, or what is wrong.
    async fn run(self, connection: &mut SqliteConnection) -> Result<String, sqlx::Error> {
        match self {
            Self::Whole => sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await,
            Self::AllButAudit => {
                let wrong = sqlx::query_scalar(
                    "SELECT quick_check FROM sqlite_schema, pragma_quick_check(sqlite_schema.name)
                     WHERE type = 'table' AND name <> 'audit_chunks' AND quick_check <> 'ok' LIMIT 1",
                );
                Ok(wrong.fetch_optional(connection).await?.unwrap_or_else(|| "ok".to_owned()))
            }
        }
    }
}

/// Checks the integrity and the version of a file, without changing it.
pub(crate) async fn inspect(path: &Path) -> Result<Version, StoreError> {
    // A rollback journal is left if the very first transaction was interrupted, before the write-ahead
    // log existed. It has to be rolled back, which a read-only connection cannot do.
    let is_cut_off = files::beside(path, "-journal").exists();
    let failed = |error| from_sqlx(path, error);
    let mut connection = options(path).read_only(!is_cut_off).connect().await.map_err(failed)?;
    let n_bytes = std::fs::metadata(path).map_err(|error| StoreError::io(path, error))?.len();
    let version = examine(path, &mut connection, Check::of_file(n_bytes)).await;
    connection.close().await.map_err(failed)?;
    version
}

/// Applies the missing migrations, after a backup if the database is not empty.
pub(crate) async fn bring_up_to_date(
    path: &Path,
    writer: &SqlitePool,
    version: Version,
) -> Result<(), StoreError> {
    let Version(n_applied) = version;
    let missing = MIGRATIONS.get(n_applied..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    if n_applied > 0 {
        back_up(path, writer, version).await?;
    }
    let failed = |error| from_sqlx(path, error);
    apply(writer, n_applied, missing).await.map_err(failed)?;
    // The file alone has the new tables from now on, whatever becomes of the write-ahead log.
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(writer).await.map_err(failed)?;
    info!(from = n_applied, to = MIGRATIONS.len(), "database migrated");
    Ok(())
}

pub(super) async fn examine(
    path: &Path,
    connection: &mut SqliteConnection,
    check: Check,
) -> Result<Version, StoreError> {
    let failed = |error| from_sqlx(path, error);
    let verdict = check.run(connection).await.map_err(failed)?;
    if verdict != "ok" {
        // The result may have several lines; the first is sufficient.
        let detail = verdict.lines().next().unwrap_or_default().trim_matches(['*', ' ']).to_owned();
        return Err(StoreError::Corrupt { path: path.to_owned(), detail });
    }
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(failed)?;
    if tables.is_empty() {
        return Ok(Version(0));
    }
    if !tables.iter().any(|table| table == "migrations") {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let applied: Vec<(i64, String)> =
        sqlx::query_as("SELECT version, checksum FROM migrations ORDER BY version")
            .fetch_all(connection)
            .await
            .map_err(failed)?;
    compare(path, &applied)
}

/// A database is known if its migrations are the first ones of this program.
fn compare(path: &Path, applied: &[(i64, String)]) -> Result<Version, StoreError> {
    let newest = applied.last().map_or(0, |(version, _)| *version);
    if newest > number(MIGRATIONS.len()) {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            database: newest,
            program: number(MIGRATIONS.len()),
        });
    }
    for (index, (version, checksum)) in applied.iter().enumerate() {
        let expected = MIGRATIONS.get(index).map(|migration| ContentHash::of(migration.sql));
        if *version != number(index + 1) || expected.as_ref().map(ContentHash::as_str) != Some(checksum) {
            return Err(StoreError::MigrationChanged { path: path.to_owned(), version: number(index + 1) });
        }
    }
    Ok(Version(applied.len()))
}

/// Copies the database. The copy gets its final name when it is complete.
async fn back_up(path: &Path, writer: &SqlitePool, Version(version): Version) -> Result<(), StoreError> {
    let backup = files::beside(path, &format!(".backup-{version}"));
    let unfinished = files::beside(&backup, ".part");
    files::remove(&unfinished)?;
    // SQLite would create it readable for everybody, but uses an existing empty file as it is.
    files::make_private_file(&unfinished)?;
    let copied =
        sqlx::query("VACUUM INTO ?").bind(unfinished.to_string_lossy().as_ref()).execute(writer).await;
    if let Err(error) = copied {
        files::remove(&unfinished)?;
        return Err(from_sqlx(&backup, error));
    }
    files::rename_durably(&unfinished, &backup)?;
    info!(file = %backup.display(), "database backed up");
    Ok(())
}

async fn apply(writer: &SqlitePool, n_applied: usize, missing: &[Migration]) -> Result<(), sqlx::Error> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(TABLE).execute(&mut *transaction).await?;
    for (index, migration) in missing.iter().enumerate() {
        sqlx::raw_sql(migration.sql).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO migrations (version, name, checksum) VALUES (?, ?, ?)")
            .bind(number(n_applied + index + 1))
            .bind(migration.name)
            .bind(ContentHash::of(migration.sql).as_str())
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

/// A version as the database stores it.
fn number(version: usize) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

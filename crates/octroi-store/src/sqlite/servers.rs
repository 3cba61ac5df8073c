//! Server definitions.

use octroi_core::ServerName;

use super::Sqlite;
use crate::error::StoreError;
use crate::server::{CanonicalJson, ManagedBy, Recorded, RecordedChange, Scope, ServerKey, ServerRecord};

/// The columns in the order of the queries below.
type Row = (String, String, String, String, i64, Option<bool>, Option<String>, bool, bool, i64, i64);

impl Sqlite {
    pub(crate) async fn record_server(
        &self,
        key: &ServerKey,
        managed_by: ManagedBy,
        definition: &CanonicalJson,
        now_ms: i64,
    ) -> Result<Recorded, StoreError> {
        let mut transaction = self.begin().await?;
        let known: Option<(i64, String, String)> = sqlx::query_as(
            "SELECT revision, content_hash, managed_by FROM servers WHERE scope = ? AND name = ?",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .fetch_optional(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let recorded = match known {
            None => Recorded { revision: 1, change: RecordedChange::Added },
            Some((revision, hash, manager))
                if hash == definition.hash().as_str() && manager == managed_by.as_str() =>
            {
                Recorded { revision, change: RecordedChange::Unchanged }
            }
            Some((revision, ..)) => Recorded { revision: revision + 1, change: RecordedChange::Changed },
        };
        sqlx::query(
            "INSERT INTO servers
                (scope, name, managed_by, definition, content_hash, revision, first_seen_ms, last_seen_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
             ON CONFLICT (scope, name) DO UPDATE SET
                managed_by = ?3, definition = ?4, content_hash = ?5, revision = ?6, last_seen_ms = ?7",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .bind(managed_by.as_str())
        .bind(definition.as_str())
        .bind(definition.hash().as_str())
        .bind(recorded.revision)
        .bind(now_ms)
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit(transaction).await?;
        Ok(recorded)
    }

    pub(crate) async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT scope, name, managed_by, definition, revision, enabled_override, switched_by,
                is_agreed, asks_clients, first_seen_ms, last_seen_ms
             FROM servers ORDER BY scope, name",
        )
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        rows.into_iter().map(|row| self.server_record(row)).collect()
    }

    pub(crate) async fn server(&self, key: &ServerKey) -> Result<Option<ServerRecord>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT scope, name, managed_by, definition, revision, enabled_override, switched_by,
                is_agreed, asks_clients, first_seen_ms, last_seen_ms
             FROM servers WHERE scope = ? AND name = ?",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .fetch_optional(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        row.map(|row| self.server_record(row)).transpose()
    }

    pub(crate) async fn set_enabled_override(
        &self,
        key: &ServerKey,
        enabled: Option<(bool, &str)>,
    ) -> Result<(), StoreError> {
        let (enabled, by) = enabled.unzip();
        let result = sqlx::query(
            "UPDATE servers SET enabled_override = ?1, switched_by = ?2, is_agreed = is_agreed OR coalesce(?1, 0)
             WHERE scope = ?3 AND name = ?4",
        )
        .bind(enabled)
        .bind(by)
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .execute(&self.writer)
        .await
        .map_err(|error| self.failed(error))?;
        known(key, result.rows_affected())
    }

    pub(crate) async fn agree_to_server(&self, key: &ServerKey) -> Result<(), StoreError> {
        self.set_flag("UPDATE servers SET is_agreed = ? WHERE scope = ? AND name = ?", key, true).await
    }

    pub(crate) async fn set_asks_clients(
        &self,
        key: &ServerKey,
        asks_clients: bool,
    ) -> Result<(), StoreError> {
        self.set_flag("UPDATE servers SET asks_clients = ? WHERE scope = ? AND name = ?", key, asks_clients)
            .await
    }

    /// Runs an update statement for one server, which must be known.
    async fn set_flag(&self, statement: &'static str, key: &ServerKey, flag: bool) -> Result<(), StoreError> {
        let result = sqlx::query(statement)
            .bind(flag)
            .bind(key.scope.to_string())
            .bind(key.name.as_str())
            .execute(&self.writer)
            .await
            .map_err(|error| self.failed(error))?;
        known(key, result.rows_affected())
    }

    pub(crate) async fn forget_server(&self, key: &ServerKey) -> Result<bool, StoreError> {
        self.delete("DELETE FROM servers WHERE scope = ? AND name = ?", key).await
    }

    /// Runs a delete statement for one server; returns whether a row was deleted.
    pub(super) async fn delete(&self, sql: &'static str, key: &ServerKey) -> Result<bool, StoreError> {
        let result = sqlx::query(sql)
            .bind(key.scope.to_string())
            .bind(key.name.as_str())
            .execute(&self.writer)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(result.rows_affected() > 0)
    }

    /// Parses the key of a row.
    pub(super) fn server_key(&self, scope: &str, name: &str) -> Result<ServerKey, StoreError> {
        Ok(ServerKey {
            scope: Scope::parse(scope).ok_or_else(self.unreadable("scope"))?,
            name: ServerName::parse(name).ok().ok_or_else(self.unreadable("server name"))?,
        })
    }

    fn server_record(&self, row: Row) -> Result<ServerRecord, StoreError> {
        let (scope, name, managed_by, definition, revision, enabled_override, by, agreed, asks, first, last) =
            row;
        Ok(ServerRecord {
            key: self.server_key(&scope, &name)?,
            managed_by: ManagedBy::parse(&managed_by).ok_or_else(self.unreadable("manager of a server"))?,
            definition: CanonicalJson::stored(definition),
            revision,
            enabled_override,
            switched_by: by,
            is_agreed: agreed,
            asks_clients: asks,
            first_seen_ms: first,
            last_seen_ms: last,
        })
    }

    /// Maps a violated foreign key to "server is not recorded".
    pub(super) fn failed_for(&self, key: &ServerKey, error: sqlx::Error) -> StoreError {
        match &error {
            sqlx::Error::Database(database) if database.is_foreign_key_violation() => {
                StoreError::UnknownServer { key: key.clone() }
            }
            _ => self.failed(error),
        }
    }
}

/// A statement about a server that is not recorded changes no row.
fn known(key: &ServerKey, n_rows: u64) -> Result<(), StoreError> {
    match n_rows {
        0 => Err(StoreError::UnknownServer { key: key.clone() }),
        _ => Ok(()),
    }
}

//! Secrets: each value under a key of its own, and these keys under the master key.
//!
//! A change of the master key encrypts the small keys again and leaves the values as they are.

use octroi_core::{Scope, Secret};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use tracing::warn;

use super::sealing::SealedColumn;
use super::{Sqlite, entries, sealing};
use crate::error::StoreError;
use crate::key::{Cipher, KnownKey, MasterKey, SEALED};
use crate::secret::{Rekeyed, SecretRecord, StoredSecret};

/// What the master key encrypts the keys of secrets for.
const DATA_KEYS: &str = "octroi data keys v1";
/// What the key of a secret is for.
const VALUE: &str = "octroi secret value v1";

/// Binds a text to the secret, the revision and the column it stands in.
fn place(scope: &str, name: &str, revision: i64, column: &str) -> String {
    format!("{scope}\n{name}\n{revision}\n{column}")
}

/// The key that the database was last used with. A copy of the database file may lack what the write-ahead log had.
pub(super) async fn known_key(connection: &mut SqliteConnection) -> Result<Option<KnownKey>, sqlx::Error> {
    let last = "SELECT key_id FROM (SELECT 1 AS place, key_id FROM master_key UNION ALL SELECT 2, key_id FROM secrets)
        ORDER BY place LIMIT 1";
    let key_id: Option<String> = sqlx::query_scalar(last).fetch_optional(&mut *connection).await?;
    let Some(key_id) = key_id else {
        return Ok(None);
    };
    let n_secrets: i64 = sqlx::query_scalar("SELECT count(*) FROM secrets WHERE key_id = ?")
        .bind(&key_id)
        .fetch_one(&mut *connection)
        .await?;
    let n_entries = entries::count_sealed(connection).await?;
    Ok(Some(KnownKey { key_id, n_secrets: (n_secrets + n_entries).cast_unsigned() }))
}

/// Remembers which master key is in use.
async fn remember_key(connection: &mut SqliteConnection, key: &MasterKey) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR REPLACE INTO master_key (one, key_id) VALUES (1, ?)")
        .bind(key.id())
        .execute(connection)
        .await
        .map(drop)
}

impl Sqlite {
    /// Remembers the master key in use, unless it is known.
    pub(super) async fn keep_key_id(&self) -> Result<(), StoreError> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        let kept: Option<String> = sqlx::query_scalar("SELECT key_id FROM master_key")
            .fetch_optional(&self.writer)
            .await
            .map_err(|error| self.failed(error))?;
        if kept == Some(key.id()) {
            return Ok(());
        }
        let mut durable = self.begin_durable().await?;
        remember_key(&mut durable.transaction, key).await.map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) fn key_id(&self) -> Option<String> {
        self.key.as_ref().map(MasterKey::id)
    }

    pub(crate) async fn secrets(&self) -> Result<Vec<SecretRecord>, StoreError> {
        self.secret_rows().await?.iter().map(|row| self.read_secret(row)).collect()
    }

    pub(crate) async fn secret_values(&self) -> Result<Vec<StoredSecret>, StoreError> {
        let rows = self.secret_rows().await?;
        let read = rows.iter().map(|row| {
            let SecretRecord { scope, name, revision, .. } = self.read_secret(row)?;
            let (sealed, data_key): (&str, &str) =
                (self.column(row, "value")?, self.column(row, "data_key")?);
            let text = scope.to_string();
            let value = self.key.as_ref().and_then(|key| {
                let data_key = key
                    .cipher(DATA_KEYS)
                    .open(data_key, &place(&text, &name, revision, "data_key"))
                    .and_then(|digits| MasterKey::parse(&digits))?;
                data_key.cipher(VALUE).open(sealed, &place(&text, &name, revision, "value"))
            });
            Ok(StoredSecret { scope, name, value: value.map(Secret::new) })
        });
        read.collect()
    }

    pub(crate) async fn save_secret(
        &self,
        scope: &Scope,
        name: &str,
        value: &Secret,
        (by, now_ms): (&str, i64),
    ) -> Result<SecretRecord, StoreError> {
        let no_key = || StoreError::NoKey { path: self.path.clone() };
        let key = self.key.as_ref().ok_or_else(no_key)?;
        let text = scope.to_string();
        let mut durable = self.begin_durable().await?;
        let before: Option<i64> =
            sqlx::query_scalar("SELECT revision FROM secrets WHERE scope = ? AND name = ?")
                .bind(&text)
                .bind(name)
                .fetch_optional(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        let revision = before.unwrap_or(0) + 1;
        let data_key = MasterKey::random().ok_or_else(no_key)?;
        let sealed = data_key
            .cipher(VALUE)
            .seal(value.expose(), &place(&text, name, revision, "value"))
            .ok_or_else(no_key)?;
        let sealed_key = key
            .cipher(DATA_KEYS)
            .seal(&data_key.to_text(), &place(&text, name, revision, "data_key"))
            .ok_or_else(no_key)?;
        let row = sqlx::query(
            "INSERT INTO secrets (scope, name, revision, value, data_key, key_id,
                created_at_ms, created_by, updated_at_ms, updated_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?8)
             ON CONFLICT (scope, name) DO UPDATE SET revision = ?3, value = ?4, data_key = ?5, key_id = ?6,
                updated_at_ms = ?7, updated_by = ?8
             RETURNING *",
        )
        .bind(&text)
        .bind(name)
        .bind(revision)
        .bind(sealed)
        .bind(sealed_key)
        .bind(key.id())
        .bind(now_ms)
        .bind(by)
        .fetch_one(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let record = self.read_secret(&row)?;
        drop(row);
        self.commit_durable(durable).await?;
        Ok(record)
    }

    pub(crate) async fn remove_secret(&self, scope: &Scope, name: &str) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let removed = sqlx::query("DELETE FROM secrets WHERE scope = ? AND name = ?")
            .bind(scope.to_string())
            .bind(name)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        Ok(removed.rows_affected() > 0)
    }

    pub(crate) async fn rekey(&self, new: &MasterKey) -> Result<Rekeyed, StoreError> {
        let old = self.key.as_ref().ok_or_else(|| StoreError::NoKey { path: self.path.clone() })?;
        let mut durable = self.begin_durable().await?;
        let resealed = reseal(&mut durable.transaction, old, new).await;
        let rekeyed = resealed.map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        // What the old key encrypted should not stay in the write-ahead log. The change itself is made already.
        if let Err(error) = self.checkpoint().await {
            warn!(%error, hint = error.hint(), "the database was not checkpointed");
        }
        Ok(rekeyed)
    }

    async fn secret_rows(&self) -> Result<Vec<SqliteRow>, StoreError> {
        sqlx::query("SELECT * FROM secrets ORDER BY scope, name")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))
    }

    fn read_secret(&self, row: &SqliteRow) -> Result<SecretRecord, StoreError> {
        let (scope, key_id): (&str, String) = (self.column(row, "scope")?, self.column(row, "key_id")?);
        Ok(SecretRecord {
            scope: Scope::parse(scope).ok_or_else(self.unreadable("owner"))?,
            name: self.column(row, "name")?,
            revision: self.column(row, "revision")?,
            created_at_ms: self.column(row, "created_at_ms")?,
            created_by: self.column(row, "created_by")?,
            updated_at_ms: self.column(row, "updated_at_ms")?,
            updated_by: self.column(row, "updated_by")?,
            is_readable: self.key.as_ref().is_some_and(|key| key.id() == key_id),
        })
    }
}

/// Encrypts everything again in one transaction. What the old key cannot decrypt stays as it is.
async fn reseal(
    connection: &mut SqliteConnection,
    old: &MasterKey,
    new: &MasterKey,
) -> Result<Rekeyed, sqlx::Error> {
    let mut rekeyed = Rekeyed::default();
    let again = |from: &Cipher, to: &Cipher, sealed: &str, place: &str| match from.open(sealed, place) {
        Some(plain) => to.seal(&plain, place).ok_or(sqlx::Error::WorkerCrashed).map(Some),
        None => Ok(None),
    };
    let (from, to) = (old.cipher(DATA_KEYS), new.cipher(DATA_KEYS));
    let rows: Vec<(String, String, i64, String)> =
        sqlx::query_as("SELECT scope, name, revision, data_key FROM secrets")
            .fetch_all(&mut *connection)
            .await?;
    for (scope, name, revision, data_key) in rows {
        match again(&from, &to, &data_key, &place(&scope, &name, revision, "data_key"))? {
            Some(sealed) => {
                sqlx::query("UPDATE secrets SET data_key = ?3, key_id = ?4 WHERE scope = ?1 AND name = ?2")
                    .bind(scope)
                    .bind(name)
                    .bind(sealed)
                    .bind(new.id())
                    .execute(&mut *connection)
                    .await?;
                rekeyed.n_secrets += 1;
            }
            None => rekeyed.n_unreadable += 1,
        }
    }
    let (from, to) = (old.cipher(sealing::PURPOSE), new.cipher(sealing::PURPOSE));
    for column in SealedColumn::ALL {
        let name = column.name();
        let select = format!("SELECT id, {name} FROM approvals WHERE {name} LIKE '{SEALED}%'");
        let rows: Vec<(String, String)> =
            sqlx::query_as(sqlx::AssertSqlSafe(select)).fetch_all(&mut *connection).await?;
        for (id, sealed) in rows {
            let is_counted = column == SealedColumn::Preview;
            match again(&from, &to, &sealed, &column.place(&id))? {
                Some(sealed) => {
                    let update = format!("UPDATE approvals SET {name} = ?2 WHERE id = ?1");
                    sqlx::query(sqlx::AssertSqlSafe(update))
                        .bind(id)
                        .bind(sealed)
                        .execute(&mut *connection)
                        .await?;
                    rekeyed.n_approvals += usize::from(is_counted);
                }
                None => rekeyed.n_unreadable += usize::from(is_counted),
            }
        }
    }
    let (n_entries, n_unreadable) = entries::reseal(connection, old, new).await?;
    rekeyed.n_entries = n_entries;
    rekeyed.n_unreadable += n_unreadable;
    remember_key(connection, new).await?;
    Ok(rekeyed)
}

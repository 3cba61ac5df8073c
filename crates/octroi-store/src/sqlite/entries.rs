//! Servers that were added at run time. What is configured of each is encrypted, and stands in its revisions.

use octroi_core::{Scope, ServerName};
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::{Durable, Sqlite};
use crate::entry::{EntryChange, EntryDraft, EntryRefusal, EntryRevision, ServerEntry};
use crate::error::StoreError;
use crate::key::{Cipher, MasterKey, SEALED};
use crate::server::{CanonicalJson, ServerKey};

/// What the master key encrypts entries for.
const PURPOSE: &str = "octroi server entries v1";
/// How many revisions of one server are kept.
const REVISIONS_MAX: i64 = 100;
/// How many deleted servers of one owner are remembered.
const DELETED_MAX: i64 = 100;

/// Binds an entry to its row.
fn place(id: &str, revision: i64) -> String {
    format!("{id}\n{revision}")
}

impl Sqlite {
    pub(crate) async fn server_entries(&self) -> Result<Vec<ServerEntry>, StoreError> {
        let rows = sqlx::query(
            "SELECT server_entries.*, server_revisions.entry AS entry FROM server_entries
             LEFT JOIN server_revisions ON server_revisions.server = server_entries.id
                AND server_revisions.revision = server_entries.revision
             ORDER BY server_entries.scope, server_entries.name",
        )
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_entry(row)).collect()
    }

    pub(crate) async fn save_server_entry(
        &self,
        draft: &EntryDraft,
        by: &str,
        now_ms: i64,
    ) -> Result<Result<ServerEntry, EntryRefusal>, StoreError> {
        let mut durable = self.begin_durable().await?;
        let current: Option<i64> = sqlx::query_scalar("SELECT revision FROM server_entries WHERE id = ?")
            .bind(&draft.id)
            .fetch_optional(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        if current != draft.replaces {
            return Ok(Err(EntryRefusal::ChangedMeanwhile));
        }
        let (scope, name) = (draft.key.scope.to_string(), draft.key.name.as_str());
        let taken: Option<String> =
            sqlx::query_scalar("SELECT id FROM server_entries WHERE scope = ? AND name = ? AND id <> ?")
                .bind(&scope)
                .bind(name)
                .bind(&draft.id)
                .fetch_optional(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        if taken.is_some() {
            return Ok(Err(EntryRefusal::NameTaken));
        }
        let revision = self
            .add_revision(&mut durable, (&draft.id, &draft.key), draft.change, Some(&draft.entry), by, now_ms)
            .await?;
        let row = sqlx::query(
            "INSERT INTO server_entries
                (id, scope, name, title, revision, created_at_ms, created_by, updated_at_ms, updated_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?7)
             ON CONFLICT (id) DO UPDATE SET scope = ?2, name = ?3, title = ?4, revision = ?5,
                updated_at_ms = ?6, updated_by = ?7
             RETURNING *, NULL AS entry",
        )
        .bind(&draft.id)
        .bind(&scope)
        .bind(name)
        .bind(&draft.title)
        .bind(revision)
        .bind(now_ms)
        .bind(by)
        .fetch_one(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let written = self.read_entry(&row)?;
        drop(row);
        self.commit_durable(durable).await?;
        Ok(Ok(ServerEntry { entry: Some(draft.entry.clone()), ..written }))
    }

    pub(crate) async fn delete_server_entry(
        &self,
        id: &str,
        by: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let found: Option<(String, String)> =
            sqlx::query_as("SELECT scope, name FROM server_entries WHERE id = ?")
                .bind(id)
                .fetch_optional(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        let Some((scope, name)) = found else {
            return Ok(false);
        };
        let key = self.server_key(&scope, &name)?;
        self.add_revision(&mut durable, (id, &key), EntryChange::Deleted, None, by, now_ms).await?;
        for sql in [
            "DELETE FROM server_entries WHERE id = ?1",
            "DELETE FROM server_preferences WHERE server = ?1",
            "DELETE FROM session_servers WHERE server = ?1",
            "DELETE FROM agent_servers WHERE server = ?1",
        ] {
            sqlx::query(sql)
                .bind(id)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        // People could fill the disk with servers that they add and delete.
        sqlx::query(
            "DELETE FROM server_revisions WHERE scope = ?1 AND server IN
                (SELECT server FROM server_revisions
                 WHERE scope = ?1 AND change = 'deleted' AND server NOT IN (SELECT id FROM server_entries)
                 GROUP BY server ORDER BY max(at_ms) DESC, server DESC LIMIT -1 OFFSET ?2)",
        )
        .bind(&scope)
        .bind(DELETED_MAX)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        Ok(true)
    }

    async fn add_revision(
        &self,
        durable: &mut Durable,
        (id, key): (&str, &ServerKey),
        change: EntryChange,
        entry: Option<&CanonicalJson>,
        by: &str,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        let last: Option<i64> =
            sqlx::query_scalar("SELECT max(revision) FROM server_revisions WHERE server = ?")
                .bind(id)
                .fetch_one(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        let revision = last.unwrap_or(0) + 1;
        let sealed = entry.map(|entry| {
            let cipher = self.key.as_ref().map(|key| key.cipher(PURPOSE));
            let sealed = cipher.and_then(|cipher| cipher.seal(entry.as_str(), &place(id, revision)));
            sealed.ok_or_else(|| StoreError::NoKey { path: self.path.clone() })
        });
        sqlx::query(
            "INSERT INTO server_revisions (server, revision, scope, name, change, entry, at_ms, by)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(revision)
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .bind(change.as_str())
        .bind(sealed.transpose()?)
        .bind(now_ms)
        .bind(by)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query("DELETE FROM server_revisions WHERE server = ? AND revision <= ?")
            .bind(id)
            .bind(revision - REVISIONS_MAX)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(revision)
    }

    pub(crate) async fn server_revisions(&self, id: &str) -> Result<Vec<EntryRevision>, StoreError> {
        let rows = sqlx::query("SELECT * FROM server_revisions WHERE server = ? ORDER BY revision DESC")
            .bind(id)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        let read = rows.iter().map(|row| {
            let change: &str = self.column(row, "change")?;
            let revision = self.column(row, "revision")?;
            Ok(EntryRevision {
                server: id.to_owned(),
                revision,
                key: self.key_column(row)?,
                change: EntryChange::parse(change).ok_or_else(self.unreadable("change of a server"))?,
                entry: self.opened_entry(id, revision, self.column(row, "entry")?),
                at_ms: self.column(row, "at_ms")?,
                by: self.column(row, "by")?,
            })
        });
        read.collect()
    }

    pub(crate) async fn deleted_server(&self, key: &ServerKey) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar(
            "SELECT server FROM server_revisions WHERE scope = ? AND name = ? AND change = 'deleted'
                AND server NOT IN (SELECT id FROM server_entries)
             ORDER BY at_ms DESC, server DESC LIMIT 1",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .fetch_optional(&self.readers)
        .await
        .map_err(|error| self.failed(error))
    }

    fn read_entry(&self, row: &SqliteRow) -> Result<ServerEntry, StoreError> {
        let (id, revision): (String, i64) = (self.column(row, "id")?, self.column(row, "revision")?);
        Ok(ServerEntry {
            key: self.key_column(row)?,
            title: self.column(row, "title")?,
            entry: self.opened_entry(&id, revision, self.column(row, "entry")?),
            id,
            revision,
            created_at_ms: self.column(row, "created_at_ms")?,
            created_by: self.column(row, "created_by")?,
            updated_at_ms: self.column(row, "updated_at_ms")?,
            updated_by: self.column(row, "updated_by")?,
        })
    }

    fn key_column(&self, row: &SqliteRow) -> Result<ServerKey, StoreError> {
        let (scope, name): (&str, &str) = (self.column(row, "scope")?, self.column(row, "name")?);
        Ok(ServerKey {
            scope: Scope::parse(scope).ok_or_else(self.unreadable("scope"))?,
            name: ServerName::parse(name).ok().ok_or_else(self.unreadable("server name"))?,
        })
    }

    fn opened_entry(&self, id: &str, revision: i64, sealed: Option<String>) -> Option<CanonicalJson> {
        let cipher = self.key.as_ref()?.cipher(PURPOSE);
        Some(CanonicalJson::stored(cipher.open(&sealed?, &place(id, revision))?))
    }
}

/// How many current entries are encrypted. An older version has no table of them.
pub(super) async fn count_sealed(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let table = "SELECT count(*) FROM sqlite_schema WHERE name = 'server_entries'";
    let n_tables: i64 = sqlx::query_scalar(table).fetch_one(&mut *connection).await?;
    if n_tables == 0 {
        return Ok(0);
    }
    sqlx::query_scalar("SELECT count(*) FROM server_entries").fetch_one(connection).await
}

/// Encrypts all entries with another key; returns how many, and how many an earlier key had encrypted.
pub(super) async fn reseal(
    connection: &mut SqliteConnection,
    old: &MasterKey,
    new: &MasterKey,
) -> Result<(usize, usize), sqlx::Error> {
    let (from, to): (Cipher, Cipher) = (old.cipher(PURPOSE), new.cipher(PURPOSE));
    let rows: Vec<(String, i64, String)> =
        sqlx::query_as("SELECT server, revision, entry FROM server_revisions WHERE entry IS NOT NULL")
            .fetch_all(&mut *connection)
            .await?;
    let (mut n_sealed, mut n_unreadable) = (0, 0);
    for (id, revision, sealed) in rows {
        debug_assert!(sealed.starts_with(SEALED), "an entry is stored as plain text");
        let place = place(&id, revision);
        let Some(plain) = from.open(&sealed, &place) else {
            n_unreadable += 1;
            continue;
        };
        let sealed = to.seal(&plain, &place).ok_or(sqlx::Error::WorkerCrashed)?;
        sqlx::query("UPDATE server_revisions SET entry = ?3 WHERE server = ?1 AND revision = ?2")
            .bind(id)
            .bind(revision)
            .bind(sealed)
            .execute(&mut *connection)
            .await?;
        n_sealed += 1;
    }
    Ok((n_sealed, n_unreadable))
}

//! Pinned definitions.

use sqlx::sqlite::SqliteRow;

use super::{Durable, Sqlite};
use crate::error::StoreError;
use crate::pin::{Accepted, HeldDefinition, KeptOut, PastPin, PinKey, PinKind, PinRecord};
use crate::server::ServerKey;

impl Sqlite {
    pub(crate) async fn pins(&self) -> Result<Vec<PinRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM pins ORDER BY scope, server, kind, name")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_pin(row)).collect()
    }

    pub(crate) async fn save_pins(&self, pins: &[PinRecord]) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        for pin in pins {
            self.write_pin(&mut durable, pin).await?;
        }
        self.commit_durable(durable).await
    }

    pub(crate) async fn hold(&self, definitions: &[HeldDefinition]) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        for held in definitions {
            sqlx::query(
                "INSERT INTO held_definitions (scope, server, kind, name, hash, definition, seen_at_ms, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                 ON CONFLICT DO UPDATE SET hash = ?5, definition = ?6, seen_at_ms = ?7, reason = ?8",
            )
            .bind(held.key.server.scope.to_string())
            .bind(held.key.server.name.as_str())
            .bind(held.key.kind.as_str())
            .bind(&held.key.name)
            .bind(held.hash.as_slice())
            .bind(&held.definition)
            .bind(held.seen_at_ms)
            .bind(&held.reason)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit_durable(durable).await
    }

    pub(crate) async fn held(&self) -> Result<Vec<HeldDefinition>, StoreError> {
        let rows = sqlx::query("SELECT * FROM held_definitions ORDER BY scope, server, kind, name")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_held(row)).collect()
    }

    pub(crate) async fn accept_held(
        &self,
        key: &PinKey,
        hash: &[u8; 32],
        by: &str,
        now_ms: i64,
    ) -> Result<Accepted, StoreError> {
        let mut durable = self.begin_durable().await?;
        let row = sqlx::query(
            "SELECT * FROM held_definitions WHERE scope = ? AND server = ? AND kind = ? AND name = ?",
        )
        .bind(key.server.scope.to_string())
        .bind(key.server.name.as_str())
        .bind(key.kind.as_str())
        .bind(&key.name)
        .fetch_optional(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(Accepted::NotHeld) };
        let held = self.read_held(&row)?;
        if held.hash != *hash {
            return Ok(Accepted::Changed(held));
        }
        let pin = PinRecord {
            key: held.key,
            hash: held.hash,
            definition: held.definition,
            accepted_at_ms: now_ms,
            accepted_by: by.to_owned(),
        };
        self.write_pin(&mut durable, &pin).await?;
        self.commit_durable(durable).await?;
        Ok(Accepted::Pinned(pin))
    }

    pub(crate) async fn drop_held(&self, key: &PinKey) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let result = sqlx::query(
            "DELETE FROM held_definitions WHERE scope = ? AND server = ? AND kind = ? AND name = ?",
        )
        .bind(key.server.scope.to_string())
        .bind(key.server.name.as_str())
        .bind(key.kind.as_str())
        .bind(&key.name)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        Ok(result.rows_affected() > 0)
    }

    pub(crate) async fn forget_pins(&self, server: &ServerKey, now_ms: i64) -> Result<u64, StoreError> {
        let mut durable = self.begin_durable().await?;
        let mut n_forgotten = 0;
        for sql in [
            "INSERT INTO past_pins
                (scope, server, kind, name, hash, definition, accepted_at_ms, accepted_by, ended_at_ms)
             SELECT *, ?3 FROM pins WHERE scope = ?1 AND server = ?2 ORDER BY kind, name",
            "DELETE FROM held_definitions WHERE scope = ?1 AND server = ?2",
            "DELETE FROM pins WHERE scope = ?1 AND server = ?2",
        ] {
            let result = sqlx::query(sql)
                .bind(server.scope.to_string())
                .bind(server.name.as_str())
                .bind(now_ms)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
            n_forgotten = result.rows_affected();
        }
        self.commit_durable(durable).await?;
        Ok(n_forgotten)
    }

    pub(crate) async fn forget_pin(&self, key: &PinKey, now_ms: i64) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let mut was_accepted = false;
        for sql in [
            "INSERT INTO past_pins
                (scope, server, kind, name, hash, definition, accepted_at_ms, accepted_by, ended_at_ms)
             SELECT *, ?5 FROM pins WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4",
            "DELETE FROM held_definitions WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4",
            "DELETE FROM pins WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4",
        ] {
            let result = sqlx::query(sql)
                .bind(key.server.scope.to_string())
                .bind(key.server.name.as_str())
                .bind(key.kind.as_str())
                .bind(&key.name)
                .bind(now_ms)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
            was_accepted = result.rows_affected() > 0;
        }
        self.commit_durable(durable).await?;
        Ok(was_accepted)
    }

    pub(crate) async fn keep_out(&self, kept_out: &KeptOut) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        for sql in [
            "INSERT INTO kept_out (scope, server, kind, name, hash, decided_at_ms, decided_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            "DELETE FROM held_definitions
             WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4 AND hash = ?5",
        ] {
            sqlx::query(sql)
                .bind(kept_out.key.server.scope.to_string())
                .bind(kept_out.key.server.name.as_str())
                .bind(kept_out.key.kind.as_str())
                .bind(&kept_out.key.name)
                .bind(kept_out.hash.as_slice())
                .bind(kept_out.decided_at_ms)
                .bind(&kept_out.decided_by)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        self.commit_durable(durable).await
    }

    pub(crate) async fn kept_out(&self) -> Result<Vec<KeptOut>, StoreError> {
        let rows = sqlx::query("SELECT * FROM kept_out ORDER BY scope, server, kind, name, hash")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        let read = |row: &SqliteRow| {
            Ok(KeptOut {
                key: self.read_pin_key(row)?,
                hash: self.hash_column(row, "hash")?,
                decided_at_ms: self.column(row, "decided_at_ms")?,
                decided_by: self.column(row, "decided_by")?,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn past_pins(&self, key: &PinKey, n_max: u32) -> Result<Vec<PastPin>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM past_pins WHERE scope = ? AND server = ? AND kind = ? AND name = ?
             ORDER BY id DESC LIMIT ?",
        )
        .bind(key.server.scope.to_string())
        .bind(key.server.name.as_str())
        .bind(key.kind.as_str())
        .bind(&key.name)
        .bind(n_max)
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        let past = |row: &SqliteRow| {
            Ok(PastPin { pin: self.read_pin(row)?, ended_at_ms: self.column(row, "ended_at_ms")? })
        };
        rows.iter().map(past).collect()
    }

    /// Accepts one definition, moves the previous one to the history, and ends its quarantine.
    async fn write_pin(&self, durable: &mut Durable, pin: &PinRecord) -> Result<(), StoreError> {
        for sql in [
            "INSERT INTO past_pins
                (scope, server, kind, name, hash, definition, accepted_at_ms, accepted_by, ended_at_ms)
             SELECT *, ?7 FROM pins
             WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4 AND hash <> ?5",
            "INSERT INTO pins (scope, server, kind, name, hash, definition, accepted_at_ms, accepted_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO UPDATE SET hash = ?5, definition = ?6, accepted_at_ms = ?7, accepted_by = ?8
             WHERE hash <> ?5",
            "DELETE FROM held_definitions
             WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4 AND hash = ?5",
            "DELETE FROM kept_out
             WHERE scope = ?1 AND server = ?2 AND kind = ?3 AND name = ?4 AND hash = ?5",
        ] {
            sqlx::query(sql)
                .bind(pin.key.server.scope.to_string())
                .bind(pin.key.server.name.as_str())
                .bind(pin.key.kind.as_str())
                .bind(&pin.key.name)
                .bind(pin.hash.as_slice())
                .bind(&pin.definition)
                .bind(pin.accepted_at_ms)
                .bind(&pin.accepted_by)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn read_pin_key(&self, row: &SqliteRow) -> Result<PinKey, StoreError> {
        let kind = PinKind::parse(self.column(row, "kind")?);
        Ok(PinKey {
            server: self.server_key(self.column(row, "scope")?, self.column(row, "server")?)?,
            kind: kind.ok_or_else(self.unreadable("kind of a definition"))?,
            name: self.column(row, "name")?,
        })
    }

    fn read_pin(&self, row: &SqliteRow) -> Result<PinRecord, StoreError> {
        Ok(PinRecord {
            key: self.read_pin_key(row)?,
            hash: self.hash_column(row, "hash")?,
            definition: self.column(row, "definition")?,
            accepted_at_ms: self.column(row, "accepted_at_ms")?,
            accepted_by: self.column(row, "accepted_by")?,
        })
    }

    fn read_held(&self, row: &SqliteRow) -> Result<HeldDefinition, StoreError> {
        Ok(HeldDefinition {
            key: self.read_pin_key(row)?,
            hash: self.hash_column(row, "hash")?,
            definition: self.column(row, "definition")?,
            seen_at_ms: self.column(row, "seen_at_ms")?,
            reason: self.column(row, "reason")?,
        })
    }
}

//! What the database knows of audit logs besides their records.

use super::Sqlite;
use crate::audit::KnownLog;
use crate::error::StoreError;

impl Sqlite {
    pub(crate) async fn known_logs(&self) -> Result<Vec<KnownLog>, StoreError> {
        let rows: Vec<(String, String, i64, i64)> =
            sqlx::query_as("SELECT node, key, signed_until, snapshot FROM audit_logs ORDER BY node")
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
        let known = rows.into_iter().map(|(node, key, signed_until, snapshot)| KnownLog {
            node,
            key,
            signed_until: signed_until.cast_unsigned(),
            snapshot: snapshot.cast_unsigned(),
        });
        Ok(known.collect())
    }

    pub(crate) async fn save_known_log(&self, known: &KnownLog) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        sqlx::query(
            "INSERT OR REPLACE INTO audit_logs (node, key, signed_until, snapshot) VALUES (?, ?, ?, ?)",
        )
        .bind(&known.node)
        .bind(&known.key)
        .bind(known.signed_until.cast_signed())
        .bind(known.snapshot.cast_signed())
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) async fn next_snapshot(&self, node: &str) -> Result<u64, StoreError> {
        let mut durable = self.begin_durable().await?;
        let number: Option<i64> = sqlx::query_scalar(
            "UPDATE audit_logs SET snapshot = snapshot + 1 WHERE node = ? RETURNING snapshot",
        )
        .bind(node)
        .fetch_optional(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let number = number.ok_or_else(self.unreadable("snapshot number of an unknown audit log"))?;
        self.commit_durable(durable).await?;
        // A copy of the file alone then has what the snapshot has, unless somebody is just reading.
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
            .execute(&self.writer)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(number.cast_unsigned())
    }

    pub(crate) async fn note_signed(&self, node: &str, signed_until: u64) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        sqlx::query("UPDATE audit_logs SET signed_until = max(signed_until, ?) WHERE node = ?")
            .bind(signed_until.cast_signed())
            .bind(node)
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.commit(transaction).await
    }
}

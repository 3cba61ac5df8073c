//! Health check history of servers.

use octroi_core::Health;

use super::Sqlite;
use crate::error::StoreError;
use crate::health::{ERROR_LENGTH_MAX, HealthSample, SAMPLES_MAX};
use crate::server::ServerKey;

const PURGE_OLD: &str = "DELETE FROM health_samples WHERE at_ms < ?1 AND ?2 > 0";

/// One look into the index for each server.
const PURGE_BEYOND: &str = "DELETE FROM health_samples WHERE ?1 IS NOT NULL AND id IN (
    SELECT sample.id FROM servers JOIN health_samples AS sample
        ON sample.scope = servers.scope AND sample.name = servers.name
    WHERE sample.id <= (
        SELECT id FROM health_samples WHERE scope = servers.scope AND name = servers.name
        ORDER BY id DESC LIMIT 1 OFFSET ?2
    )
 )";

impl Sqlite {
    pub(crate) async fn add_health_sample(
        &self,
        key: &ServerKey,
        sample: &HealthSample,
    ) -> Result<(), StoreError> {
        let error: Option<String> =
            sample.error.as_ref().map(|error| error.chars().take(ERROR_LENGTH_MAX).collect());
        sqlx::query(
            "INSERT INTO health_samples (scope, name, at_ms, health, latency_ms, error)
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .bind(sample.at_ms)
        .bind(sample.health.as_str())
        .bind(sample.latency_ms)
        .bind(error)
        .execute(&self.writer)
        .await
        .map_err(|error| self.failed_for(key, error))?;
        Ok(())
    }

    pub(crate) async fn purge_health(&self, before_ms: i64) -> Result<u64, StoreError> {
        let mut transaction = self.begin().await?;
        let mut n_purged = 0;
        for sql in [PURGE_OLD, PURGE_BEYOND] {
            let purged = sqlx::query(sql).bind(before_ms).bind(SAMPLES_MAX).execute(&mut *transaction).await;
            n_purged += purged.map_err(|error| self.failed(error))?.rows_affected();
        }
        self.commit(transaction).await?;
        Ok(n_purged)
    }

    pub(crate) async fn health_samples(
        &self,
        key: &ServerKey,
        n_max: u32,
    ) -> Result<Vec<HealthSample>, StoreError> {
        let rows: Vec<(i64, String, Option<i64>, Option<String>)> = sqlx::query_as(
            "SELECT at_ms, health, latency_ms, error FROM health_samples
             WHERE scope = ? AND name = ? ORDER BY id DESC LIMIT ?",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .bind(n_max)
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        let sample = |(at_ms, health, latency_ms, error): (i64, String, Option<i64>, Option<String>)| {
            let health = Health::parse(&health).ok_or_else(self.unreadable("health value"))?;
            Ok(HealthSample { at_ms, health, latency_ms, error })
        };
        rows.into_iter().map(sample).collect()
    }
}

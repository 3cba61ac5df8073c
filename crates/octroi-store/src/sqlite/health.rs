//! Health check history of servers.

use octroi_core::Health;

use super::Sqlite;
use crate::error::StoreError;
use crate::health::{ERROR_LENGTH_MAX, HealthSample, SAMPLES_MAX};
use crate::server::ServerKey;

impl Sqlite {
    pub(crate) async fn add_health_sample(
        &self,
        key: &ServerKey,
        sample: &HealthSample,
    ) -> Result<(), StoreError> {
        let error: Option<String> =
            sample.error.as_ref().map(|error| error.chars().take(ERROR_LENGTH_MAX).collect());
        let mut transaction = self.begin().await?;
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
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.failed_for(key, error))?;
        sqlx::query(
            "DELETE FROM health_samples WHERE scope = ?1 AND name = ?2 AND id <= (
                SELECT id FROM health_samples WHERE scope = ?1 AND name = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3
             )",
        )
        .bind(key.scope.to_string())
        .bind(key.name.as_str())
        .bind(SAMPLES_MAX)
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit(transaction).await
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

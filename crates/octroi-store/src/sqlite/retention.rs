//! How much of finished approvals is kept, and for how long.

use octroi_core::approval::{Approval, Binding};
use sqlx::sqlite::SqliteConnection;

use super::sealing::SealedColumn;
use super::{Durable, Sqlite};
use crate::error::StoreError;

/// The maximum number of approvals of one agent, beside those that are in use; the oldest ones go first.
const APPROVALS_OF_AGENT_MAX: i64 = 10_000;

/// What still holds the arguments of a call that can no longer be made, the newest first.
const FINISHED_WITH_ARGUMENTS: &str = "
    SELECT number, octet_length(arguments) + coalesce(octet_length(edited_arguments), 0)
        + coalesce(octet_length(other_params_sent), 0) AS n_bytes
    FROM approvals
    WHERE arguments <> '' AND state NOT IN ('pending', 'approved', 'claimed')
        AND agent IS ?1 AND (?1 IS NOT NULL OR principal = ?2)
    ORDER BY number DESC";

/// Empties the columns of arguments and other params; what is there was there before.
const EMPTY: &str = "arguments = '', edited_arguments = iif(edited_arguments IS NULL, NULL, ''),
    other_params_sent = iif(other_params_sent IS NULL, NULL, '')";

impl Sqlite {
    /// Removes the oldest arguments of an agent's finished approvals, so that no more than this many bytes are kept,
    /// and its oldest approvals beyond their maximum number.
    pub(super) async fn make_room(
        &self,
        connection: &mut SqliteConnection,
        binding: &Binding,
        n_bytes_kept: usize,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let kept: Vec<(i64, i64)> = sqlx::query_as(FINISHED_WITH_ARGUMENTS)
            .bind(&binding.agent)
            .bind(&binding.principal)
            .fetch_all(&mut *connection)
            .await
            .map_err(failed)?;
        let mut n_bytes = 0_usize;
        for (number, n_own) in kept {
            n_bytes = n_bytes.saturating_add(usize::try_from(n_own).unwrap_or_default());
            if n_bytes > n_bytes_kept {
                let remove = sqlx::AssertSqlSafe(format!("UPDATE approvals SET {EMPTY} WHERE number = ?1"));
                sqlx::query(remove).bind(number).execute(&mut *connection).await.map_err(failed)?;
            }
        }
        // The inner query reads an index only.
        sqlx::query(
            "DELETE FROM approvals WHERE state NOT IN ('pending', 'approved', 'claimed')
                AND agent IS ?1 AND (?1 IS NOT NULL OR principal = ?2)
                AND number <= (SELECT number FROM approvals WHERE agent IS ?1
                    ORDER BY number DESC LIMIT 1 OFFSET ?3)",
        )
        .bind(&binding.agent)
        .bind(&binding.principal)
        .bind(APPROVALS_OF_AGENT_MAX)
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
        Ok(())
    }

    /// Stores that the arguments of an approval are gone.
    pub(super) async fn write_forgotten(
        &self,
        durable: &mut Durable,
        approval: &Approval,
    ) -> Result<(), StoreError> {
        let seal = |column: SealedColumn, text: &str| self.sealed(&approval.id, column, text);
        let params = approval.other_params_preview.as_deref();
        let params = params.map(|text| seal(SealedColumn::ParamsPreview, text)).transpose()?;
        let forget = sqlx::AssertSqlSafe(format!(
            "UPDATE approvals SET {EMPTY}, arguments_preview = ?2, other_params = ?3 WHERE id = ?1"
        ));
        sqlx::query(forget)
            .bind(&approval.id)
            .bind(seal(SealedColumn::Preview, &approval.arguments_preview)?)
            .bind(params)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Removes approvals that were over by then; returns how many. The audit log keeps their records.
    pub(crate) async fn forget_approvals(&self, over_before_ms: i64) -> Result<u64, StoreError> {
        let mut durable = self.begin_durable().await?;
        let removed = sqlx::query(
            "DELETE FROM approvals WHERE state NOT IN ('pending', 'approved', 'claimed')
                AND coalesce(finished_at_ms, decided_at_ms, expires_at_ms) <= ?1",
        )
        .bind(over_before_ms)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        Ok(removed.rows_affected())
    }
}

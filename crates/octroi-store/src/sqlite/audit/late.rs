//! Finds the events of a call. A call's id starts with its time, so its events are searched there; only
//! events that came much later are listed separately.

use octroi_core::audit::CallId;
use sqlx::{Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::BLOCK_BITS;
use super::chunk::CHUNK_BITS;
use crate::error::StoreError;

/// Events up to this long after the start of a call are found by time. A longer span means to read more, a
/// shorter one to list more.
const SOON_MS: i64 = 5_000;

/// Whether an event of a call at this time has to be listed to be found.
pub(super) fn is_late(call: CallId, at_ms: i64) -> bool {
    !(began_ms(call)..began_ms(call) + SOON_MS).contains(&at_ms)
}

/// The time at the start of an id: 48 bits.
fn began_ms(call: CallId) -> i64 {
    i64::try_from(call.0 >> 80).unwrap_or(i64::MAX)
}

impl Sqlite {
    pub(super) async fn add_late(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        call: CallId,
        position: i64,
    ) -> Result<(), StoreError> {
        sqlx::query("INSERT OR IGNORE INTO audit_late (call_id, position) VALUES (?, ?)")
            .bind(call.to_string())
            .bind(position)
            .execute(&mut **transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The chunks that contain events of a call, the newest first.
    pub(super) async fn chunks_of_call(&self, call: CallId, before: i64) -> Result<Vec<i64>, StoreError> {
        let began_ms = began_ms(call);
        sqlx::query_scalar(CHUNKS_OF_CALL)
            .bind(call.to_string())
            .bind(began_ms)
            .bind(began_ms + SOON_MS)
            .bind(BLOCK_BITS - CHUNK_BITS)
            .bind(CHUNK_BITS)
            .bind(before)
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))
    }
}

pub(super) const CHUNKS_OF_CALL: &str = "
    SELECT chunk FROM audit_blocks CROSS JOIN audit_chunks
    WHERE last_at_ms >= ?2 AND first_at_ms < ?3
        AND chunk >= block << ?4 AND chunk < (block + 1) << ?4 AND chunk << ?5 < ?6
        AND instr(events, ?1)
    UNION
    SELECT position >> ?5 FROM audit_late WHERE call_id = ?1 AND position < ?6
    ORDER BY 1 DESC";

//! Where the events of a call are. Its id begins with its time, so they are looked for there; only those that came
//! much later are kept in a list.

use sqlx::{Sqlite as Driver, Transaction};

use super::super::Sqlite;
use super::BLOCK_BITS;
use super::chunk::CHUNK_BITS;
use crate::error::StoreError;

/// So long after a call began its events are looked for. Longer means to look at more, shorter to list more.
const SOON_MS: i64 = 5_000;

/// Whether an event of a call at this time has to be listed to be found.
pub(super) fn is_late(call_id: &str, at_ms: i64) -> bool {
    began_ms(call_id).is_none_or(|began_ms| !(began_ms..began_ms + SOON_MS).contains(&at_ms))
}

/// The time that an id in the form of a UUID begins with: 48 bits.
fn began_ms(call_id: &str) -> Option<i64> {
    let (high, low) = (call_id.get(..8)?, call_id.get(9..13)?);
    let is_uuid = call_id.len() == 36 && [8, 13, 18, 23].map(|at| call_id.as_bytes()[at]) == [b'-'; 4];
    let digits = |text: &str| i64::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
    if is_uuid { Some(digits(high)? << 16 | digits(low)?) } else { None }
}

impl Sqlite {
    pub(super) async fn add_late(
        &self,
        transaction: &mut Transaction<'static, Driver>,
        call_id: &str,
        position: i64,
    ) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO audit_late (call_id, position) VALUES (?, ?)")
            .bind(call_id)
            .bind(position)
            .execute(&mut **transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The chunks that hold events of a call, the newest first.
    pub(super) async fn chunks_of_call(&self, call_id: &str, before: i64) -> Result<Vec<i64>, StoreError> {
        let began_ms = began_ms(call_id).unwrap_or(i64::MAX - SOON_MS);
        sqlx::query_scalar(CHUNKS_OF_CALL)
            .bind(call_id)
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

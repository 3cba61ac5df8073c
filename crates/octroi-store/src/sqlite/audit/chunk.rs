//! Events as they are kept: 64 in a row of the database, as a JSON array.

use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::audit::AuditRow;

/// Two to this power events have room in a chunk: enough that what SQLite does for a row weighs nothing, so few that
/// the last one can be written again each time something comes to it.
pub(super) const CHUNK_BITS: u32 = 6;

/// Some events of one gateway, one after the other.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) chunk: i64,
    pub(super) node: String,
    pub(super) first_seq: i64,
    /// Forgotten since, from its beginning.
    pub(super) n_gone: i64,
    pub(super) n_events: i64,
    /// The text of the array.
    pub(super) events: String,
}

impl FromRow<'_, SqliteRow> for Chunk {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            chunk: row.try_get("chunk")?,
            node: row.try_get("node")?,
            first_seq: row.try_get("first_seq")?,
            n_gone: row.try_get("n_gone")?,
            n_events: row.try_get("n_events")?,
            events: row.try_get("events")?,
        })
    }
}

impl Chunk {
    /// One without events yet, which is to begin with this.
    pub(super) fn before(chunk: i64, first: &AuditRow<'_>) -> Self {
        Self {
            chunk,
            node: first.node.to_string(),
            first_seq: first.seq.cast_signed(),
            n_gone: 0,
            n_events: 0,
            events: "[]".to_owned(),
        }
    }

    /// Whether the next event can be this.
    pub(super) fn has_room_for(&self, row: &AuditRow<'_>) -> bool {
        self.n_gone + self.n_events < 1 << CHUNK_BITS && self.node == row.node
    }

    /// Adds an event; tells its position.
    pub(super) fn push(&mut self, row: &AuditRow<'_>) -> i64 {
        self.events.pop();
        if self.n_events > 0 {
            self.events.push(',');
        }
        // Texts and numbers can always be written.
        self.events.push_str(&serde_json::to_string(row).unwrap_or_default());
        self.events.push(']');
        let position = self.first_position() + self.n_events;
        self.n_events += 1;
        position
    }

    /// All events with their positions, the oldest first.
    pub(super) fn rows(&self) -> Result<Vec<(i64, AuditRow<'static>)>, serde_json::Error> {
        let rows: Vec<AuditRow<'static>> = serde_json::from_str(&self.events)?;
        let whole = |row| AuditRow { node: self.node.clone().into(), ..row };
        Ok((self.first_position()..).zip(rows.into_iter().map(whole)).collect())
    }

    /// The same without the events before a number. Nothing if there are no others.
    pub(super) fn without(&self, before_seq: u64) -> Result<Option<Self>, serde_json::Error> {
        let mut rows = self.rows()?.into_iter().filter(|(_, row)| row.seq >= before_seq).peekable();
        let Some((position, first)) = rows.peek() else { return Ok(None) };
        let mut rest = Self::before(self.chunk, first);
        rest.n_gone = self.n_gone + position - self.first_position();
        for (_, row) in rows {
            rest.push(&row);
        }
        Ok(Some(rest))
    }

    fn first_position(&self) -> i64 {
        (self.chunk << CHUNK_BITS) + self.n_gone
    }
}

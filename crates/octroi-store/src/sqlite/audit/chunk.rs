//! Storage format of events: the records of the log, 64 to a row.

use std::fmt::Write as _;
use std::ops::RangeBounds;

use serde_json::value::RawValue;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

/// A chunk holds two to this power events: enough that SQLite's cost per row is negligible, and few enough
/// that the last chunk can be rewritten with each batch.
pub(super) const CHUNK_BITS: u32 = 6;
/// A chunk of so many bytes is full: large records limit the cost of rewriting in the same way.
const BYTES_MAX: usize = 128 << 10;
/// The initial capacity; most chunks fit.
const BYTES_USUAL: usize = 64 << 10;

/// Consecutive events of one gateway.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) number: i64,
    pub(super) node: String,
    pub(super) first_seq: i64,
    /// How many events were purged from its start.
    pub(super) n_gone: i64,
    pub(super) n_events: i64,
    /// A JSON array of `[sequence number, record]` pairs.
    pub(super) events: String,
}

impl FromRow<'_, SqliteRow> for Chunk {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.try_get("chunk")?,
            node: row.try_get("node")?,
            first_seq: row.try_get("first_seq")?,
            n_gone: row.try_get("n_gone")?,
            n_events: row.try_get("n_events")?,
            events: row.try_get("events")?,
        })
    }
}

impl Chunk {
    /// An empty chunk that starts with this sequence number.
    pub(super) fn before(number: i64, node: &str, seq: u64) -> Self {
        let mut events = String::with_capacity(BYTES_USUAL);
        events.push_str("[]");
        Self { number, node: node.to_owned(), first_seq: seq.cast_signed(), n_gone: 0, n_events: 0, events }
    }

    /// Whether the next event of this gateway fits in here.
    pub(super) fn has_room_for(&self, node: &str) -> bool {
        self.n_gone + self.n_events < 1 << CHUNK_BITS && self.events.len() < BYTES_MAX && self.node == node
    }

    /// Appends an event, given the text of its record; returns its position.
    pub(super) fn push(&mut self, seq: u64, text: &str) -> i64 {
        self.events.pop();
        let comma = if self.n_events > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(self.events, "{comma}[{seq},");
        self.events.push_str(text);
        self.events.push_str("]]");
        let position = self.first_position() + self.n_events;
        self.n_events += 1;
        position
    }

    /// All events with their positions, sequence numbers and texts, the oldest first.
    pub(super) fn events(&self) -> Result<Vec<(i64, u64, &str)>, serde_json::Error> {
        let events: Vec<(u64, &RawValue)> = serde_json::from_str(&self.events)?;
        let placed = (self.first_position()..).zip(events);
        Ok(placed.map(|(position, (seq, text))| (position, seq, text.get())).collect())
    }

    /// The chunk with only these events; `None` if none is left.
    pub(super) fn with_only(&self, seqs: impl RangeBounds<u64>) -> Result<Option<Self>, serde_json::Error> {
        let events = self.events()?;
        let mut kept = events.into_iter().filter(|(_, seq, _)| seqs.contains(seq)).peekable();
        let Some(&(position, seq, _)) = kept.peek() else { return Ok(None) };
        let mut rest = Self::before(self.number, &self.node, seq);
        rest.n_gone = self.n_gone + position - self.first_position();
        for (_, seq, text) in kept {
            rest.push(seq, text);
        }
        Ok(Some(rest))
    }

    fn first_position(&self) -> i64 {
        (self.number << CHUNK_BITS) + self.n_gone
    }
}

//! The events that a handler gets.

use std::sync::Arc;

use octroi_core::audit::{Entry, Level};
use serde_json::json;

use crate::audit::reader::Record;

/// One event for a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A record of the log.
    Record(Record),
    /// The handler was too slow, and will never get these records.
    Dropped {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
        /// When they were dropped.
        at_ms: u64,
    },
    /// A signed checkpoint, to be kept where the owner of the log's disk cannot change it.
    Checkpoint {
        /// The note, as text.
        note: Arc<str>,
        /// When it was delivered.
        at_ms: u64,
    },
}

impl Delivery {
    /// One JSON object on one line: the record with its number, or an object of the same form.
    pub fn to_json(&self) -> String {
        match self {
            Self::Record(record) => {
                let body = String::from_utf8_lossy(&record.body);
                let members = body.strip_prefix('{').unwrap_or(&body);
                format!("{{\"seq\":{},{members}", record.seq).replace(['\n', '\r'], " ")
            }
            Self::Dropped { first, last, at_ms } => json!({
                "at_ms": at_ms, "kind": self.kind(), "level": "warn",
                "actor": {"kind": "system", "id": "octroi"},
                "context": {"first": first, "last": last, "records": last + 1 - first},
            })
            .to_string(),
            Self::Checkpoint { note, at_ms } => json!({
                "at_ms": at_ms, "kind": self.kind(), "level": "info",
                "actor": {"kind": "system", "id": "octroi"},
                "context": {"note": &**note},
            })
            .to_string(),
        }
    }

    /// The type of event.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Record(record) => record.entry().map_or("unknown", |entry| entry.kind.as_str()),
            Self::Dropped { .. } => "audit_dropped",
            Self::Checkpoint { .. } => "audit_checkpoint",
        }
    }

    /// When it happened.
    pub fn at_ms(&self) -> u64 {
        match self {
            Self::Record(record) => record.entry().map_or(0, |entry| entry.at_ms),
            Self::Dropped { at_ms, .. } | Self::Checkpoint { at_ms, .. } => *at_ms,
        }
    }

    /// Its severity.
    pub fn level(&self) -> Level {
        match self {
            Self::Record(record) => record.entry().map_or(Level::Warn, |entry| entry.level),
            Self::Dropped { .. } => Level::Warn,
            Self::Checkpoint { .. } => Level::Info,
        }
    }

    /// The parsed record, if it is one.
    pub(super) fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Self::Record(record) => record.entry().ok(),
            Self::Dropped { .. } | Self::Checkpoint { .. } => None,
        }
    }
}

//! What the opening record of a segment carries on from the records before it, so that opening a log reads
//! its last segment only.

use std::collections::HashMap;

use octroi_core::audit::{CallId, Entry, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

/// Calls that were begun and not ended, with the number of their start record.
pub(super) type OpenCalls = HashMap<CallId, u64>;

/// The state that every record may change, and that the next segment begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) calls: OpenCalls,
    /// The number of the newest snapshot of the database; zero if there was none.
    pub(super) snapshot: u64,
    /// How many records a checkpoint covered when the log was last opened.
    pub(super) signed_until: u64,
}

impl Carried {
    /// Takes account of a record.
    pub(super) fn note(&mut self, kind: Kind, call: Option<CallId>, seq: u64, body: &[u8]) {
        match (kind, call) {
            (Kind::ToolInvocationStart | Kind::RequestStart, Some(call)) => {
                self.calls.insert(call, seq);
            }
            (Kind::ToolInvocationEnd | Kind::RequestEnd, Some(call)) => {
                self.calls.remove(&call);
            }
            (Kind::StateSnapshot, _) => self.note_snapshot(body),
            _ => {}
        }
    }

    fn note_snapshot(&mut self, body: &[u8]) {
        #[derive(Deserialize)]
        struct Snapshot {
            number: u64,
        }
        let Ok(entry) = Entry::parse(body) else { return };
        if let Ok(Snapshot { number }) = serde_json::from_str(entry.context) {
            self.snapshot = self.snapshot.max(number);
        }
    }

    /// The members of an opening record.
    pub(super) fn to_context(&self) -> Value {
        let mut calls: Vec<_> = self.calls.iter().map(|(call, seq)| (call.to_string(), *seq)).collect();
        calls.sort_unstable_by_key(|(_, seq)| *seq);
        json!({"open_calls": calls, "snapshot": self.snapshot, "signed_until": self.signed_until})
    }

    /// Reads the context of an opening record; `None` if it cannot be read.
    pub(super) fn read(context: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Opening {
            open_calls: Vec<(String, u64)>,
            #[serde(default)]
            snapshot: u64,
            #[serde(default)]
            signed_until: u64,
        }
        let Opening { open_calls, snapshot, signed_until } = serde_json::from_str(context).ok()?;
        let calls = open_calls.iter().filter_map(|(call, seq)| Some((CallId::parse(call)?, *seq))).collect();
        Some(Self { calls, snapshot, signed_until })
    }
}

//! Calls that an earlier run began and never ended.

use std::path::Path;

use octroi_core::audit::{Actor, CallId, Event, Kind, Level};

use super::carried::OpenCalls;
use super::error::AuditError;
use super::log::AuditLog;
use super::reader::{LogReader, Record};

/// A call that was begun and never ended.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The id of the call.
    pub call: CallId,
    /// The number of its start record.
    pub seq: u64,
    /// Its start record, unless it is gone.
    pub record: Option<Record>,
}

impl AuditLog {
    /// Records that the outcome of these calls is unknown, so that every call has an end.
    pub async fn end_unfinished(&self, calls: &[Unfinished], at_ms: u64) -> Result<(), AuditError> {
        for unfinished in calls {
            let context = format!("{{\"outcome\":\"outcome_unknown\",\"start_seq\":{}}}", unfinished.seq);
            let event = Event {
                level: Level::Warn,
                call: Some(unfinished.call),
                context: &context,
                ..Event::new(at_ms, Kind::ToolInvocationEnd, Actor::SYSTEM)
            };
            // The caller is repeated, for readers that look at ends only.
            let entry = unfinished.record.as_ref().and_then(|record| record.entry().ok());
            let written = match &entry {
                Some(entry) => {
                    let begun = entry.event();
                    let Event { at_ms, level, actor, call, context, .. } = event;
                    let kind = match begun.kind {
                        Kind::RequestStart => Kind::RequestEnd,
                        _ => Kind::ToolInvocationEnd,
                    };
                    self.append_later(&Event { at_ms, kind, level, actor, call, context, ..begun })
                }
                None => self.append_later(&event),
            };
            written.await?;
        }
        self.flush().await.map(drop)
    }
}

/// The open calls with their start records, in order.
pub(super) fn unfinished(directory: &Path, open_calls: &OpenCalls) -> Result<Vec<Unfinished>, AuditError> {
    let mut calls: Vec<_> = open_calls.iter().map(|(&call, &seq)| (seq, call)).collect();
    calls.sort_unstable();
    let mut reader = LogReader::open(directory)?;
    Ok(calls
        .into_iter()
        // An unreadable record counts as gone; the call must be ended anyway.
        .map(|(seq, call)| Unfinished { call, seq, record: reader.record(seq).ok().flatten() })
        .collect())
}

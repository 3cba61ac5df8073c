//! Queries of the audit log.

use std::iter;
use std::time::Duration;

use octroi_core::audit::{CallId, Filter, Kind};
use octroi_core::glob::Glob;
use octroi_store::{AuditCount, AuditCursor, AuditFilter, AuditRow, Store, StoreError};

use super::AuditIndex;
use crate::audit::{
    AuditError, AuditLog, LogReader, Proof, ProofError, Record, Report, VerifyOptions, matching_events,
    prove, verify,
};

/// How long a search waits for records that were just written.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of pages that one search reads before it returns a cursor.
const PAGES_MAX: u32 = 50;
/// The maximum number of records of one call: start, end, and those about approvals and decisions.
const RECORDS_OF_CALL: u32 = 100;
/// The maximum number of records that one poll reads.
const LOOKED_AT: usize = 5_000;

/// Why a query of the audit log failed.
#[derive(Debug, thiserror::Error)]
pub enum AuditIndexError {
    /// The gateway has no data directory, so nothing is recorded.
    #[error("this gateway has no audit log")]
    Nothing,
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] AuditError),
    /// The table cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AuditIndexError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Nothing => "start one with `octroi up`".to_owned(),
            Self::Log(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// A search in the index.
#[derive(Clone, Debug, Default)]
pub struct AuditSearch {
    /// Which records match.
    pub filter: AuditFilter,
    /// A pattern for the canonical id of the tool.
    pub tool: Option<Glob>,
    /// Where an earlier search stopped.
    pub before: Option<AuditCursor>,
    /// The maximum number of records.
    pub n_max: u32,
}

/// The results of a search, the newest first.
#[derive(Clone, Debug)]
pub struct AuditFound {
    /// The matching records.
    pub rows: Vec<AuditRow>,
    /// The position to continue from, if there may be more.
    pub next: Option<AuditCursor>,
    /// The last record of the log.
    pub position: u64,
    /// How many of the newest records are not indexed yet.
    pub n_behind: u64,
}

impl AuditIndex {
    /// Searches the index.
    pub async fn search(&self, search: &AuditSearch) -> Result<AuditFound, AuditIndexError> {
        let (log, store) = self.parts()?;
        let position = log.position();
        let n_behind = if search.before.is_none() { self.await_table(position).await } else { 0 };
        let mut filter = search.filter.clone();
        if let Some(glob) = &search.tool {
            match glob.literal() {
                Some(literal) => filter.tool = Some(literal.to_owned()),
                // The table filters by the longest literal part of the pattern; the rest is matched here.
                None if filter.text.is_none() => {
                    let part = glob.as_str().split('*').max_by_key(|part| part.len());
                    filter.text = part.filter(|part| !part.is_empty()).map(str::to_owned);
                }
                None => {}
            }
        }
        let mut rows = Vec::new();
        let mut next = search.before;
        for _ in 0..PAGES_MAX {
            let n_missing = search.n_max.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            let page = store.audit_events(&filter, next, n_missing.max(1)).await?;
            next = page.next;
            rows.extend(page.rows.into_iter().filter(|row| fits(search.tool.as_ref(), row)));
            if next.is_none() || rows.len() >= search.n_max as usize {
                break;
            }
        }
        Ok(AuditFound { rows, next, position, n_behind })
    }

    /// Records after a number from the log, the oldest first, and the last one that was read.
    pub async fn after(
        &self,
        after: u64,
        filter: Filter,
        n_max: usize,
    ) -> Result<(Vec<Record>, u64), AuditIndexError> {
        let (log, _) = self.parts()?;
        let position = log.position();
        let read = self.with_reader(move |reader| {
            reader.set_limit(position);
            let (mut found, mut last) = (Vec::new(), after);
            for record in reader.records(after.saturating_add(1))?.take(LOOKED_AT) {
                // Unreadable records are reported by `verify`.
                let Ok(record) = record else { continue };
                let seq = record.seq;
                let matching = matching_events(&filter, record);
                // A record and its decision stay on one page, which ends at a record.
                if !found.is_empty() && found.len() + matching.len() > n_max {
                    break;
                }
                last = seq;
                found.extend(matching);
                if found.len() >= n_max {
                    break;
                }
            }
            Ok((found, last))
        });
        Ok(read.await?)
    }

    /// The newest records, the newest first, each followed by the decision that it contains.
    pub async fn recent(&self, n_max: usize) -> Result<Vec<Record>, AuditIndexError> {
        let position = self.parts()?.0.position();
        let read = self.with_reader(move |reader| {
            reader.set_limit(position);
            reader.page_before(u64::MAX, n_max)
        });
        let newest = read.await?.into_iter();
        let newest =
            newest.filter(|record| record.entry().map_or(true, |entry| entry.kind != Kind::StateSnapshot));
        Ok(newest.flat_map(with_decision).collect())
    }

    /// One record from the log.
    pub async fn record(&self, seq: u64) -> Result<Option<Record>, AuditIndexError> {
        let position = self.parts()?.0.position();
        let read = self.with_reader(move |reader| {
            reader.set_limit(position);
            reader.record(seq)
        });
        Ok(read.await?)
    }

    /// All records of a call from the log, the oldest first.
    pub async fn of_call(&self, call: CallId) -> Result<Vec<Record>, AuditIndexError> {
        let filter = AuditFilter { call_id: Some(call.to_string()), ..AuditFilter::default() };
        let search = AuditSearch { filter, n_max: RECORDS_OF_CALL, ..AuditSearch::default() };
        let found = self.search(&search).await?;
        let node = self.parts()?.0.node();
        let mut numbers: Vec<u64> =
            found.rows.iter().filter(|row| row.node == node).map(|row| row.seq).collect();
        numbers.sort_unstable();
        let mut records = Vec::new();
        for seq in numbers {
            records.extend(self.record(seq).await?);
        }
        Ok(records)
    }

    /// The records of a call in the index, of these types, the newest first. Those that were just written may be
    /// missing.
    pub async fn indexed_of_call(
        &self,
        call: &str,
        event_types: &[Kind],
    ) -> Result<Vec<AuditRow>, AuditIndexError> {
        let filter = AuditFilter {
            call_id: Some(call.to_owned()),
            event_types: event_types.iter().map(|kind| kind.as_str().to_owned()).collect(),
            ..AuditFilter::default()
        };
        Ok(self.parts()?.1.audit_events(&filter, None, RECORDS_OF_CALL).await?.rows)
    }

    /// The number of events by type, agent, tool and decision since a time.
    pub async fn counts(&self, since_ms: i64, n_max: u32) -> Result<Vec<AuditCount>, AuditIndexError> {
        let (log, store) = self.parts()?;
        self.await_table(log.position()).await;
        Ok(store.audit_counts(since_ms, n_max).await?)
    }

    /// Proves that a record is part of the log. Reads everything up to the checkpoint that covers it.
    pub async fn prove(&self, seq: u64) -> Result<Proof, ProofError> {
        let log = self.recorder.log().ok_or(AuditError::Closed)?;
        // Otherwise it would look as if a checkpoint were still to come.
        if seq > log.position() {
            return Err(ProofError::NoRecord { seq });
        }
        let directory = log.directory().to_owned();
        let looking = self.context.tasks.spawn_blocking("audit-prove", move || prove(&directory, seq));
        looking.await.unwrap_or(Err(AuditError::Closed.into()))
    }

    /// Verifies that the log was not changed.
    pub async fn verify(&self) -> Result<Report, AuditIndexError> {
        let directory = self.parts()?.0.directory().to_owned();
        let looking = self
            .context
            .tasks
            .spawn_blocking("audit-verify", move || verify(&directory, &VerifyOptions::default()));
        Ok(looking.await.unwrap_or(Err(AuditError::Closed))?)
    }

    pub(super) fn parts(&self) -> Result<(&AuditLog, &Store), AuditIndexError> {
        let log = self.recorder.log().ok_or(AuditIndexError::Nothing)?;
        let persistence = self.persistence.as_ref().ok_or(AuditIndexError::Nothing)?;
        Ok((log, persistence.store()))
    }

    /// Waits a moment for the index; returns how many records it still lacks.
    pub(super) async fn await_table(&self, position: u64) -> u64 {
        self.hurry.notify_one();
        let mut projected = self.projected.subscribe();
        let caught_up = projected.wait_for(|&projected| projected >= position);
        let _ = tokio::time::timeout(PATIENCE, caught_up).await;
        position.saturating_sub(*self.projected.borrow())
    }

    /// Reads on a blocking thread. Two concurrent calls have a reader each; one of them is kept.
    async fn with_reader<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut LogReader) -> Result<T, AuditError> + Send + 'static,
    ) -> Result<T, AuditError> {
        let log = self.recorder.log().ok_or(AuditError::Closed)?;
        let directory = log.directory().to_owned();
        let kept = self.reader.lock().take();
        let reading = self.context.tasks.spawn_blocking("audit-read", move || {
            let mut reader = match kept {
                Some(reader) => reader,
                None => LogReader::open(&directory)?,
            };
            let found = read(&mut reader)?;
            Ok((reader, found))
        });
        // The task fails only if the program is ending.
        let (reader, found) = reading.await.unwrap_or(Err(AuditError::Closed))?;
        *self.reader.lock() = Some(reader);
        Ok(found)
    }
}

/// A record, and then the decision that it contains.
fn with_decision(record: Record) -> impl Iterator<Item = Record> {
    let decision = record.decision();
    iter::once(record).chain(decision)
}

fn fits(tool: Option<&Glob>, row: &AuditRow) -> bool {
    tool.is_none_or(|glob| row.tool.as_deref().is_some_and(|tool| glob.matches(tool)))
}

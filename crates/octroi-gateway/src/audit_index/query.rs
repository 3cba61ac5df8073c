//! Questions about what was recorded.

use std::time::Duration;

use octroi_core::audit::{CallId, Filter};
use octroi_core::glob::Glob;
use octroi_store::{AuditCount, AuditCursor, AuditFilter, AuditRow, Store, StoreError};

use super::AuditIndex;
use crate::audit::{AuditError, AuditLog, Reader, Record, Report, VerifyOptions, verify};

/// How long a search waits for records that were just written.
const PATIENCE: Duration = Duration::from_secs(2);
/// A search that finds little looks at no more pages than this before it says where to go on.
const PAGES_MAX: u32 = 50;
/// A call has two records, and one for each thing that was asked or decided about it.
const RECORDS_OF_CALL: u32 = 100;
/// Records that are looked at for one answer to somebody who reads along.
const LOOKED_AT: usize = 5_000;

/// Why a question about the audit log has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AuditIndexError {
    /// Nothing is recorded: the gateway has no data directory.
    #[error("this gateway keeps no audit log")]
    Nothing,
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] AuditError),
    /// The table cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AuditIndexError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Nothing => "start one with `octroi up`".to_owned(),
            Self::Log(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// What to look for in the table.
#[derive(Clone, Debug, Default)]
pub struct AuditSearch {
    /// What records must be like.
    pub filter: AuditFilter,
    /// A pattern for the canonical id of the tool.
    pub tool: Option<Glob>,
    /// Where an earlier search stopped.
    pub before: Option<AuditCursor>,
    /// How many are wanted.
    pub n_max: u32,
}

/// What was found, the newest first.
#[derive(Clone, Debug)]
pub struct AuditFound {
    /// The records.
    pub rows: Vec<AuditRow>,
    /// Where to go on, if there may be more.
    pub next: Option<AuditCursor>,
    /// The last record of the log.
    pub position: u64,
    /// How many of the newest records cannot be found yet.
    pub n_behind: u64,
}

impl AuditIndex {
    /// Searches the table.
    pub async fn search(&self, search: &AuditSearch) -> Result<AuditFound, AuditIndexError> {
        let (log, store) = self.parts()?;
        let position = log.position();
        let n_behind = if search.before.is_none() { self.await_table(position).await } else { 0 };
        let mut filter = search.filter.clone();
        if let Some(glob) = &search.tool {
            match glob.literal() {
                Some(literal) => filter.tool = Some(literal.to_owned()),
                // The table finds the longest part of the pattern; the rest is looked at here.
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
            let n_wanted = search.n_max.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            let page = store.audit_events(&filter, next, n_wanted.max(1)).await?;
            next = page.next;
            rows.extend(page.rows.into_iter().filter(|row| fits(search.tool.as_ref(), row)));
            if next.is_none() || rows.len() >= search.n_max as usize {
                break;
            }
        }
        Ok(AuditFound { rows, next, position, n_behind })
    }

    /// Records after a number as they stand in the log, the oldest first, and the last one looked at.
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
                // What cannot be read is for `verify` to tell.
                let Ok(record) = record else { continue };
                last = record.seq;
                if record.entry().is_ok_and(|entry| filter.wants(&entry, &record.body)) {
                    found.push(record);
                }
                if found.len() >= n_max {
                    break;
                }
            }
            Ok((found, last))
        });
        Ok(read.await?)
    }

    /// The newest records, the newest first.
    pub async fn recent(&self, n_max: usize) -> Result<Vec<Record>, AuditIndexError> {
        let position = self.parts()?.0.position();
        let read = self.with_reader(move |reader| {
            reader.set_limit(position);
            reader.page_before(u64::MAX, n_max)
        });
        Ok(read.await?)
    }

    /// One record as it stands in the log.
    pub async fn record(&self, seq: u64) -> Result<Option<Record>, AuditIndexError> {
        let position = self.parts()?.0.position();
        let read = self.with_reader(move |reader| {
            reader.set_limit(position);
            reader.record(seq)
        });
        Ok(read.await?)
    }

    /// All records of a call as they stand in the log, the oldest first.
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

    /// How many events of each sort there were since a moment.
    pub async fn counts(&self, since_ms: i64, n_max: u32) -> Result<Vec<AuditCount>, AuditIndexError> {
        let (log, store) = self.parts()?;
        self.await_table(log.position()).await;
        Ok(store.audit_counts(since_ms, n_max).await?)
    }

    /// Looks whether anybody changed the log.
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

    /// Waits a moment for the table; tells how many records it lacks then.
    async fn await_table(&self, position: u64) -> u64 {
        self.hurry.notify_one();
        let mut projected = self.projected.subscribe();
        let caught_up = projected.wait_for(|&projected| projected >= position);
        let _ = tokio::time::timeout(PATIENCE, caught_up).await;
        position.saturating_sub(*self.projected.borrow())
    }

    /// Reads where nobody is held up. Two at a time each have a reader; one of them is kept.
    async fn with_reader<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Reader) -> Result<T, AuditError> + Send + 'static,
    ) -> Result<T, AuditError> {
        let log = self.recorder.log().ok_or(AuditError::Closed)?;
        let directory = log.directory().to_owned();
        let kept = self.reader.lock().take();
        let reading = self.context.tasks.spawn_blocking("audit-read", move || {
            let mut reader = match kept {
                Some(reader) => reader,
                None => Reader::open(&directory)?,
            };
            let found = read(&mut reader)?;
            Ok((reader, found))
        });
        // The task is only gone if the program is ending.
        let (reader, found) = reading.await.unwrap_or(Err(AuditError::Closed))?;
        *self.reader.lock() = Some(reader);
        Ok(found)
    }
}

fn fits(tool: Option<&Glob>, row: &AuditRow) -> bool {
    tool.is_none_or(|glob| row.tool.as_deref().is_some_and(|tool| glob.matches(tool)))
}

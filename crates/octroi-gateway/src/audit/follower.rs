//! Follows the log from a record on: for a live view, for handlers, for the projection.

use std::path::{Path, PathBuf};

use octroi_upstream::BackgroundTasks;
use tokio::sync::watch;

use super::error::AuditError;
use super::log::AuditLog;
use super::reader::{LogReader, Record};

/// A reader that follows the log. It never delays writers.
#[derive(Debug)]
pub struct Follower {
    /// `None` while a page is being read.
    reader: Option<LogReader>,
    positions: watch::Receiver<u64>,
    /// Not a handle of the log, which would keep it open.
    directory: PathBuf,
    tasks: BackgroundTasks,
    last: u64,
}

impl Follower {
    /// Follows a log from the record after this one. Zero is the beginning.
    pub fn new(log: &AuditLog, after: u64) -> Self {
        let directory = log.directory().to_owned();
        Self { reader: None, positions: log.positions(), directory, tasks: log.tasks().clone(), last: after }
    }

    /// The last record that was read.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The next records, up to `n_max`, as soon as there is one. Empty when the log was closed and all
    /// of it was read. Unreadable records are reported once, as an error, and then skipped.
    pub async fn next_page(&mut self, n_max: usize) -> Result<Vec<Record>, AuditError> {
        let Some(limit) = self.limit().await else {
            return Ok(Vec::new());
        };
        let (reader, directory, last) = (self.reader.take(), self.directory.clone(), self.last);
        let read = move || read(reader, &directory, last, limit, n_max);
        let reading = self.tasks.spawn_blocking_here("audit-follow", read);
        // The task fails only if the program is ending.
        self.keep(reading.await.unwrap_or(Err(AuditError::Closed)))
    }

    /// The same, read on this thread, which must not be shared with other tasks.
    pub(crate) async fn next_page_here(&mut self, n_max: usize) -> Result<Vec<Record>, AuditError> {
        match self.limit().await {
            Some(limit) => {
                let reading = read(self.reader.take(), &self.directory, self.last, limit, n_max);
                self.keep(reading)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Waits for new records; returns the last one. `None` when there never will be any.
    async fn limit(&mut self) -> Option<u64> {
        let last = self.last;
        let is_over = self.positions.wait_for(|&position| position > last).await.is_err();
        let limit = *self.positions.borrow();
        (!is_over || limit > last).then_some(limit)
    }

    fn keep(&mut self, reading: Result<Reading, AuditError>) -> Page {
        let Reading { reader, last, page } = reading?;
        self.reader = Some(reader);
        self.last = last;
        page
    }
}

type Page = Result<Vec<Record>, AuditError>;

/// The result of reading.
struct Reading {
    reader: LogReader,
    /// The last record that was read or skipped.
    last: u64,
    page: Page,
}

fn read(
    reader: Option<LogReader>,
    directory: &Path,
    last: u64,
    limit: u64,
    n_max: usize,
) -> Result<Reading, AuditError> {
    let mut reader = match reader {
        Some(reader) => reader,
        None => LogReader::open(directory)?,
    };
    reader.set_limit(limit);
    let (last, page) = read_page(&mut reader, last, limit, n_max)?;
    Ok(Reading { reader, last, page })
}

/// A page, and the last record that was read or skipped.
fn read_page(reader: &mut LogReader, last: u64, limit: u64, n_max: usize) -> Result<(u64, Page), AuditError> {
    let mut page: Vec<Record> = Vec::new();
    let mut records = reader.records(last + 1)?;
    while page.len() < n_max {
        match records.next() {
            Some(Ok(record)) => page.push(record),
            Some(Err(error)) if page.is_empty() => {
                let next = records.find_map(Result::ok);
                return Ok((next.map_or(limit, |next| next.seq - 1), Err(error)));
            }
            // Reported by the next call.
            Some(Err(_)) => break,
            None => return Ok((limit, Ok(page))),
        }
    }
    Ok((page.last().map_or(last, |record| record.seq), Ok(page)))
}

//! Reads on from a number and waits for what comes: for a live view, for handlers, for the projection.

use std::path::PathBuf;

use tokio::sync::watch;

use super::error::AuditError;
use super::log::AuditLog;
use super::reader::{Reader, Record};

/// Somebody who reads along. Never in the way of those who write.
#[derive(Debug)]
pub struct Follower {
    /// Away while a page is read.
    reader: Option<Reader>,
    positions: watch::Receiver<u64>,
    /// Not the log itself, which would then never end.
    directory: PathBuf,
    last: u64,
}

impl Follower {
    /// Follows a log from the record after this one. Zero is the beginning.
    pub fn new(log: &AuditLog, after: u64) -> Self {
        let directory = log.directory().to_owned();
        Self { reader: None, positions: log.positions(), directory, last: after }
    }

    /// The last record that was read.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The next records, up to `n_max`, as soon as there is one. Empty when the log was closed and all
    /// of it was read. What cannot be read is told once, as an error, and then passed over.
    pub async fn next_page(&mut self, n_max: usize) -> Result<Vec<Record>, AuditError> {
        let last = self.last;
        let is_over = self.positions.wait_for(|&position| position > last).await.is_err();
        let limit = *self.positions.borrow();
        if is_over && limit <= last {
            return Ok(Vec::new());
        }
        let reader = self.reader.take();
        let directory = self.directory.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut reader = match reader {
                Some(reader) => reader,
                None => Reader::open(&directory)?,
            };
            reader.set_limit(limit);
            let page = read_page(&mut reader, last, limit, n_max)?;
            Ok((reader, page))
        });
        // The task is only gone if the program is ending.
        let (reader, (last, page)) = read.await.unwrap_or(Err(AuditError::Closed))?;
        self.reader = Some(reader);
        self.last = last;
        page
    }
}

type Page = Result<Vec<Record>, AuditError>;

/// A page, and the last record that was read or passed over.
fn read_page(reader: &mut Reader, last: u64, limit: u64, n_max: usize) -> Result<(u64, Page), AuditError> {
    let mut page: Vec<Record> = Vec::new();
    let mut records = reader.records(last + 1)?;
    while page.len() < n_max {
        match records.next() {
            Some(Ok(record)) => page.push(record),
            Some(Err(error)) if page.is_empty() => {
                let next = records.find_map(Result::ok);
                return Ok((next.map_or(limit, |next| next.seq - 1), Err(error)));
            }
            // Told next time.
            Some(Err(_)) => break,
            None => return Ok((limit, Ok(page))),
        }
    }
    Ok((page.last().map_or(last, |record| record.seq), Ok(page)))
}

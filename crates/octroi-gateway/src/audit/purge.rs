//! Takes old segments away, with a signed record that says so.

use std::fs;
use std::path::{Path, PathBuf};

use octroi_core::audit::{Actor, Entry, Event, Kind, Level, Purge};

use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::file::sync_directory;
use super::format::segments;
use super::log::{AuditLog, Durability};
use super::walk::Walk;

/// What was taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// How many segments.
    pub n_segments: u32,
    /// How many records.
    pub n_records: u64,
}

impl AuditLog {
    /// Takes away the oldest segments all of whose records are older than a moment. The segment that
    /// is being written always stays. Each segment is looked through first, and goes only after a
    /// record of it is on disk: whenever this is interrupted, the log can be verified.
    pub async fn purge(&self, before_ms: u64, actor: Actor<'_>) -> Result<Purged, AuditError> {
        let mut purged = Purged::default();
        // The segment that is being written now. What this writes itself is not for this to take.
        let files = segments(self.directory()).map_err(|error| AuditError::io(self.directory(), error))?;
        let current = files.last().map_or(0, |last| last.number);
        loop {
            let directory = self.directory().to_owned();
            let look = tokio::task::spawn_blocking(move || oldest(&directory, before_ms, current));
            // The task is only gone if the program is ending.
            let Some((path, purge)) = look.await.unwrap_or(Err(AuditError::Closed))? else {
                return Ok(purged);
            };
            let context = purge.to_context(self.key());
            let event = Event {
                level: Level::Warn,
                context: &context,
                ..Event::new(self.now_ms(), Kind::AuditPurged, actor)
            };
            self.append(&event, Durability::Disk).await?;
            fs::remove_file(&path).map_err(|error| AuditError::io(&path, error))?;
            sync_directory(self.directory())?;
            purged.n_segments += 1;
            purged.n_records += purge.last_seq + 1 - purge.first_seq;
        }
    }
}

/// The oldest segment, if it may go.
fn oldest(directory: &Path, before_ms: u64, current: u32) -> Result<Option<(PathBuf, Purge)>, AuditError> {
    let files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let [first, second, ..] = files.as_slice() else { return Ok(None) };
    if first.number >= current {
        return Ok(None);
    }
    let unreadable =
        |what: &dyn ToString| AuditError::Unreadable { path: first.path.clone(), what: what.to_string() };
    let Ok((mut cursor, header)) = Cursor::open(&first.path)? else {
        return Err(unreadable(&"its header is damaged"));
    };
    let mut walk = Walk::new(&header);
    loop {
        match cursor.next()? {
            Step::Frame(frame) => {
                if let Some(problem) = walk.take(first.number, frame.seq, frame.chain, frame.body) {
                    return Err(unreadable(&problem));
                }
                let entry = Entry::parse(frame.body).map_err(|error| unreadable(&error))?;
                if entry.at_ms >= before_ms {
                    return Ok(None);
                }
            }
            Step::End => break,
            Step::Torn { .. } | Step::Unreadable => return Err(unreadable(&"its end is damaged")),
        }
    }
    let Ok((_, next)) = Cursor::open(&second.path)? else {
        return Err(unreadable(&"the segment after it is damaged"));
    };
    let purge = Purge {
        node: header.node.clone(),
        first_seq: header.first_seq,
        last_seq: walk.last(),
        chain: next.chain,
        tree: next.tree.clone(),
    };
    match walk.enter(second.number, &next) {
        Some(problem) => Err(unreadable(&problem)),
        None => Ok(Some((first.path.clone(), purge))),
    }
}

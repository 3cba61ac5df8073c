//! Purges old segments, with a signed record of it.

use std::fs;
use std::path::{Path, PathBuf};

use octroi_core::audit::{Actor, Entry, Event, Kind, Level, Purge};

use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::file::sync_directory;
use super::format::{SegmentFile, segments};
use super::log::{AuditLog, Durability};
use super::walk::LogWalk;

/// What a purge may remove. Without limits it removes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeLimits {
    /// Records that are older than this, in milliseconds since 1970.
    pub before_ms: Option<u64>,
    /// The oldest records of a log that is larger than this.
    pub max_bytes: Option<u64>,
}

/// The result of a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// The number of purged segments.
    pub n_segments: u32,
    /// The number of purged records.
    pub n_records: u64,
}

impl AuditLog {
    /// Purges the oldest segments: those whose records are all older than a time, and those beyond a size of the log.
    /// The segment that is being written always stays. Each segment is checked first, and deleted only after a record of that is on disk:
    /// if the purge is interrupted at any point, the log can still be verified.
    pub async fn purge(&self, limits: PurgeLimits, actor: Actor<'_>) -> Result<Purged, AuditError> {
        let mut purged = Purged::default();
        // The segment that is being written now. Segments that the purge itself begins are not purged.
        let files = segments(self.directory()).map_err(|error| AuditError::io(self.directory(), error))?;
        let current = files.last().map_or(0, |last| last.number);
        loop {
            let directory = self.directory().to_owned();
            let look = self.run_blocking("audit-purge", move || oldest(&directory, limits, current));
            let Some(Oldest { path, purge, because }) = look.await? else {
                return Ok(purged);
            };
            let context = purge.to_context(self.key(), because);
            let event = Event {
                level: Level::Warn,
                context: &context,
                ..Event::new(self.now_ms(), Kind::AuditPurged, actor)
            };
            self.append(&event, Durability::Disk).await?;
            self.compressor().remove(&path)?;
            sync_directory(self.directory())?;
            purged.n_segments += 1;
            purged.n_records += purge.last_seq + 1 - purge.first_seq;
        }
    }
}

/// A segment that may be purged.
struct Oldest {
    path: PathBuf,
    purge: Purge,
    because: &'static str,
}

/// The oldest segment, if it may be purged.
fn oldest(directory: &Path, limits: PurgeLimits, current: u32) -> Result<Option<Oldest>, AuditError> {
    let files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let [first, second, ..] = files.as_slice() else { return Ok(None) };
    if first.number >= current {
        return Ok(None);
    }
    let is_too_large = match limits.max_bytes {
        Some(max_bytes) => size(&files)? > max_bytes,
        None => false,
    };
    // Records that are as old as this, or newer, stay. All may go from a log that is too large.
    let keep_from_ms = if is_too_large { u64::MAX } else { limits.before_ms.unwrap_or_default() };
    if keep_from_ms == 0 {
        return Ok(None);
    }
    let unreadable =
        |what: &dyn ToString| AuditError::Unreadable { path: first.path.clone(), what: what.to_string() };
    let Ok((mut cursor, header)) = Cursor::open(&first.path)? else {
        return Err(unreadable(&"its header is damaged"));
    };
    let mut walk = LogWalk::new(&header);
    loop {
        match cursor.next()? {
            Step::Frame(frame) => {
                if let Some(problem) = walk.take(first.number, frame.seq, frame.chain, frame.body) {
                    return Err(unreadable(&problem));
                }
                let entry = Entry::parse(frame.body).map_err(|error| unreadable(&error))?;
                if entry.at_ms >= keep_from_ms {
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
        None => {
            let because = if is_too_large { "size" } else { "age" };
            Ok(Some(Oldest { path: first.path.clone(), purge, because }))
        }
    }
}

/// The size of the log: its segments.
fn size(files: &[SegmentFile]) -> Result<u64, AuditError> {
    files.iter().try_fold(0, |size, file| {
        let length = fs::metadata(&file.path).map_err(|error| AuditError::io(&file.path, error))?.len();
        Ok(size + length)
    })
}

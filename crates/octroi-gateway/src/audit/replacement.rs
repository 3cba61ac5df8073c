//! Makes the compressed copy of a closed segment, which then takes the place of the original.
//!
//! The copy is written beside, on disk, and verified like a log before that. Until the one rename nothing of the
//! log has changed, so a crash leaves no more than a file that nobody reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blocks::{BLOCK_MIN, put_block};
use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::file::{Faults, LogFile};
use super::format::{Header, SegmentFile, Storage, put_frame};
use super::walk::{LogProblem, LogWalk};

/// So much is written between two syncs. One sync of everything would make callers wait for the disk.
const SYNC_EVERY: usize = 1 << 20;

/// Called after each block: may wait, or fail to stop the work.
pub(super) type Pace<'a> = &'a dyn Fn() -> Result<(), AuditError>;

/// A verified copy of a segment. Its file is removed if it does not replace the original.
#[derive(Debug)]
pub(super) struct Replacement {
    original: Cursor,
    path: PathBuf,
    beside: PathBuf,
    /// The size of the original.
    pub(super) n_bytes_before: u64,
    /// The size of the copy.
    pub(super) n_bytes: u64,
}

/// What became of a segment that was to be compressed.
#[derive(Debug)]
pub(super) enum Compressing {
    /// It can be replaced.
    Ready(Replacement),
    /// It is compressed already.
    Done,
    /// Something is wrong with it, so it must stay as it is.
    Damaged(LogProblem),
}

impl Replacement {
    /// Makes a copy of a segment. `next` is the segment after it, which says what it must lead to.
    pub(super) fn make(
        file: &SegmentFile,
        next: &SegmentFile,
        pace: Pace<'_>,
        faults: &Arc<Faults>,
    ) -> Result<Compressing, AuditError> {
        let unreadable = |file: &SegmentFile, seq| {
            Ok(Compressing::Damaged(LogProblem::SegmentHeader { segment: file.number, seq }))
        };
        let Ok((original, header)) = Cursor::open(&file.path)? else { return unreadable(file, 0) };
        if original.is_compressed() {
            return Ok(Compressing::Done);
        }
        let Ok((_, next_header)) = Cursor::open(&next.path)? else {
            return unreadable(next, header.first_seq);
        };
        let beside = copy_path(&file.path);
        let n_bytes_before = original.length()?;
        let mut made = Self { original, path: file.path.clone(), beside, n_bytes_before, n_bytes: 0 };
        made.write(&header, pace, faults)?;
        let problem = made.problem(file.number, &header, next.number, &next_header, pace)?;
        Ok(problem.map_or(Compressing::Ready(made), Compressing::Damaged))
    }

    /// Writes everything that can be read of the original.
    fn write(&mut self, header: &Header, pace: Pace<'_>, faults: &Arc<Faults>) -> Result<(), AuditError> {
        let copy = LogFile::create(&self.beside, faults)?;
        let mut output = header.encode(Storage::Compressed);
        let mut frames = Vec::new();
        let mut n_unsynced = 0;
        loop {
            let is_over = match self.original.next()? {
                Step::Frame(frame) => {
                    put_frame(&mut frames, frame.seq, frame.chain, frame.body);
                    false
                }
                Step::End | Step::Torn { .. } | Step::Unreadable => true,
            };
            if frames.len() < BLOCK_MIN && !is_over {
                continue;
            }
            if !frames.is_empty() {
                put_block(&mut output, &frames).ok_or_else(|| AuditError::Unreadable {
                    path: self.path.clone(),
                    what: "its records are too large".to_owned(),
                })?;
                frames.clear();
            }
            copy.write(&output, self.n_bytes)?;
            self.n_bytes += output.len() as u64;
            n_unsynced += output.len();
            output.clear();
            if is_over || n_unsynced >= SYNC_EVERY {
                copy.sync()?;
                n_unsynced = 0;
            }
            if is_over {
                return Ok(());
            }
            pace()?;
        }
    }

    /// What is wrong with the copy, and so with the original: it must be whole, and lead to the next segment.
    fn problem(
        &self,
        number: u32,
        header: &Header,
        next_number: u32,
        next_header: &Header,
        pace: Pace<'_>,
    ) -> Result<Option<LogProblem>, AuditError> {
        let mut walk = LogWalk::new(header);
        let damaged = |walk: &LogWalk| Some(LogProblem::Unreadable { seq: walk.expected, segment: number });
        let Ok((mut copy, copied_header)) = Cursor::open(&self.beside)? else { return Ok(damaged(&walk)) };
        let mut paced_at = copy.offset();
        loop {
            match copy.next()? {
                Step::Frame(frame) => {
                    if let Some(problem) = walk.take(number, frame.seq, frame.chain, frame.body) {
                        return Ok(Some(problem));
                    }
                }
                Step::End => break,
                Step::Torn { .. } | Step::Unreadable => return Ok(damaged(&walk)),
            }
            if copy.offset() - paced_at >= BLOCK_MIN as u64 {
                paced_at = copy.offset();
                pace()?;
            }
        }
        let is_whole =
            copied_header == *header && copy.is_compressed() && copy.offset() == self.n_bytes_before;
        if !is_whole {
            return Ok(damaged(&walk));
        }
        let other_node = LogProblem::SegmentHeader { segment: next_number, seq: walk.expected };
        let follows = next_header.node == header.node;
        Ok(walk.enter(next_number, next_header).or((!follows).then_some(other_node)))
    }

    /// Replaces the original, unless it was removed or replaced by something else meanwhile: it is not brought
    /// back. The caller sees to it that no purge removes it right now.
    pub(super) fn put_in_place(self) -> Result<bool, AuditError> {
        if !self.original.is_in_place()? || self.original.length()? != self.n_bytes_before {
            return Ok(false);
        }
        fs::rename(&self.beside, &self.path).map_err(|error| AuditError::io(&self.path, error))?;
        Ok(true)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // Not there any more if it replaced the original. Otherwise the next start removes what is left.
        let _ = fs::remove_file(&self.beside);
    }
}

/// The copy of a segment until it takes its place.
fn copy_path(segment: &Path) -> PathBuf {
    segment.with_extension(COPY_EXTENSION)
}

/// Removes what a crash left of copies.
pub(super) fn remove_copies(directory: &Path) -> Result<(), AuditError> {
    let failed = |error| AuditError::io(directory, error);
    for item in fs::read_dir(directory).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        let is_copy = path.extension().is_some_and(|extension| extension == COPY_EXTENSION)
            && SegmentFile::at(path.with_extension("log")).is_some();
        if is_copy {
            fs::remove_file(&path).map_err(|error| AuditError::io(&path, error))?;
        }
    }
    Ok(())
}

const COPY_EXTENSION: &str = "new";

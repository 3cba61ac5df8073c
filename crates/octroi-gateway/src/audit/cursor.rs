//! Steps through the frames of one segment with a small buffer, also while it is being written.
//!
//! Positions are those of an uncompressed segment, whether it is compressed or not. So a position stays valid when
//! the segment is replaced by its compressed copy.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use octroi_core::audit::Hash;

use super::blocks::{BlockError, Blocks};
use super::error::AuditError;
use super::file::read_at;
use super::format::{FRAME_HEAD, FrameHead, HEADER_MAX, Header, HeaderError, Storage};

const BUFFER: usize = 64 << 10;

/// A position in a segment.
#[derive(Debug)]
pub(super) struct Cursor {
    path: PathBuf,
    file: File,
    /// Where the next frame begins.
    offset: u64,
    /// Data that was read ahead, from `offset` on, in `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Of a compressed segment.
    blocks: Option<Blocks>,
}

/// A record and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) seq: u64,
    pub(super) chain: Hash,
    pub(super) body: &'a [u8],
    /// Where its frame begins.
    pub(super) offset: u64,
}

/// The next item of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A record.
    Frame(Frame<'a>),
    /// The end of the file so far. More may follow later.
    End,
    /// A part of a frame. The rest may follow later.
    Torn {
        /// The size of the part.
        n_bytes: u64,
    },
    /// Data that is not a frame.
    Unreadable,
}

impl Cursor {
    /// Opens a segment and reads its header.
    pub(super) fn open(path: &Path) -> Result<Result<(Self, Header), HeaderError>, AuditError> {
        let failed = |error| AuditError::io(path, error);
        let file = File::open(path).map_err(failed)?;
        let mut bytes = vec![0; HEADER_MAX];
        let n_read = read_at(&file, &mut bytes, 0).map_err(failed)?;
        let (header, storage, length) = match Header::parse(&bytes[..n_read]) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(error)),
        };
        let offset = length as u64;
        let blocks = match storage {
            Storage::Plain => None,
            Storage::Compressed => Some(Blocks::new(&file, offset).map_err(failed)?),
        };
        let path = path.to_owned();
        Ok(Ok((Self { path, file, offset, buffer: Vec::new(), start: 0, end: 0, blocks }, header)))
    }

    /// Whether the segment is compressed, and so was closed: it is never written again.
    pub(super) fn is_compressed(&self) -> bool {
        self.blocks.is_some()
    }

    /// Whether the file that is being read is still there under its name.
    pub(super) fn is_in_place(&self) -> Result<bool, AuditError> {
        let failed = |error| AuditError::io(&self.path, error);
        let own = self.file.metadata().map_err(failed)?;
        match fs::metadata(&self.path) {
            Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Where the next frame begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves to the beginning of a frame.
    pub(super) fn seek(&mut self, offset: u64) {
        self.offset = offset;
        self.start = 0;
        self.end = 0;
    }

    /// Reads the next item. After anything but a record the cursor stays where it is.
    pub(super) fn next(&mut self) -> Result<Step<'_>, AuditError> {
        let Some(n_head) = self.fill(FRAME_HEAD)? else {
            self.seek(self.offset);
            return Ok(Step::Unreadable);
        };
        let Some(head) = self.buffer[self.start..self.end].first_chunk::<FRAME_HEAD>() else {
            self.seek(self.offset);
            return Ok(if n_head == 0 { Step::End } else { Step::Torn { n_bytes: n_head as u64 } });
        };
        let Some(head) = FrameHead::parse(head) else {
            self.seek(self.offset);
            return Ok(Step::Unreadable);
        };
        let length = FRAME_HEAD + head.length;
        let Some(n_there) = self.fill(length)? else {
            self.seek(self.offset);
            return Ok(Step::Unreadable);
        };
        if n_there < length {
            self.seek(self.offset);
            return Ok(Step::Torn { n_bytes: n_there as u64 });
        }
        let offset = self.offset;
        let body = self.start + FRAME_HEAD..self.start + length;
        self.offset += length as u64;
        self.start += length;
        Ok(Step::Frame(Frame { seq: head.seq, chain: head.chain, body: &self.buffer[body], offset }))
    }

    /// Whether only zeros follow up to the end: blocks that the file system had allocated but not yet written
    /// when the power failed.
    pub(super) fn is_zero_to_the_end(&self) -> Result<bool, AuditError> {
        if self.is_compressed() {
            return Ok(false);
        }
        let mut bytes = vec![0; BUFFER];
        let mut offset = self.offset;
        loop {
            let n_read =
                read_at(&self.file, &mut bytes, offset).map_err(|error| AuditError::io(&self.path, error))?;
            if bytes[..n_read].iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            if n_read < bytes.len() {
                return Ok(true);
            }
            offset += n_read as u64;
        }
    }

    /// The current length of the file.
    pub(super) fn length(&self) -> Result<u64, AuditError> {
        self.file.metadata().map(|data| data.len()).map_err(|error| AuditError::io(&self.path, error))
    }

    /// Buffers at least `n_needed` bytes if there are so many; returns how many there are, at most `n_needed`.
    /// `None` if a block of a compressed segment is damaged.
    fn fill(&mut self, n_needed: usize) -> Result<Option<usize>, AuditError> {
        let n_there = self.end - self.start;
        if n_there >= n_needed {
            return Ok(Some(n_needed));
        }
        if self.is_compressed() {
            self.fill_from_blocks(n_needed)
        } else {
            self.fill_from_file(n_needed).map(Some)
        }
    }

    fn fill_from_blocks(&mut self, n_needed: usize) -> Result<Option<usize>, AuditError> {
        // No frame continues in the next block.
        let Some(blocks) = self.blocks.as_mut().filter(|_| self.start == self.end) else { return Ok(None) };
        self.start = 0;
        self.end = 0;
        match blocks.read(&self.file, self.offset, &mut self.buffer) {
            Ok(Some(n_before)) => {
                self.start = n_before;
                self.end = self.buffer.len();
                Ok((self.end - self.start >= n_needed).then_some(n_needed))
            }
            Ok(None) => Ok(Some(0)),
            Err(BlockError::Damaged) => Ok(None),
            Err(BlockError::Io(error)) => Err(AuditError::io(&self.path, error)),
        }
    }

    fn fill_from_file(&mut self, n_needed: usize) -> Result<usize, AuditError> {
        let n_there = self.end - self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        self.start = 0;
        self.end = n_there;
        let n_bytes = n_needed.max(BUFFER);
        if self.buffer.len() < n_bytes {
            self.buffer.resize(n_bytes, 0);
        } else if self.buffer.len() > BUFFER && n_bytes == BUFFER && n_there <= BUFFER {
            // Frees the space of a single large record.
            self.buffer.truncate(BUFFER);
            self.buffer.shrink_to_fit();
        }
        let offset = self.offset + n_there as u64;
        let n_read = read_at(&self.file, &mut self.buffer[n_there..], offset)
            .map_err(|error| AuditError::io(&self.path, error))?;
        self.end += n_read;
        Ok(self.end.min(n_needed))
    }
}

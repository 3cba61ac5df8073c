//! The format of a segment file: a header, then one frame per record. In a compressed segment the frames are in
//! blocks, which [`blocks`](super::blocks) describes; its header is the same but for the version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use octroi_core::audit::merkle::Tree;
use octroi_core::audit::{Hash, chain};

const MAGIC: &[u8; 8] = b"OCTAUDIT";
const PLAIN_VERSION: u32 = 1;
const COMPRESSED_VERSION: u32 = 2;
/// The offset of the variable part: after magic, version, first number, chain value, length of the name.
const HEADER_FIXED: usize = 8 + 4 + 8 + 32 + 1;
/// The maximum length of a header.
pub(super) const HEADER_MAX: usize = HEADER_FIXED + 255 + 64 * 32;
/// Length, number and chain value before each body.
pub(super) const FRAME_HEAD: usize = 4 + 8 + 32;
/// The maximum size of an event.
pub(super) const EVENT_MAX: usize = 1 << 20;
/// The maximum size of a record. Only those that list open calls come near.
pub(super) const BODY_MAX: usize = 16 << 20;
const BODY_MIN: usize = 2;
/// No log reaches this number, so it can be incremented without overflow checks.
const SEQ_MAX: u64 = 1 << 62;

/// The header of a segment: everything needed to continue without the previous segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) node: String,
    /// The number of its first record.
    pub(super) first_seq: u64,
    /// The chain value before it.
    pub(super) chain: Hash,
    /// The tree before it.
    pub(super) tree: Tree,
}

/// How the frames of a segment are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// One after the other. Every segment is written like this.
    Plain,
    /// In compressed blocks. Such a segment is never written again.
    Compressed,
}

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// The file ends within it.
    Short,
    /// It is something else, or of a newer version.
    Foreign,
}

impl Header {
    /// The header of the first segment of a log.
    pub(super) fn first(node: &str) -> Self {
        Self { node: node.to_owned(), first_seq: 1, chain: chain::start(node), tree: Tree::default() }
    }

    pub(super) fn encode(&self, storage: Storage) -> Vec<u8> {
        let version = match storage {
            Storage::Plain => PLAIN_VERSION,
            Storage::Compressed => COMPRESSED_VERSION,
        };
        let mut bytes = Vec::with_capacity(HEADER_FIXED + 64);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&self.first_seq.to_le_bytes());
        bytes.extend_from_slice(&self.chain.0);
        // The length of names was checked when the log was created.
        bytes.push(u8::try_from(self.node.len()).unwrap_or_default());
        bytes.extend_from_slice(self.node.as_bytes());
        for peak in self.tree.peaks() {
            bytes.extend_from_slice(&peak.0);
        }
        bytes
    }

    /// Parses the header of a file; returns how the frames after it are stored, and its length.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, Storage, usize), HeaderError> {
        let mut rest = Fields(bytes);
        if !bytes.starts_with(MAGIC) {
            let is_cut = MAGIC.starts_with(bytes);
            return Err(if is_cut { HeaderError::Short } else { HeaderError::Foreign });
        }
        rest.take::<8>()?;
        let storage = match u32::from_le_bytes(rest.take()?) {
            PLAIN_VERSION => Storage::Plain,
            COMPRESSED_VERSION => Storage::Compressed,
            _ => return Err(HeaderError::Foreign),
        };
        let first_seq = u64::from_le_bytes(rest.take()?);
        let chain = Hash(rest.take()?);
        let [length] = rest.take::<1>()?;
        let node = rest.some(length.into())?;
        let node = str::from_utf8(node).map_err(|_| HeaderError::Foreign)?.to_owned();
        let size = first_seq.checked_sub(1).filter(|size| *size < SEQ_MAX).ok_or(HeaderError::Foreign)?;
        let peaks = (0..size.count_ones()).map(|_| rest.take().map(Hash)).collect::<Result<Vec<_>, _>>()?;
        let tree = Tree::from_peaks(size, peaks).ok_or(HeaderError::Foreign)?;
        let length = bytes.len() - rest.0.len();
        Ok((Self { node, first_seq, chain, tree }, storage, length))
    }
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or(HeaderError::Short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn some(&mut self, length: usize) -> Result<&'a [u8], HeaderError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(HeaderError::Short)?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) seq: u64,
    pub(super) chain: Hash,
}

impl FrameHead {
    /// `None` if the length is invalid.
    pub(super) fn parse(bytes: &[u8; FRAME_HEAD]) -> Option<Self> {
        let mut rest = Fields(bytes);
        let length = u32::from_le_bytes(rest.take().ok()?) as usize;
        let seq = u64::from_le_bytes(rest.take().ok()?);
        let chain = Hash(rest.take().ok()?);
        (BODY_MIN..=BODY_MAX).contains(&length).then_some(Self { length, seq, chain })
    }
}

/// Appends a frame to a buffer.
pub(super) fn put_frame(buffer: &mut Vec<u8>, seq: u64, chain: Hash, body: &[u8]) {
    // The maximum size of a record fits.
    let length = u32::try_from(body.len()).unwrap_or_default();
    buffer.extend_from_slice(&length.to_le_bytes());
    buffer.extend_from_slice(&seq.to_le_bytes());
    buffer.extend_from_slice(&chain.0);
    buffer.extend_from_slice(body);
}

/// A segment file and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentFile {
    pub(super) number: u32,
    pub(super) path: PathBuf,
}

impl SegmentFile {
    /// The segment file with this path; `None` if that is not the name of one.
    pub(super) fn at(path: PathBuf) -> Option<Self> {
        let digits = path.file_name()?.to_str()?.strip_suffix(".log")?;
        let is_plain = (6..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| is_plain)?;
        Some(Self { number, path })
    }
}

/// The path of a segment.
pub(super) fn segment_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{number:06}.log"))
}

/// All segments in a directory, the oldest first.
pub(super) fn segments(directory: &Path) -> io::Result<Vec<SegmentFile>> {
    let mut found = Vec::new();
    for item in fs::read_dir(directory)? {
        found.extend(SegmentFile::at(item?.path()));
    }
    found.sort_unstable_by_key(|segment| segment.number);
    Ok(found)
}

/// How many segments a directory has.
pub(crate) fn count_segments(directory: &Path) -> usize {
    segments(directory).map_or(0, |segments| segments.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_never_in_part() {
        let mut header = Header::first("node-1");
        (1..=11).for_each(|seq| header.tree.push(chain::leaf(seq, b"{}")));
        header.first_seq = 12;
        for storage in [Storage::Plain, Storage::Compressed] {
            let bytes = header.encode(storage);
            assert_eq!(Header::parse(&bytes), Ok((header.clone(), storage, bytes.len())));
        }
        let bytes = header.encode(Storage::Plain);
        for length in 0..bytes.len() {
            assert_eq!(Header::parse(&bytes[..length]), Err(HeaderError::Short), "{length}");
        }
        for place in 0..12 {
            let mut other = bytes.clone();
            other[place] ^= 1;
            assert_eq!(Header::parse(&other), Err(HeaderError::Foreign), "{place}");
        }
    }
}

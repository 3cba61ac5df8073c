//! The blocks of a compressed segment. Each has whole frames, and can be read without the others.
//!
//! A block is a head and the frames, compressed with LZ4. All blocks but the last have at least [`BLOCK_MIN`] bytes
//! of frames. Lengths are checked before they are believed: a file with any content costs little memory.

use std::fs::File;
use std::io;

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use sha2::{Digest as _, Sha256};

use super::file::read_at;
use super::format::{BODY_MAX, FRAME_HEAD};

/// A block ends with the frame that reaches this size.
pub(super) const BLOCK_MIN: usize = 64 << 10;
/// The maximum size: the last frame may be as large as a frame can be.
const BLOCK_MAX: usize = BLOCK_MIN + FRAME_HEAD + BODY_MAX;
/// Both lengths and the digest.
const BLOCK_HEAD: usize = 4 + 4 + DIGEST;
const DIGEST: usize = 32;

/// Reads the blocks of a compressed segment.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The length of the file, which is never written again.
    file_bytes: u64,
    /// Where the blocks begin that were passed so far, so that going back needs no search.
    starts: Vec<BlockStart>,
    /// Empty or the block that was read last, kept for its capacity.
    compressed: Vec<u8>,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug)]
struct BlockStart {
    /// The position of its first frame, as if the segment was not compressed.
    offset: u64,
    /// The position of its head in the file.
    place: u64,
}

/// What precedes the compressed frames.
#[derive(Clone, Copy, Debug)]
struct BlockHead {
    n_compressed: usize,
    /// The length of the frames.
    n_bytes: usize,
    digest: [u8; DIGEST],
}

/// Why a block cannot be read.
#[derive(Debug)]
pub(super) enum BlockError {
    /// It was changed, or is no block.
    Damaged,
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for BlockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Blocks {
    /// The blocks of a file whose header has this length.
    pub(super) fn new(file: &File, header_bytes: u64) -> io::Result<Self> {
        let first = BlockStart { offset: header_bytes, place: header_bytes };
        Ok(Self { file_bytes: file.metadata()?.len(), starts: vec![first], compressed: Vec::new() })
    }

    /// Reads the frames of the block with this position. Returns how many bytes of them are before it; `None` if
    /// the segment ends before it.
    pub(super) fn read(
        &mut self,
        file: &File,
        offset: u64,
        frames: &mut Vec<u8>,
    ) -> Result<Option<usize>, BlockError> {
        let Some((start, head)) = self.find(file, offset)? else { return Ok(None) };
        resize(&mut self.compressed, head.n_compressed);
        let n_read = read_at(file, &mut self.compressed, start.place + BLOCK_HEAD as u64)?;
        // Before anything is made of it.
        if n_read < head.n_compressed || head.digest != digest(head.n_bytes, &self.compressed) {
            return Err(BlockError::Damaged);
        }
        resize(frames, head.n_bytes);
        let n_bytes = decompress_into(&self.compressed, frames).map_err(|_| BlockError::Damaged)?;
        let n_before = offset.checked_sub(start.offset).and_then(|n_before| usize::try_from(n_before).ok());
        match n_before {
            Some(n_before) if n_bytes == head.n_bytes => Ok(Some(n_before)),
            Some(_) | None => Err(BlockError::Damaged),
        }
    }

    /// The block with this position. From the last block that is known on, heads are read one after the other.
    fn find(&mut self, file: &File, offset: u64) -> Result<Option<(BlockStart, BlockHead)>, BlockError> {
        let mut number = self.starts.partition_point(|start| start.offset <= offset).saturating_sub(1);
        let mut start = self.starts[number];
        while let Some(head) = self.head(file, start.place)? {
            let next = BlockStart {
                offset: start.offset + head.n_bytes as u64,
                place: start.place + (BLOCK_HEAD + head.n_compressed) as u64,
            };
            let is_short = head.n_bytes < BLOCK_MIN;
            number += 1;
            if number == self.starts.len() && !is_short {
                self.starts.push(next);
            }
            if offset < next.offset {
                return Ok(Some((start, head)));
            }
            // Otherwise a file of many short ones would make the table as large as the file.
            if is_short && next.place < self.file_bytes {
                return Err(BlockError::Damaged);
            }
            start = next;
        }
        Ok(None)
    }

    /// The head at a place of the file; `None` at its end.
    fn head(&self, file: &File, place: u64) -> Result<Option<BlockHead>, BlockError> {
        let mut bytes = [0; BLOCK_HEAD];
        match read_at(file, &mut bytes, place)? {
            0 => return Ok(None),
            BLOCK_HEAD => {}
            _ => return Err(BlockError::Damaged),
        }
        let head = BlockHead::parse(&bytes).ok_or(BlockError::Damaged)?;
        let end = place + (BLOCK_HEAD + head.n_compressed) as u64;
        let is_possible = (1..=BLOCK_MAX).contains(&head.n_bytes)
            && head.n_compressed <= get_maximum_output_size(head.n_bytes)
            && end <= self.file_bytes;
        if is_possible { Ok(Some(head)) } else { Err(BlockError::Damaged) }
    }
}

impl BlockHead {
    fn parse(bytes: &[u8; BLOCK_HEAD]) -> Option<Self> {
        let (n_compressed, rest) = bytes.split_first_chunk()?;
        let (n_bytes, rest) = rest.split_first_chunk()?;
        Some(Self {
            n_compressed: u32::from_le_bytes(*n_compressed) as usize,
            n_bytes: u32::from_le_bytes(*n_bytes) as usize,
            digest: rest.try_into().ok()?,
        })
    }
}

/// Appends a block with these frames to a buffer; `None` if they are too many.
pub(super) fn put_block(buffer: &mut Vec<u8>, frames: &[u8]) -> Option<()> {
    let n_bytes = u32::try_from(frames.len()).ok().filter(|_| frames.len() <= BLOCK_MAX)?;
    let start = buffer.len();
    let body = start + BLOCK_HEAD;
    buffer.resize(body + get_maximum_output_size(frames.len()), 0);
    let n_compressed = compress_into(frames, &mut buffer[body..]).ok()?;
    buffer.truncate(body + n_compressed);
    let digest = digest(frames.len(), &buffer[body..]);
    let (lengths, of_digest) = buffer[start..body].split_at_mut(BLOCK_HEAD - DIGEST);
    lengths[..4].copy_from_slice(&u32::try_from(n_compressed).ok()?.to_le_bytes());
    lengths[4..].copy_from_slice(&n_bytes.to_le_bytes());
    of_digest.copy_from_slice(&digest);
    Some(())
}

/// Protects the compressed form, because different ones can stand for the same frames.
fn digest(n_bytes: usize, compressed: &[u8]) -> [u8; DIGEST] {
    // Lengths of blocks fit: they are read from and written to four bytes.
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut digest = Sha256::new();
    digest.update(length(compressed.len()));
    digest.update(length(n_bytes));
    digest.update(compressed);
    digest.finalize().into()
}

/// Sets the length, and frees the space of a single large record.
fn resize(buffer: &mut Vec<u8>, length: usize) {
    const USUAL: usize = 2 * BLOCK_MIN;
    buffer.clear();
    if length <= USUAL {
        buffer.shrink_to(USUAL);
    }
    buffer.resize(length, 0);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// A file without a header.
    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn block(n_bytes: usize, compressed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(compressed.len()).unwrap().to_le_bytes());
        bytes.extend(u32::try_from(n_bytes).unwrap().to_le_bytes());
        bytes.extend(digest(n_bytes, compressed));
        bytes.extend(compressed);
        bytes
    }

    fn is_damaged(file: &File, offset: u64) -> bool {
        let mut frames = Vec::new();
        let read = Blocks::new(file, 0).unwrap().read(file, offset, &mut frames);
        assert!(frames.capacity() <= 2 * BLOCK_MIN, "{}", frames.capacity());
        matches!(read, Err(BlockError::Damaged))
    }

    #[test]
    fn blocks_are_read_from_any_position_and_in_any_order() {
        let sizes = [BLOCK_MIN, BLOCK_MIN + 700, BLOCK_MAX, BLOCK_MIN, 46];
        let (mut bytes, mut all, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        for (number, size) in (1_u8..).zip(sizes) {
            let content: Vec<u8> = (0..size).map(|at| number * u8::from(at % 251 < 9)).collect();
            put_block(&mut bytes, &content).unwrap();
            starts.push(all.len());
            all.extend(content);
        }
        assert!(bytes.len() < BLOCK_MAX / 20);
        let file = file_of(&bytes);
        let mut blocks = Blocks::new(&file, 0).unwrap();
        let mut frames = Vec::new();
        // Each block after each other one.
        for place in [0, 4, 1, 3, 2, 0, 3, 4, 2, 1, 4, 0, 2] {
            for n_before in [0, 1, sizes[place] - 1] {
                let offset = (starts[place] + n_before) as u64;
                assert_eq!(blocks.read(&file, offset, &mut frames).unwrap(), Some(n_before));
                assert!(frames == all[starts[place]..starts[place] + sizes[place]], "{place}");
            }
        }
        assert!(blocks.read(&file, 0, &mut frames).unwrap().is_some());
        assert!(frames.capacity() <= 2 * BLOCK_MIN, "the space of the large one is free again");
        for after in [0, 1, 1 << 40] {
            assert!(blocks.read(&file, all.len() as u64 + after, &mut frames).unwrap().is_none());
        }
        assert!(put_block(&mut bytes, &vec![0; BLOCK_MAX + 1]).is_none());
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut good = Vec::new();
        put_block(&mut good, &vec![7; BLOCK_MIN]).unwrap();
        assert!(!is_damaged(&file_of(&good), 0));
        let compressed = &good[BLOCK_HEAD..];
        for n_bytes in [0, 1, BLOCK_MIN - 1, BLOCK_MIN + 1, BLOCK_MAX + 1, u32::MAX as usize] {
            assert!(is_damaged(&file_of(&block(n_bytes, compressed)), 0), "{n_bytes}");
        }
        for length in 1..good.len() {
            assert!(is_damaged(&file_of(&good[..length]), 0), "{length}");
        }
        // Nothing comes after a short block.
        let short = block(1, &[0x10, 7]);
        let two = file_of(&[short.clone(), short].concat());
        assert!(!is_damaged(&two, 0) && is_damaged(&two, 1) && is_damaged(&two, 2));
    }

    proptest! {
        #[test]
        fn no_compressed_bytes_are_too_much(
            compressed in prop::collection::vec(prop_oneof![Just(0xff_u8), Just(0), any::<u8>()], 0..300),
            n_bytes in 1_usize..2 * BLOCK_MIN,
        ) {
            // With the right digest: what arrives at the decompression is any bytes.
            let bytes = block(n_bytes, &compressed);
            is_damaged(&file_of(&bytes), 0);
        }

        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..300), offset in 0_u64..1_000_000) {
            is_damaged(&file_of(&bytes), offset);
        }
    }
}

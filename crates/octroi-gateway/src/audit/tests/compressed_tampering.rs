//! Every change of a compressed segment is detected, and names a record at or before it.

use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::support::{change, check, compress_closed, filled, frames, open, small};
use crate::audit::cursor::Cursor;
use crate::audit::format::{Header, Storage, segment_path, segments};
use crate::audit::{LogProblem, LogReader, Options};

/// The bytes before the compressed frames of a block.
const HEAD: usize = 40;

/// A block of a compressed segment: its place in the file, and its records.
#[derive(Clone, Debug)]
struct BlockPosition {
    from: usize,
    until: usize,
    first_seq: u64,
    last_seq: u64,
}

/// A log whose first segment is compressed in some blocks, and those blocks.
async fn log_with_blocks() -> (TempDir, Vec<BlockPosition>) {
    let directory = filled(1_500, &Options { segment_bytes: 300_000, ..small() }).await;
    compress_closed(directory.path());
    let path = segment_path(directory.path(), 1);
    let bytes = fs::read(&path).unwrap();
    let frames = frames(directory.path());
    let start = frames[0].from;
    let (mut from, mut offset) = (start, start);
    let mut blocks = Vec::new();
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    while from < bytes.len() {
        let until = from + HEAD + length(from);
        let end = offset + length(from + 4);
        let mut inside =
            frames.iter().filter(|frame| frame.path == path && (offset..end).contains(&frame.from));
        let first_seq = inside.next().unwrap().seq;
        blocks.push(BlockPosition {
            from,
            until,
            first_seq,
            last_seq: inside.next_back().map_or(first_seq, |frame| frame.seq),
        });
        (from, offset) = (until, end);
    }
    assert!(blocks.len() > 3, "{blocks:?}");
    (directory, blocks)
}

/// The first affected record of each change, which is undone.
fn first_problem(directory: &TempDir, edit: impl FnOnce(&mut Vec<u8>)) -> Option<LogProblem> {
    let path = segment_path(directory.path(), 1);
    let before = fs::read(&path).unwrap();
    change(&path, edit);
    let mut found = check(directory.path()).problems;
    let mut reader = LogReader::open(directory.path()).unwrap();
    assert!(reader.records(1).unwrap().count() < 3_000);
    let _ = reader.page_before(u64::MAX, 3_000);
    fs::write(&path, before).unwrap();
    (!found.is_empty()).then(|| found.remove(0))
}

#[tokio::test]
async fn every_byte_of_a_compressed_segment_counts() {
    let directory = filled(14, &small()).await;
    compress_closed(directory.path());
    let frames = frames(directory.path());
    let mut files = segments(directory.path()).unwrap();
    files.pop();
    for file in files {
        let first = frames.iter().find(|frame| frame.path == file.path).unwrap();
        let before = fs::read(&file.path).unwrap();
        for at in 0..before.len() {
            change(&file.path, |bytes| bytes[at] ^= 1 << (at % 8));
            let found = check(directory.path()).problems;
            let record = found.first().map(LogProblem::record);
            if at < first.from {
                // As in the header of a segment that is not compressed.
                let is_near = record.is_some_and(|record| record >= first.seq);
                assert!(is_near || (record.is_some() && first.seq == 1), "byte {at} of {file:?}: {found:?}");
            } else {
                assert_eq!(record, Some(first.seq), "byte {at} of {file:?}: {found:?}");
            }
            fs::write(&file.path, &before).unwrap();
        }
    }
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn a_change_names_the_first_record_of_its_block() {
    let (directory, blocks) = log_with_blocks().await;
    for block in &blocks {
        let some =
            (block.from..block.from + HEAD).step_by(3).chain((block.from + HEAD..block.until).step_by(701));
        for at in some {
            let found = first_problem(&directory, |bytes| bytes[at] ^= 1 << (at % 8));
            let record = found.as_ref().map(LogProblem::record);
            assert_eq!(record, Some(block.first_seq), "byte {at} of {block:?}: {found:?}");
        }
    }
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn blocks_that_are_gone_or_moved_are_found() {
    let (directory, blocks) = log_with_blocks().await;
    for pair in blocks.windows(2) {
        let [block, next] = pair else { panic!() };
        let found = first_problem(&directory, |bytes| drop(bytes.drain(block.from..block.until)));
        let missing = LogProblem::Missing { first: block.first_seq, last: block.last_seq };
        assert_eq!(found, Some(missing));
        let found = first_problem(&directory, |bytes| {
            bytes[block.from..next.until].rotate_left(block.until - block.from);
        });
        assert_eq!(found.map(|problem| problem.record()), Some(block.first_seq));
        let found = first_problem(&directory, |bytes| {
            let twice = bytes[block.from..block.until].to_vec();
            drop(bytes.splice(block.until..block.until, twice));
        });
        assert_eq!(found.map(|problem| problem.record()), Some(next.first_seq));
    }
}

#[tokio::test]
async fn every_end_of_a_compressed_segment_is_found() {
    let (directory, blocks) = log_with_blocks().await;
    let lengths = blocks.iter().flat_map(|block| {
        [0, 1, 8, HEAD - 1, HEAD, HEAD + 1, block.until - block.from - 1].map(|length| block.from + length)
    });
    for length in lengths {
        let found = first_problem(&directory, |bytes| bytes.truncate(length));
        let block = blocks.iter().find(|block| length < block.until).unwrap();
        assert_eq!(found.map(|problem| problem.record()), Some(block.first_seq), "{length}");
    }
    let last = blocks.last().unwrap();
    for more in [&[0; 1][..], &[0; 39], &[0; 40], &[0; 5_000]] {
        let found = first_problem(&directory, |bytes| bytes.extend(more));
        assert_eq!(found.map(|problem| problem.record()), Some(last.last_seq + 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_blocks_confuse_the_reader(
        lengths in prop::collection::vec((0_u32..100_000, prop_oneof![0_u32..200_000, any::<u32>()]), 1..4),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { open(directory.path(), &small()).log.close().await }).unwrap();
        let path = segment_path(directory.path(), 1);
        let mut file = Header::first("n").encode(Storage::Compressed);
        for (n_compressed, n_bytes) in lengths {
            file.extend(n_compressed.to_le_bytes());
            file.extend(n_bytes.to_le_bytes());
            file.extend(&bytes);
        }
        fs::write(&path, file).unwrap();
        prop_assert!(Cursor::open(&path).unwrap().unwrap().0.is_compressed());
        prop_assert!(!check(directory.path()).is_intact());
        let mut reader = LogReader::open(directory.path()).unwrap();
        prop_assert!(reader.records(1).unwrap().count() < 20);
        let _ = reader.page_before(u64::MAX, 10);
        // With any content, a gateway starts.
        open(directory.path(), &small());
    }
}

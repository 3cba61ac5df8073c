//! Closed segments are compressed, and nobody notices but the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use octroi_core::audit::{Actor, ActorKind, CallId, Event, Filter, Kind, Ruling, SourceType};

use super::support::{
    EVERYTHING, change, check, compress, compress_closed, compressed, compressing, event, fill, filled,
    frames, open, problems, small, wait_until_compressed,
};
use crate::audit::compressor::Compressor;
use crate::audit::cursor::{Cursor, Step};
use crate::audit::file::Faults;
use crate::audit::format::{segment_path, segments};
use crate::audit::replacement::Compressing;
use crate::audit::{
    AuditError, AuditLog, Durability, ExportFormat, LogProblem, LogReader, Options, export, prove,
};

/// Segments of some blocks.
fn some_blocks() -> Options {
    Options { segment_bytes: 300_000, checkpoint_records: 100, ..small() }
}

/// Everything that readers say about a log.
#[derive(Debug, PartialEq, Eq)]
struct Readings {
    report: serde_json::Value,
    records: Vec<u64>,
    pages: Vec<Vec<u64>>,
    texts: Vec<Vec<u8>>,
    proofs: Vec<crate::audit::Proof>,
}

fn readings(directory: &Path, reader: &mut LogReader) -> Readings {
    let records: Vec<_> = reader.records(1).unwrap().map(|record| record.unwrap().seq).collect();
    let last = records.len() as u64;
    let some: Vec<u64> = (1..=last).step_by(usize::try_from(last / 60).unwrap().max(1)).collect();
    let page = |reader: &mut LogReader, before, n_max| {
        let page = reader.page_before(before, n_max).unwrap();
        page.iter().map(|record| record.seq).collect::<Vec<_>>()
    };
    let mut pages: Vec<_> =
        some.iter().flat_map(|&seq| [page(reader, seq, 3), page(reader, seq, 200)]).collect();
    pages.extend(some.iter().map(|&seq| vec![reader.record(seq).unwrap().unwrap().seq]));
    let texts = [ExportFormat::Jsonl, ExportFormat::Csv].map(|format| {
        let mut text = Vec::new();
        export(reader, &Filter::default(), format, &mut text).unwrap();
        text
    });
    let proofs = some.iter().step_by(20).map(|&seq| prove(directory, seq).unwrap()).collect();
    Readings { report: check(directory).to_json(), records, pages, texts: texts.into(), proofs }
}

#[tokio::test]
async fn a_compressed_log_reads_the_same() {
    for (n_events, options) in [(40, small()), (3_000, some_blocks())] {
        let directory = filled(n_events, &options).await;
        let path = directory.path();
        let mut old_reader = LogReader::open(path).unwrap();
        let before = readings(path, &mut old_reader);
        assert_eq!(before.report["intact"], true);
        assert_eq!(before.records, (1..=before.records.len() as u64).collect::<Vec<_>>());
        let n_segments = segments(path).unwrap().len();
        assert!(n_segments > 2, "{n_segments}");
        compress(path, 2);
        assert_eq!(compressed(path).iter().filter(|is_compressed| **is_compressed).count(), 1);
        // The old reader goes on with the positions that it knows from the uncompressed files.
        assert!(readings(path, &mut old_reader) == before);
        assert!(readings(path, &mut LogReader::open(path).unwrap()) == before);
        compress(path, 1);
        (3..n_segments).for_each(|number| compress(path, u32::try_from(number).unwrap()));
        assert!(readings(path, &mut old_reader) == before);
        assert!(readings(path, &mut LogReader::open(path).unwrap()) == before);
        // It is continued as if nothing had happened.
        let opened = open(path, &options);
        assert_eq!(opened.problems, []);
        fill(&opened.log, 20).await;
        opened.log.close().await.unwrap();
        assert_eq!(problems(path), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_cursor_finishes_the_file_that_it_has_opened() {
    let directory = filled(3_000, &some_blocks()).await;
    let path = segment_path(directory.path(), 1);
    let (mut plain, header) = Cursor::open(&path).unwrap().unwrap();
    let (mut reference, _) = Cursor::open(&path).unwrap().unwrap();
    for _ in 0..100 {
        assert!(matches!(plain.next().unwrap(), Step::Frame(_)));
    }
    compress_closed(directory.path());
    let (mut copy, copied_header) = Cursor::open(&path).unwrap().unwrap();
    assert!(copy.is_compressed() && !plain.is_compressed() && header == copied_header);
    // Positions mean the same in both.
    copy.seek(plain.offset());
    let mut n_compared = 0;
    while let Step::Frame(expected) = plain.next().unwrap() {
        let Step::Frame(found) = copy.next().unwrap() else { panic!("{expected:?}") };
        assert_eq!(
            (found.seq, found.chain, found.body, found.offset),
            (expected.seq, expected.chain, expected.body, expected.offset)
        );
        n_compared += 1;
    }
    assert!(n_compared > 100 && matches!(copy.next().unwrap(), Step::End));
    let mut offsets = Vec::new();
    while let Step::Frame(frame) = reference.next().unwrap() {
        offsets.push((frame.offset, frame.seq));
    }
    for (offset, seq) in offsets.into_iter().rev().step_by(17) {
        copy.seek(offset);
        let Step::Frame(found) = copy.next().unwrap() else { panic!("record {seq}") };
        assert_eq!(found.seq, seq);
    }
}

/// What the gateway records for most calls.
async fn typical(log: &AuditLog, n_calls: u64) {
    let begun = format!(
        r#"{{"arguments":{{"path":"docs/a.md","limit":20}},"risk":"low","side_effects":[],"definition":"{}","mode":"implementation","revision":3,"trace":[{{"gate":"disabled","verdict":"pass"}},{{"gate":"arguments","verdict":"pass"}},{{"gate":"pin","verdict":"pass"}},{{"gate":"policy","verdict":"allow"}}]}}"#,
        "3f9a".repeat(16)
    );
    for call in 0..n_calls {
        let ended = format!(
            r#"{{"outcome":"completed","duration_ms":{},"result_bytes":{}}}"#,
            call % 90,
            call * 37 % 5_000
        );
        let (agent, tool) =
            (format!("agent-{}", call % 12), format!("mcp:server{}:t{}", call % 5, call % 40));
        let server = format!("server{}", call % 5);
        // Ids are time and chance.
        let id = CallId(u128::from(call) << 90 | u128::from(call.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for (kind, context) in
            [(Kind::ToolInvocationStart, begun.as_str()), (Kind::ToolInvocationEnd, ended.as_str())]
        {
            let event = Event {
                agent: Some(&agent),
                server: Some(&server),
                tool: Some(&tool),
                source: Some(SourceType::Mcp),
                call: Some(id),
                ruling: (kind == Kind::ToolInvocationStart).then_some(Ruling::Allow),
                context,
                ..Event::new(1_700_000_000_000 + call * 13, kind, Actor::new(ActorKind::Agent, &agent))
            };
            log.append_later(&event).await.unwrap();
        }
    }
}

#[tokio::test]
async fn typical_records_take_little_space() {
    let directory = tempfile::tempdir().unwrap();
    let path = segment_path(directory.path(), 1);
    let log = open(directory.path(), &Options { segment_bytes: 2 << 20, ..small() }).log;
    typical(&log, 3_000).await;
    log.close().await.unwrap();
    let n_records = frames(directory.path()).iter().filter(|frame| frame.path == path).count() as u64;
    let before = fs::metadata(&path).unwrap().len() / n_records;
    compress(directory.path(), 1);
    let after = fs::metadata(&path).unwrap().len() / n_records;
    println!("{before} bytes for each record, {after} compressed");
    assert!(before > 400 && after < 120, "{before} {after}");
    assert_eq!(problems(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn the_log_compresses_what_is_closed_and_what_earlier_runs_left() {
    let directory = filled(40, &small()).await;
    let path = directory.path();
    // Of version 1, like all that were ever written.
    assert!(compressed(path).iter().all(|is_compressed| !is_compressed));
    // What a crash left: half a copy, and one of a segment that is gone.
    fs::write(path.join("000002.new"), "half").unwrap();
    fs::write(path.join("000999.new"), "gone").unwrap();
    let log = open(path, &Options { compress: true, ..small() }).log;
    wait_until_compressed(path).await;
    fill(&log, 40).await;
    let n_segments = segments(path).unwrap().len();
    wait_until_compressed(path).await;
    assert_eq!(compressed(path).last(), Some(&false), "the segment that is being written stays");
    log.close().await.unwrap();
    assert_eq!(check(path).n_segments, n_segments);
    assert_eq!(problems(path), Vec::<String>::new());
    assert_eq!(copies(path), Vec::<String>::new());
}

/// The names of unfinished copies.
fn copies(directory: &Path) -> Vec<String> {
    let paths = fs::read_dir(directory).unwrap().map(|item| item.unwrap().path());
    let copies = paths.filter(|path| path.extension().is_some_and(|extension| extension == "new"));
    copies.map(|path| path.display().to_string()).collect()
}

#[tokio::test]
async fn closing_does_not_wait_for_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &Options { segment_bytes: 300_000, ..small() }).log;
    typical(&log, 4_000).await;
    log.close().await.unwrap();
    let log = open(directory.path(), &Options { compress: true, ..small() }).log;
    while !compressed(directory.path())[0] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::timeout(Duration::from_secs(2), log.close()).await.unwrap().unwrap();
    let compressed = compressed(directory.path());
    assert!(compressed.contains(&false) && compressed.contains(&true), "{compressed:?}");
    assert_eq!(copies(directory.path()), Vec::<String>::new());
    assert_eq!(problems(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_full_disk_changes_nothing() {
    let directory = filled(3_000, &some_blocks()).await;
    let before = fs::read(segment_path(directory.path(), 1)).unwrap();
    for n_bytes in [1, 1_000, 30_000] {
        let faults = Arc::new(Faults::default());
        faults.bytes_left.store(n_bytes, SeqCst);
        let failed = compressing(directory.path(), 1, &faults).unwrap_err();
        assert!(matches!(failed, AuditError::DiskFull { .. }), "{failed:?}");
        assert_eq!(copies(directory.path()), Vec::<String>::new());
        assert!(fs::read(segment_path(directory.path(), 1)).unwrap() == before);
    }
    let faults = Arc::new(Faults::default());
    faults.sync.store(true, SeqCst);
    compressing(directory.path(), 1, &faults).unwrap_err();
    compress(directory.path(), 1);
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn what_failed_is_tried_again_and_keeps_nothing_else_from_it() {
    let directory = filled(40, &small()).await;
    let path = directory.path();
    let files = segments(path).unwrap();
    let current = files.last().unwrap().number;
    let faults = Arc::new(Faults::default());
    let compressor = Compressor::new(path, current, &faults);
    let mut settled = BTreeSet::new();
    faults.bytes_left.store(1, SeqCst);
    let failed = compressor.compress_before(current, &mut settled).unwrap_err();
    assert!(matches!(failed, AuditError::DiskFull { .. }) && settled.is_empty(), "{failed:?}");
    faults.bytes_left.store(0, SeqCst);
    // Something that cannot be read.
    let kept = fs::read(&files[1].path).unwrap();
    fs::remove_file(&files[1].path).unwrap();
    fs::create_dir(&files[1].path).unwrap();
    compressor.compress_before(current, &mut settled).unwrap_err();
    assert_eq!(settled.iter().copied().collect::<Vec<_>>(), (3..current).collect::<Vec<_>>());
    fs::remove_dir(&files[1].path).unwrap();
    fs::write(&files[1].path, kept).unwrap();
    compressor.compress_before(current, &mut settled).unwrap();
    assert_eq!(settled.len() + 1, files.len());
    assert_eq!(compressed(path).iter().filter(|is_compressed| !**is_compressed).count(), 1);
    assert_eq!(problems(path), Vec::<String>::new());
}

#[tokio::test]
async fn a_purged_segment_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 30).await;
    let Compressing::Ready(copy) = compressing(directory.path(), 1, &Arc::default()).unwrap() else {
        panic!()
    };
    assert!(log.purge(EVERYTHING, Actor::SYSTEM).await.unwrap().n_segments > 1);
    assert!(!copy.put_in_place().unwrap());
    assert!(!segment_path(directory.path(), 1).exists());
    assert_eq!(copies(directory.path()), Vec::<String>::new());
    // A file that was put there meanwhile stays as well.
    fill(&log, 30).await;
    let first = segments(directory.path()).unwrap().remove(0);
    let Compressing::Ready(copy) = compressing(directory.path(), first.number, &Arc::default()).unwrap()
    else {
        panic!()
    };
    let other = directory.path().join("other");
    fs::copy(&first.path, &other).unwrap();
    fs::rename(&other, &first.path).unwrap();
    assert!(!copy.put_in_place().unwrap());
    log.close().await.unwrap();
    assert_eq!(problems(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn purging_and_compressing_at_the_same_time() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &Options { compress: true, ..small() }).log;
    for round in 0..10 {
        fill(&log, 20 + round % 7).await;
        log.purge(EVERYTHING, Actor::SYSTEM).await.unwrap();
    }
    log.close().await.unwrap();
    let report = check(directory.path());
    assert_eq!(report.problems, []);
    assert!(report.first_seq > 30);
    assert_eq!(copies(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_log_that_ends_with_a_compressed_segment_goes_on_in_a_new_one() {
    for with_checkpoints in [true, false] {
        let directory = filled(20, &small()).await;
        let path = directory.path();
        compress_closed(path);
        let known = check(path).last_seq;
        let gone = segments(path).unwrap().pop().unwrap();
        fs::remove_file(&gone.path).unwrap();
        let compressed = segments(path).unwrap().pop().unwrap();
        let content = fs::read(&compressed.path).unwrap();
        let last = frames(path).last().unwrap().seq;
        // Without checkpoints, no more is known than that there was a further segment.
        let known = if with_checkpoints { known } else { last + 1 };
        if !with_checkpoints {
            fs::remove_file(path.join("checkpoints")).unwrap();
        }
        let cut_off = LogProblem::CutOff { last, known };
        assert_eq!(check(path).problems, std::slice::from_ref(&cut_off));

        let opened = open(path, &small());
        assert_eq!(opened.problems, [cut_off]);
        assert_eq!(opened.log.append(&event(1, ""), Durability::Disk).await.unwrap(), known + 2);
        opened.log.close().await.unwrap();
        assert_eq!(fs::read(&compressed.path).unwrap(), content, "nothing is appended to it");
        assert!(gone.path.exists());
        assert_eq!(check(path).problems, [LogProblem::Missing { first: last + 1, last: known }]);
        assert_eq!(open(path, &small()).problems, []);
    }
}

type Edit<'a> = &'a dyn Fn(&mut Vec<u8>);

#[tokio::test]
async fn a_damaged_segment_stays_as_it_is() {
    let directory = filled(20, &small()).await;
    let frames = frames(directory.path());
    let last = segments(directory.path()).unwrap().pop().unwrap();
    for frame in frames.iter().filter(|frame| frame.path != last.path) {
        let content = fs::read(&frame.path).unwrap();
        let number = u32::try_from(frame.seq).unwrap();
        let edits: [Edit<'_>; 6] = [
            &|bytes| bytes[frame.from + number as usize % 44] ^= 1,
            &|bytes| bytes[frame.until - 2] ^= 1,
            &|bytes| drop(bytes.drain(frame.from..frame.until)),
            &|bytes| bytes.truncate(frame.until - 1),
            &|bytes| bytes.push(0),
            &|bytes| bytes[20] ^= 1,
        ];
        for (place, edit) in edits.into_iter().enumerate() {
            change(&frame.path, |bytes| edit(bytes));
            let changed = fs::read(&frame.path).unwrap();
            let segment = crate::audit::format::SegmentFile::at(frame.path.clone()).unwrap().number;
            let made = compressing(directory.path(), segment, &Arc::default()).unwrap();
            assert!(matches!(made, Compressing::Damaged(_)), "edit {place} of {frame:?}: {made:?}");
            assert_eq!(copies(directory.path()), Vec::<String>::new());
            assert!(fs::read(&frame.path).unwrap() == changed);
            fs::write(&frame.path, &content).unwrap();
        }
    }
}

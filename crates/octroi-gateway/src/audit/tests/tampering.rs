//! Every change is detected, and the changed record is named.

use std::fs;
use std::path::Path;

use octroi_core::audit::{Actor, Checkpoint, Kind, SigningKey, chain};
use tempfile::TempDir;

use super::support::{
    EVERYTHING, FramePosition, change, check, copy, event, fill, filled, frames, open, problems, small,
};
use crate::audit::format::{Header, Storage, put_frame, segment_path, segments};
use crate::audit::{
    Durability, LogProblem, LogReader, Options, PurgeLimits, Purged, VerifyOptions, check_proof, prove,
    verify,
};

async fn small_log() -> (TempDir, Vec<FramePosition>) {
    let directory = filled(14, &small()).await;
    let frames = frames(directory.path());
    assert!(segments(directory.path()).unwrap().len() >= 3);
    (directory, frames)
}

/// The path of the same segment in a copy.
fn there(copy: &Path, frame: &FramePosition) -> std::path::PathBuf {
    copy.join(frame.path.file_name().unwrap())
}

#[tokio::test]
async fn every_byte_of_every_record_counts() {
    let (directory, frames) = small_log().await;
    for frame in &frames {
        // Every field, and every byte of some record.
        for at in (frame.from..frame.until).filter(|at| at % 3 == 0 || at - frame.from < 44) {
            let copy = copy(directory.path());
            change(&there(copy.path(), frame), |bytes| bytes[at] ^= 1 << (at % 8));
            let found = check(copy.path()).problems;
            let first = found.first().map(LogProblem::record);
            assert_eq!(first, Some(frame.seq), "byte {at} of {frame:?}: {found:?}");
        }
    }
}

#[tokio::test]
async fn every_byte_of_every_header_counts() {
    let (directory, frames) = small_log().await;
    for file in segments(directory.path()).unwrap() {
        let first = frames.iter().find(|frame| frame.path == file.path).unwrap();
        for at in 0..first.from {
            let copy = copy(directory.path());
            change(&there(copy.path(), first), |bytes| bytes[at] ^= 1 << (at % 8));
            let found = check(copy.path()).problems;
            // A wrong number may make others look wrong, but never an earlier one.
            let record = found.first().map(LogProblem::record);
            let is_near = record.is_some_and(|record| record >= first.seq);
            assert!(is_near || (record.is_some() && first.seq == 1), "byte {at} of {file:?}: {found:?}");
        }
    }
}

#[tokio::test]
async fn a_record_that_is_gone_is_missed() {
    let (directory, frames) = small_log().await;
    for frame in &frames {
        let copy = copy(directory.path());
        change(&there(copy.path(), frame), |bytes| drop(bytes.drain(frame.from..frame.until)));
        let found = check(copy.path()).problems;
        let is_last = frame.seq == frames.len() as u64;
        let expected = if is_last {
            LogProblem::CutOff { last: frame.seq - 1, known: frame.seq }
        } else {
            LogProblem::Missing { first: frame.seq, last: frame.seq }
        };
        assert_eq!(found, [expected], "{frame:?}");
    }
}

#[tokio::test]
async fn records_that_changed_places_are_found() {
    let (directory, frames) = small_log().await;
    for pair in frames.windows(2).filter(|pair| pair[0].path == pair[1].path) {
        let copy = copy(directory.path());
        change(&there(copy.path(), &pair[0]), |bytes| {
            bytes[pair[0].from..pair[1].until].rotate_left(pair[0].until - pair[0].from);
        });
        let found = check(copy.path()).problems;
        let expected = LogProblem::OutOfOrder { expected: pair[0].seq, found: pair[1].seq };
        assert_eq!(found, [expected], "{pair:?}");
    }
}

#[tokio::test]
async fn a_segment_that_is_gone_is_missed() {
    let (directory, frames) = small_log().await;
    let files = segments(directory.path()).unwrap();
    for file in &files {
        let inside: Vec<_> = frames.iter().filter(|frame| frame.path == file.path).collect();
        let (first, last) = (inside[0].seq, inside[inside.len() - 1].seq);
        let copy = copy(directory.path());
        fs::remove_file(there(copy.path(), inside[0])).unwrap();
        let expected = if first == 1 {
            LogProblem::Beginning { seq: last + 1 }
        } else if last == frames.len() as u64 {
            LogProblem::CutOff { last: first - 1, known: last }
        } else {
            LogProblem::SegmentMissing { segment: file.number, first, last }
        };
        assert_eq!(check(copy.path()).problems, [expected], "{file:?}");
    }
    let copy = copy(directory.path());
    for file in &files {
        fs::remove_file(copy.path().join(file.path.file_name().unwrap())).unwrap();
    }
    let known = frames.len() as u64;
    assert_eq!(check(copy.path()).problems, [LogProblem::CutOff { last: 0, known }]);
}

#[tokio::test]
async fn every_truncation_is_found() {
    let (directory, frames) = small_log().await;
    let known = frames.len() as u64;
    let last_path = &frames.last().unwrap().path;
    let inside: Vec<_> = frames.iter().filter(|frame| frame.path == *last_path).collect();
    for length in inside[0].from..inside[inside.len() - 1].until {
        let copy = copy(directory.path());
        change(&there(copy.path(), inside[0]), |bytes| bytes.truncate(length));
        let whole = inside.iter().filter(|frame| frame.until <= length).count();
        let last = inside[0].seq - 1 + whole as u64;
        let is_torn = inside.iter().any(|frame| frame.from < length && length < frame.until);
        let segment = segments(directory.path()).unwrap().len();
        let torn = LogProblem::Torn { seq: last + 1, segment: u32::try_from(segment).unwrap() };
        let cut_off = LogProblem::CutOff { last, known };
        let expected = if is_torn { vec![torn, cut_off] } else { vec![cut_off] };
        assert_eq!(check(copy.path()).problems, expected, "{length}");
    }
}

/// The record of each start says how far they went.
#[tokio::test]
async fn checkpoints_that_are_gone_are_missed() {
    let directory = filled(14, &small()).await;
    let signed = check(directory.path()).last_seq;
    open(directory.path(), &small()).log.close().await.unwrap();
    assert_eq!(problems(directory.path()), Vec::<String>::new());
    let expected = format!("the checkpoint at record {signed} is gone, and so are those after it");
    let file = directory.path().join("checkpoints");
    fs::write(&file, "").unwrap();
    assert_eq!(problems(directory.path()), std::slice::from_ref(&expected));
    fs::remove_file(&file).unwrap();
    assert_eq!(problems(directory.path()), [expected]);
}

#[tokio::test]
async fn checkpoints_cannot_be_forged() {
    let (directory, _) = small_log().await;
    let path = directory.path().join("checkpoints");
    let text = fs::read_to_string(&path).unwrap();
    let report = check(directory.path());
    let claimed = Checkpoint::claimed(&text).unwrap();
    let stranger = SigningKey::from_seed(&[9; 32]);
    let forged = format!("{}\n", claimed.sign(&stranger));
    let end = text.find("\n\nocto").map_or(text.find("\n\noctroi").unwrap() + 2, |end| end + 2);
    fs::write(&path, format!("{forged}{}", &text[end..])).unwrap();
    assert_eq!(check(directory.path()).problems, [LogProblem::ForgedCheckpoint { size: claimed.size }]);
    fs::write(&path, format!("nonsense\n\nmore\n\n{text}")).unwrap();
    assert_eq!(check(directory.path()).problems, [LogProblem::UnreadableCheckpoint { place: 1 }]);
    // A torn one at the end is harmless.
    fs::write(&path, format!("{text}{}", &text[..40])).unwrap();
    assert!(check(directory.path()).is_intact());
    // Without checkpoints beside the log, one that was kept elsewhere still detects the change.
    fs::write(&path, "").unwrap();
    let witness = text[text.trim_end().rfind("octroi-audit/n\n").unwrap()..].to_owned();
    let options = VerifyOptions { public_key: None, witnesses: vec![witness.clone()] };
    assert_eq!(verify(directory.path(), &options).unwrap().signed_until, report.last_seq);
    let last = segments(directory.path()).unwrap().pop().unwrap();
    fs::remove_file(&last.path).unwrap();
    assert!(check(directory.path()).is_intact(), "a bare chain cannot know");
    let found = verify(directory.path(), &options).unwrap().problems;
    assert!(matches!(found[..], [LogProblem::CutOff { known, .. }] if known == report.last_seq), "{found:?}");
}

/// An attacker with access to the disk writes a log that is consistent in itself.
#[tokio::test]
async fn a_log_that_was_rewritten_does_not_fit_what_was_signed() {
    let directory = filled(6, &Options { segment_bytes: 1 << 20, ..small() }).await;
    let frames = frames(directory.path());
    let path = segment_path(directory.path(), 1);
    let records: Vec<_> = {
        let mut reader = LogReader::open(directory.path()).unwrap();
        reader.records(1).unwrap().map(Result::unwrap).collect()
    };
    let header = Header::first("n");
    let mut bytes = header.encode(Storage::Plain);
    let mut link = header.chain;
    for record in &records {
        let mut body = record.body.clone();
        if record.seq == 3 {
            let offset = body.windows(3).position(|window| window == b"ann").unwrap();
            body[offset..offset + 3].copy_from_slice(b"bob");
        }
        link = chain::next(link, chain::leaf(record.seq, &body));
        put_frame(&mut bytes, record.seq, link, &body);
    }
    fs::write(&path, bytes).unwrap();
    assert_eq!(frames.len(), records.len());
    let found = check(directory.path()).problems;
    assert!(matches!(found[..], [LogProblem::Rewritten { first: 1, last }] if last >= 4), "{found:?}");
    // Opening it notices too, and does not continue it silently.
    let opened = open(directory.path(), &small());
    assert!(!opened.problems.is_empty());
}

#[tokio::test]
async fn proofs_hold_for_what_was_written_and_nothing_else() {
    let (directory, frames) = small_log().await;
    let key = {
        let log = open(directory.path(), &small()).log;
        log.close().await.unwrap();
        log.public_key()
    };
    for frame in &frames {
        let proof = prove(directory.path(), frame.seq).unwrap();
        let text = serde_json::to_string(&proof).unwrap();
        let proof: crate::audit::Proof = serde_json::from_str(&text).unwrap();
        assert!(check_proof(&proof, &key).unwrap().size >= frame.seq);
        let edited = crate::audit::Proof { record: proof.record.replace('n', "m"), ..proof.clone() };
        assert!(check_proof(&edited, &key).is_err());
        let moved = crate::audit::Proof { seq: proof.seq + 1, ..proof.clone() };
        assert!(check_proof(&moved, &key).is_err());
        assert!(check_proof(&proof, &SigningKey::from_seed(&[9; 32]).public()).is_err());
    }
    assert!(prove(directory.path(), 0).is_err());
    assert!(prove(directory.path(), 1_000).is_err());
    change(&frames[3].path, |bytes| bytes[frames[3].until - 2] ^= 1);
    assert!(prove(directory.path(), 4).is_err());
}

#[tokio::test]
async fn what_was_purged_is_accepted_and_nothing_more() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 30).await;
    let n_segments = segments(directory.path()).unwrap().len();
    assert_eq!(log.purge(PurgeLimits::default(), Actor::SYSTEM).await.unwrap(), Purged::default());
    let before = copy(directory.path());
    let purged = log.purge(EVERYTHING, Actor::SYSTEM).await.unwrap();
    assert_eq!(purged.n_segments as usize, n_segments - 1);
    log.append(&event(1, ""), Durability::Os).await.unwrap();
    fill(&log, 30).await;
    log.close().await.unwrap();
    let report = check(directory.path());
    assert_eq!(report.problems, []);
    assert_eq!(report.first_seq, purged.n_records + 1);
    let seq = report.first_seq + 3;
    assert!(prove(directory.path(), seq).is_ok());
    // Interrupted before the last file was removed.
    let interrupted = copy(directory.path());
    let name = segment_path(Path::new(""), purged.n_segments);
    fs::copy(before.path().join(&name), interrupted.path().join(&name)).unwrap();
    assert_eq!(problems(interrupted.path()), Vec::<String>::new());
    // Deleting the same file manually is not a purge.
    let first = segments(directory.path()).unwrap().remove(0);
    let copy = copy(directory.path());
    fs::remove_file(copy.path().join(first.path.file_name().unwrap())).unwrap();
    assert!(problems(copy.path())[0].contains("no purge explains it"), "{:?}", problems(copy.path()));
    // A purged log continues.
    let opened = open(directory.path(), &small());
    assert!(opened.problems.is_empty());
    fill(&opened.log, 10).await;
    opened.log.close().await.unwrap();
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn a_log_that_is_too_large_loses_its_oldest_segments() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 30).await;
    let sizes = || -> Vec<u64> {
        let files = segments(directory.path()).unwrap();
        files.iter().map(|file| fs::metadata(&file.path).unwrap().len()).collect()
    };
    let before = sizes();
    let total: u64 = before.iter().sum();
    assert!(before.len() > 4, "{before:?}");
    let at_most = |max_bytes| PurgeLimits { before_ms: None, max_bytes: Some(max_bytes) };
    assert_eq!(log.purge(at_most(total), Actor::SYSTEM).await.unwrap(), Purged::default());
    // Its records are not old, and one segment less is little enough.
    let limits = PurgeLimits { before_ms: Some(1), ..at_most(total - 1) };
    assert_eq!(log.purge(limits, Actor::SYSTEM).await.unwrap().n_segments, 1);
    // The segment that is being written stays, however small the limit is.
    let purged = log.purge(at_most(0), Actor::SYSTEM).await.unwrap();
    assert!(purged.n_segments > 1 && !sizes().is_empty(), "{purged:?}");
    log.close().await.unwrap();
    let report = check(directory.path());
    assert_eq!(report.problems, []);
    assert!(report.first_seq > 1);
    let mut reader = LogReader::open(directory.path()).unwrap();
    let records: Vec<_> = reader.records(1).unwrap().map(Result::unwrap).collect();
    let cuts = records.iter().filter_map(|record| {
        let entry = record.entry().unwrap();
        (entry.kind == Kind::AuditPurged).then(|| entry.context.to_owned())
    });
    let cuts: Vec<String> = cuts.collect();
    assert!(cuts.iter().all(|context| context.contains(r#""because":"size""#)), "{cuts:?}");
    assert!(!cuts.is_empty());
}

#[tokio::test]
async fn a_damaged_segment_is_not_purged() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 30).await;
    let frame = frames(directory.path())[1].clone();
    change(&frame.path, |bytes| bytes[frame.until - 2] ^= 1);
    let refused = log.purge(EVERYTHING, Actor::SYSTEM).await.unwrap_err();
    assert!(refused.to_string().contains("record 2 was edited"), "{refused}");
    assert!(frame.path.exists());
}

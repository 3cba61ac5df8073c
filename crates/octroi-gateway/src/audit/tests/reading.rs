//! Reading forwards, backwards, while writing, and exporting.

use octroi_core::audit::{Filter, Kind};
use proptest::prelude::*;

use super::support::{change, check, end, event, fill, filled, frames, open, small, start};
use crate::audit::format::segments;
use crate::audit::{Durability, ExportFormat, Follower, LogReader, Options, Record, export};

fn numbers(records: impl IntoIterator<Item = crate::audit::Record>) -> Vec<u64> {
    records.into_iter().map(|record| record.seq).collect()
}

#[tokio::test]
async fn from_any_record_on_and_back() {
    let directory = filled(40, &small()).await;
    let mut reader = LogReader::open(directory.path()).unwrap();
    let last = frames(directory.path()).len() as u64;
    for from in 0..=last + 2 {
        let found = numbers(reader.records(from).unwrap().map(Result::unwrap));
        assert_eq!(found, (from.max(1)..=last).collect::<Vec<_>>());
        assert_eq!(
            reader.record(from).unwrap().map(|record| record.seq),
            (1..=last).contains(&from).then_some(from)
        );
        for n_max in [1, 7, 1_000] {
            let page = numbers(reader.page_before(from, n_max).unwrap());
            let expected: Vec<_> = (1..from.min(last + 1)).rev().take(n_max).collect();
            assert_eq!(page, expected, "before {from}");
        }
    }
    assert_eq!(numbers(reader.page_before(u64::MAX, 3).unwrap()), [last, last - 1, last - 2]);
    reader.set_limit(5);
    assert_eq!(numbers(reader.records(3).unwrap().map(Result::unwrap)), [3, 4, 5]);
    assert_eq!(numbers(reader.page_before(u64::MAX, 2).unwrap()), [5, 4]);
}

#[tokio::test]
async fn a_damaged_segment_is_reported_and_skipped() {
    let directory = filled(30, &small()).await;
    let frames = frames(directory.path());
    let frame = frames[1].clone();
    // A length that no record has.
    change(&frame.path, |bytes| bytes[frame.from + 3] = 0xff);
    let next = frames.iter().find(|other| other.path != frame.path).unwrap().seq;
    let mut reader = LogReader::open(directory.path()).unwrap();
    let found: Vec<_> =
        reader.records(1).unwrap().map(|record| record.map_or(0, |record| record.seq)).collect();
    let expected: Vec<_> = [1, 0].into_iter().chain(next..=frames.len() as u64).collect();
    assert_eq!(found, expected);

    let opened = open(directory.path(), &small());
    let mut follower = Follower::new(&opened.log, 0);
    assert_eq!(numbers(follower.next_page(100).await.unwrap()), [1]);
    follower.next_page(100).await.unwrap_err();
    assert_eq!(follower.next_page(1).await.unwrap()[0].seq, next);
}

#[tokio::test]
async fn a_follower_gets_everything_once_and_then_waits() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 10).await;
    let mut follower = Follower::new(&log, 0);
    let reading = async {
        let mut found = Vec::new();
        loop {
            let page = follower.next_page(7).await.unwrap();
            if page.is_empty() {
                return found;
            }
            assert!(page.len() <= 7);
            found.extend(numbers(page));
        }
    };
    let writing = async {
        fill(&log, 50).await;
        log.close().await.unwrap()
    };
    let (found, last) = tokio::join!(reading, writing);
    assert_eq!(found, (1..=last).collect::<Vec<_>>());
}

/// A concurrent reader sees an intact log, though maybe not all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_can_be_verified_while_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 30_000,
        checkpoint_records: 50,
        ..Options::new(octroi_upstream::system_clock())
    };
    let log = open(directory.path(), &options).log;
    let path = directory.path().to_owned();
    let looking = log.tasks().spawn_blocking("verify", move || {
        let mut reader = LogReader::open(&path).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        // Until it was seen growing ten times.
        while seen.len() < 10 {
            let report = check(&path);
            assert_eq!(report.problems, []);
            let n_records = reader.records(1).unwrap().map(Result::unwrap).count() as u64;
            assert!(n_records >= report.last_seq);
            assert!(seen.last().is_none_or(|&last| last <= report.last_seq), "nothing goes away");
            seen.insert(report.last_seq);
        }
    });
    let mut n_written = 0;
    while !looking.is_finished() {
        log.append_later(&event(n_written, "")).await.unwrap();
        n_written += 1;
        if n_written % 50 == 0 {
            log.flush().await.unwrap();
        }
    }
    looking.await.unwrap();
}

#[tokio::test]
async fn exports() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    log.append(&start(1), Durability::Os).await.unwrap();
    log.append(&event(2, "{\"a\":\"x,\\\"y\",\n\"b\":1}"), Durability::Os).await.unwrap();
    log.append(&end(1), Durability::Os).await.unwrap();
    log.close().await.unwrap();
    let written = |filter: &Filter, format| {
        let mut output = Vec::new();
        let mut reader = LogReader::open(directory.path()).unwrap();
        let exported = export(&mut reader, filter, format, &mut output).unwrap();
        (exported.n_records, String::from_utf8(output).unwrap())
    };
    let (n_records, text) = written(&Filter::default(), ExportFormat::Jsonl);
    assert_eq!(n_records, 4);
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[2]["seq"], &lines[2]["context"]["b"]), (4, &3.into(), &1.into()));

    let filter = Filter { kinds: vec![Kind::PolicyDecision], ..Filter::default() };
    let (n_records, text) = written(&filter, ExportFormat::Csv);
    assert_eq!(n_records, 1);
    let (names, line) = text.split_once("\r\n").unwrap();
    assert!(names.starts_with("seq,at_ms,kind,"));
    let start = "3,1700000000002,policy_decision,info,user,ann,helper,,files,mcp:files:read,,,\
                 00000000-0000-0000-0000-000000000002,,\"{\"\"a\"\":\"\"x,\\\"\"y\"\",\n\"\"b\"\":1}\",";
    assert!(line.starts_with(start), "{line}");

    let filter = Filter { tool: Some("*:read".to_owned()), ..Filter::default() };
    let (n_records, text) = written(&filter, ExportFormat::Ocsf);
    assert_eq!(n_records, 3);
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for required in [
            "activity_id",
            "actor",
            "api",
            "category_uid",
            "class_uid",
            "metadata",
            "severity_id",
            "src_endpoint",
            "time",
            "type_uid",
        ] {
            assert!(!value[required].is_null(), "{required} in {line}");
        }
        assert_eq!((&value["class_uid"], &value["type_uid"]), (&6_003.into(), &600_399.into()));
        assert_eq!(value["api"]["operation"], "mcp:files:read");
        assert_eq!(value["metadata"]["version"], "1.6.0");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_confuse_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..600), keep in 0_usize..400) {
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { open(directory.path(), &small()).log.close().await }).unwrap();
        change(&crate::audit::format::segment_path(directory.path(), 1), |file| {
            file.truncate(keep);
            file.extend(&bytes);
        });
        let _ = check(directory.path());
        let mut reader = LogReader::open(directory.path()).unwrap();
        prop_assert!(reader.records(1).unwrap().count() < 20);
        let _ = reader.page_before(u64::MAX, 10);
        // With any content, a gateway starts.
        open(directory.path(), &small());
    }
}

#[tokio::test]
async fn reading_begins_at_the_segment_of_a_moment() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    fill(&log, 60).await;
    log.close().await.unwrap();
    let files = segments(directory.path()).unwrap();
    assert!(files.len() > 5, "{}", files.len());
    let mut reader = LogReader::open(directory.path()).unwrap();
    let all: Vec<Record> = reader.records(1).unwrap().map(Result::unwrap).collect();
    let opened: Vec<&Record> =
        all.iter().filter(|record| record.entry().unwrap().kind == Kind::AuditOpened).collect();
    assert_eq!(opened.len(), files.len(), "each segment begins with its time");
    let begun_at = |record: &Record| record.entry().unwrap().at_ms;
    // Segments of the same millisecond cannot be distinguished: the last of them is used.
    let moments: Vec<u64> = opened.iter().map(|record| begun_at(record)).collect();
    for at_ms in moments.iter().flat_map(|at_ms| [at_ms - 1, *at_ms, at_ms + 1]).chain([0, u64::MAX]) {
        let expected = opened.iter().rev().find(|record| begun_at(record) <= at_ms);
        let expected = expected.map_or(1, |record| record.seq);
        let read: Vec<u64> = reader.records_since(at_ms).unwrap().map(|record| record.unwrap().seq).collect();
        assert_eq!(read, (expected..=all.last().unwrap().seq).collect::<Vec<_>>(), "{at_ms}");
    }
    // The content of earlier segments does not matter: only their first record is read.
    let last = *moments.last().unwrap();
    for file in files.iter().rev().skip(1) {
        change(&file.path, |bytes| bytes.truncate(bytes.len() - 10));
    }
    let mut reader = LogReader::open(directory.path()).unwrap();
    assert!(reader.records_since(last).unwrap().all(|record| record.is_ok()));
    assert!(reader.records(1).unwrap().any(|record| record.is_err()));
}

//! Opening the log of an earlier run.
#![expect(clippy::disallowed_methods, reason = "writers end with the test")]

use std::fs;

use octroi_core::audit::{CallId, Event, Kind};
use proptest::prelude::*;

use super::support::{change, check, copy, end, event, fill, filled, frames, open, problems, small, start};
use crate::audit::format::{segment_path, segments};
use crate::audit::{AuditError, AuditLog, Durability, LogProblem, LogReader, Options};

#[tokio::test]
async fn two_writers_are_one_too_many() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    let refused = AuditLog::open(directory.path(), &small());
    assert!(matches!(refused, Err(AuditError::InUse { .. })));
    log.close().await.unwrap();
    open(directory.path(), &small());
}

#[test]
fn names_of_nodes() {
    let directory = tempfile::tempdir().unwrap();
    for node in ["", "a b", "a\nb", "a/b", &"n".repeat(65)] {
        let options = Options { node: Some(node.to_owned()), ..small() };
        assert!(matches!(AuditLog::open(directory.path(), &options), Err(AuditError::Node { .. })));
    }
    // A log keeps its name.
    assert_eq!(open(directory.path(), &small()).log.node(), "n");
}

#[tokio::test]
async fn calls_without_an_end_are_handed_back() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    let seq = log.append(&start(1), Durability::Os).await.unwrap();
    log.append(&start(2), Durability::Os).await.unwrap();
    log.append(&end(2), Durability::Os).await.unwrap();
    // After so many segments, only the list of open calls mentions it.
    fill(&log, 40).await;
    log.append(&start(3), Durability::Os).await.unwrap();
    log.close().await.unwrap();
    assert!(segments(directory.path()).unwrap().len() > 5);

    let opened = open(directory.path(), &small());
    let calls: Vec<_> = opened.unfinished.iter().map(|unfinished| unfinished.call).collect();
    assert_eq!(calls, [CallId(1), CallId(3)]);
    assert_eq!(opened.unfinished[0].seq, seq);
    let record = opened.unfinished[0].record.clone().unwrap();
    assert_eq!(record.entry().unwrap().call, Some(CallId(1)));
    opened.log.append(&end(1), Durability::Os).await.unwrap();
    opened.log.close().await.unwrap();
    let opened = open(directory.path(), &small());
    let calls: Vec<_> = opened.unfinished.iter().map(|unfinished| unfinished.call).collect();
    assert_eq!(calls, [CallId(3)]);
    opened.log.end_unfinished(&opened.unfinished, 7).await.unwrap();
    let last = LogReader::open(directory.path()).unwrap().page_before(u64::MAX, 1).unwrap().remove(0);
    let entry = last.entry().unwrap();
    assert_eq!((entry.kind, entry.call, entry.at_ms), (Kind::ToolInvocationEnd, Some(CallId(3)), 7));
    assert_eq!((entry.tool.as_deref(), entry.actor_id.as_ref()), (Some("mcp:files:read"), "octroi"));
    assert!(entry.context.contains("outcome_unknown"));
    opened.log.close().await.unwrap();
    assert!(open(directory.path(), &small()).unfinished.is_empty());
}

#[tokio::test]
async fn what_was_asked_besides_tools_gets_an_end_of_its_own_kind() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    for number in [1, 2] {
        let asked = Event { kind: Kind::RequestStart, tool: None, ..event(number, "") };
        log.append(&asked, Durability::Os).await.unwrap();
    }
    log.append(&Event { kind: Kind::RequestEnd, ..event(1, "") }, Durability::Os).await.unwrap();
    log.close().await.unwrap();
    let opened = open(directory.path(), &small());
    let calls: Vec<_> = opened.unfinished.iter().map(|unfinished| unfinished.call).collect();
    assert_eq!(calls, [CallId(2)]);
    opened.log.end_unfinished(&opened.unfinished, 7).await.unwrap();
    let last = LogReader::open(directory.path()).unwrap().page_before(u64::MAX, 1).unwrap().remove(0);
    assert_eq!(last.entry().unwrap().kind, Kind::RequestEnd);
}

#[tokio::test]
async fn a_torn_end_is_cut_wherever_it_is() {
    let directory = filled(2, &Options { checkpoint_records: 1_000, ..small() }).await;
    fs::remove_file(directory.path().join("checkpoints")).unwrap();
    let frames = frames(directory.path());
    let last = frames.last().unwrap();
    for length in (frames[0].until..=last.until).step_by(7) {
        let copy = copy(directory.path());
        change(&segment_path(copy.path(), 1), |bytes| bytes.truncate(length));
        let opened = open(copy.path(), &small());
        let whole = frames.iter().rfind(|frame| frame.until <= length).unwrap();
        let n_torn = (length - whole.until) as u64;
        assert_eq!(opened.cut.map_or(0, |cut| cut.n_bytes), n_torn, "{length}");
        assert!(opened.problems.is_empty());
        assert_eq!(opened.log.append(&event(1, ""), Durability::Os).await.unwrap(), whole.seq + 2);
        opened.log.close().await.unwrap();
        assert!(check(copy.path()).is_intact(), "{length}");
    }
    // Blocks that were allocated but never written.
    let copy = copy(directory.path());
    change(&segment_path(copy.path(), 1), |bytes| bytes.extend([0; 5_000]));
    let opened = open(copy.path(), &small());
    assert_eq!(opened.cut.unwrap().n_bytes, 5_000);
    assert!(opened.problems.is_empty());
}

#[tokio::test]
async fn a_segment_that_was_just_being_made_is_made_again() {
    let directory = filled(20, &small()).await;
    let last = segments(directory.path()).unwrap().pop().unwrap();
    for length in [0, 7, 30, 60] {
        let copy = copy(directory.path());
        let header = &fs::read(&last.path).unwrap()[..length];
        fs::write(segment_path(copy.path(), last.number + 1), header).unwrap();
        let opened = open(copy.path(), &small());
        assert!(opened.problems.is_empty());
        assert_eq!(opened.cut.unwrap().segment, last.number + 1);
        fill(&opened.log, 20).await;
        opened.log.close().await.unwrap();
        assert_eq!(problems(copy.path()), Vec::<String>::new(), "{length}");
    }
}

type Edit<'a> = &'a dyn Fn(&mut Vec<u8>);

#[tokio::test]
async fn a_changed_log_goes_on_and_the_change_stays_visible() {
    let directory = filled(20, &small()).await;
    let frames = frames(directory.path());
    let last = frames.last().unwrap();
    let in_last: Vec<_> = frames.iter().filter(|frame| frame.path == last.path).collect();
    let victim = in_last[1].clone();
    let name = last.path.file_name().unwrap();
    let cases: [(&str, Edit<'_>, LogProblem); 4] = [
        ("edited", &|bytes| bytes[victim.until - 2] ^= 1, LogProblem::Edited { seq: victim.seq }),
        (
            "deleted",
            &|bytes| drop(bytes.drain(victim.from..victim.until)),
            LogProblem::Missing { first: victim.seq, last: victim.seq },
        ),
        (
            "cut off",
            &|bytes| bytes.truncate(victim.until),
            LogProblem::CutOff { last: victim.seq, known: last.seq },
        ),
        (
            "foreign",
            &|bytes| bytes[0] = b'X',
            LogProblem::CutOff { last: in_last[0].seq - 1, known: last.seq },
        ),
    ];
    for (what, edit, problem) in cases {
        let copy = copy(directory.path());
        change(&copy.path().join(name), edit);
        let opened = open(copy.path(), &small());
        assert!(opened.problems.contains(&problem), "{what}: {:?}", opened.problems);
        let seq = opened.log.append(&event(1, ""), Durability::Disk).await.unwrap();
        assert_eq!(seq, last.seq + 2, "{what}: numbers that were given are never given again");
        fill(&opened.log, 20).await;
        opened.log.close().await.unwrap();
        let report = check(copy.path());
        let first = report.problems[0].record();
        assert_eq!(first, problem.record(), "{what}: {:?}", report.problems);
        assert_eq!(report.signed_until, report.last_seq, "{what}: what came after can be trusted again");
        // Again: the damage is in the past, the log itself is intact.
        let opened = open(copy.path(), &small());
        assert!(opened.problems.is_empty(), "{what}: {:?}", opened.problems);
    }
}

#[tokio::test]
async fn a_log_of_which_nothing_can_be_read_is_not_overwritten() {
    for with_checkpoints in [true, false] {
        let directory = filled(3, &small()).await;
        if !with_checkpoints {
            fs::remove_file(directory.path().join("checkpoints")).unwrap();
        }
        let path = segment_path(directory.path(), 1);
        change(&path, |bytes| bytes[0] ^= 1);
        let damaged = fs::read(&path).unwrap();
        let opened = open(directory.path(), &small());
        assert!(!opened.problems.is_empty());
        opened.log.append(&event(1, ""), Durability::Disk).await.unwrap();
        opened.log.close().await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), damaged);
        assert!(!check(directory.path()).is_intact());
    }
}

#[derive(Clone, Debug)]
enum Act {
    Append(u8),
    Reopen,
    /// Leaves so many bytes of an incomplete record behind.
    Tear(u8),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn everything_acknowledged_is_there_in_order(
        acts in prop::collection::vec(
            prop_oneof![
                4 => (1_u8..30).prop_map(Act::Append),
                1 => Just(Act::Reopen),
                1 => (1_u8..200).prop_map(Act::Tear),
            ],
            1..12,
        )
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let directory = tempfile::tempdir().unwrap();
            let mut log = open(directory.path(), &small()).log;
            let mut acknowledged = Vec::new();
            for act in acts {
                match act {
                    Act::Append(n_events) => {
                        for number in 0..u64::from(n_events) {
                            let seq = log.append(&event(number, "{\"x\":[]}"), Durability::Os).await.unwrap();
                            acknowledged.push((seq, number));
                        }
                    }
                    Act::Reopen => {
                        log.close().await.unwrap();
                        log = open(directory.path(), &small()).log;
                    }
                    Act::Tear(n_bytes) => {
                        log.close().await.unwrap();
                        let frames = frames(directory.path());
                        let last = frames.last().unwrap();
                        change(&last.path, |bytes| {
                            let length = usize::from(n_bytes).min(last.until - last.from - 1);
                            bytes.extend_from_within(last.from..last.from + length);
                        });
                        let opened = open(directory.path(), &small());
                        assert!(opened.cut.is_some() && opened.problems.is_empty());
                        log = opened.log;
                    }
                }
            }
            log.close().await.unwrap();
            assert_eq!(problems(directory.path()), Vec::<String>::new());
            let mut reader = LogReader::open(directory.path()).unwrap();
            let records = reader.records(1).unwrap().map(Result::unwrap);
            let found: Vec<_> = records
                .filter(|record| record.entry().unwrap().kind == Kind::PolicyDecision)
                .map(|record| (record.seq, u64::try_from(record.entry().unwrap().call.unwrap().0).unwrap()))
                .collect();
            assert_eq!(found, acknowledged);
        });
    }
}

/// Every caller may write, so closing races with all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_log_that_is_being_written_to_is_closed_all_the_same() {
    for _ in 0..40 {
        let directory = tempfile::tempdir().unwrap();
        let log = open(directory.path(), &Options::new(octroi_upstream::system_clock())).log;
        let writers: Vec<_> = (0..3)
            .map(|_| {
                let log = log.clone();
                tokio::spawn(async move { while log.append_later(&start(1)).await.is_ok() {} })
            })
            .collect();
        tokio::task::yield_now().await;
        log.close().await.unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
    }
}

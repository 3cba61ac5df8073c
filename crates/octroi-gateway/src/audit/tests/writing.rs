//! Appending, alone and concurrently.
#![expect(clippy::disallowed_methods, reason = "writers end with the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use octroi_core::audit::{Checkpoint, Kind};

use super::support::{check, end, event, fill, filled, open, small, start};
use crate::audit::format::segments;
use crate::audit::{AuditError, AuditLog, Durability, LogReader, Options};

#[tokio::test]
async fn records_are_numbered_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &Options::new(octroi_upstream::system_clock())).log;
    assert_eq!(log.position(), 1, "the first record says that the log was opened");
    assert_eq!(log.append(&event(1, ""), Durability::Os).await.unwrap(), 2);
    assert_eq!(log.append(&event(2, ""), Durability::Disk).await.unwrap(), 3);
    log.append_later(&event(3, "")).await.unwrap();
    assert_eq!(log.flush().await.unwrap(), 4);
    assert_eq!(log.position(), 4);
    let records: Vec<_> =
        LogReader::open(directory.path()).unwrap().records(1).unwrap().map(Result::unwrap).collect();
    let kinds: Vec<_> = records.iter().map(|record| record.entry().unwrap().kind).collect();
    assert_eq!(kinds, [Kind::AuditOpened, Kind::PolicyDecision, Kind::PolicyDecision, Kind::PolicyDecision]);
    assert_eq!(log.close().await.unwrap(), 4);
    assert!(check(directory.path()).is_intact());
    assert!(matches!(log.append(&event(1, ""), Durability::Os).await, Err(AuditError::Closed)));
    assert!(matches!(log.append_later(&event(1, "")).await, Err(AuditError::Closed)));
    assert!(matches!(log.flush().await, Err(AuditError::Closed)));
}

#[tokio::test]
async fn a_log_is_cut_into_segments_with_checkpoints() {
    let directory = filled(60, &small()).await;
    let report = check(directory.path());
    assert!(report.is_intact(), "{:?}", report.problems);
    assert!(report.n_segments > 5, "{report:?}");
    assert_eq!(report.n_records, 60 + report.n_segments as u64);
    assert_eq!(report.signed_until, report.last_seq);
    assert!(report.n_checkpoints >= 1);
    for segment in segments(directory.path()).unwrap() {
        assert!(fs::metadata(&segment.path).unwrap().len() <= 1_500);
    }
}

#[tokio::test]
async fn only_the_owner_may_read() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("audit");
    open(&below, &Options::new(octroi_upstream::system_clock())).log.close().await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    for item in fs::read_dir(&below).unwrap() {
        let path = item.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_what_is_large_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    let context = |n_bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(n_bytes));
    let refused = log.append(&event(1, &context(1 << 20)), Durability::Os).await;
    assert!(matches!(refused, Err(AuditError::TooLarge { .. })));
    for number in 0..5 {
        log.append(&event(number, &context(900_000)), Durability::Os).await.unwrap();
    }
    log.close().await.unwrap();
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn checkpoints_are_published_and_signed() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    let mut checkpoints = log.checkpoints();
    fill(&log, 3).await;
    let note = checkpoints.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    let checkpoint = Checkpoint::open(&note, &log.public_key()).unwrap();
    assert_eq!((checkpoint.node.as_str(), checkpoint.size), ("n", 4));
    // With new records a checkpoint comes even if they are few.
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        checkpoint_interval: Duration::from_millis(5),
        ..Options::new(octroi_upstream::system_clock())
    };
    let log = open(directory.path(), &options).log;
    let mut checkpoints = log.checkpoints();
    checkpoints.wait_for(Option::is_some).await.unwrap();
    let seq = log.append(&event(1, ""), Durability::Os).await.unwrap();
    let is_new = |note: &Option<std::sync::Arc<str>>| {
        note.as_deref().and_then(Checkpoint::claimed).is_some_and(|checkpoint| checkpoint.size == seq)
    };
    checkpoints.wait_for(is_new).await.unwrap();
}

/// A log with so many calls in progress that records are queued together.
async fn busy(directory: &std::path::Path) -> AuditLog {
    let log = open(directory, &Options::new(octroi_upstream::system_clock())).log;
    for number in 0..8 {
        log.append(&start(number), Durability::Os).await.unwrap();
    }
    log
}

#[tokio::test]
async fn the_first_caller_writes_the_records_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let log = busy(directory.path()).await;
    let before = log.position();
    let events: Vec<_> = (10..15).map(start).collect();
    let mut appending: Vec<_> =
        events.iter().map(|event| Box::pin(log.append(event, Durability::Os))).collect();
    for one in &mut appending {
        assert!(one.as_mut().now_or_never().is_none(), "others may add records too");
    }
    assert_eq!(log.position(), before);
    let mut rest = appending.split_off(1);
    assert_eq!(appending.remove(0).await.unwrap(), before + 1);
    assert_eq!(log.position(), before + 5, "all at once");
    for (one, number) in rest.iter_mut().zip(2..) {
        assert_eq!(one.now_or_never().unwrap().unwrap(), before + number);
    }
    log.close().await.unwrap();
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn a_queued_record_is_written_though_its_caller_gave_up() {
    let directory = tempfile::tempdir().unwrap();
    let log = busy(directory.path()).await;
    let before = log.position();
    let mut beginning = Box::pin(log.append(&start(10), Durability::Os));
    assert!(beginning.as_mut().now_or_never().is_none());
    drop(beginning);
    let mut ending = Box::pin(log.append_later(&end(10)));
    assert!(ending.as_mut().now_or_never().is_none());
    drop(ending);
    assert_eq!(log.position(), before + 2);
    log.close().await.unwrap();
    assert!(check(directory.path()).is_intact());
}

#[test]
fn many_tasks_on_two_runtimes() {
    const TASKS: u64 = 64;
    const EACH: u64 = 100;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 200_000, ..Options::new(octroi_upstream::system_clock()) };
    let log = open(directory.path(), &options).log;
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let log = log.clone();
            thread::spawn(move || run_tasks(&log, number, TASKS / 2, EACH))
        })
        .collect();
    let mut acknowledged: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    acknowledged.sort_unstable();
    let n_records = acknowledged.len();
    acknowledged.dedup();
    assert_eq!((acknowledged.len() as u64, n_records as u64), (TASKS * EACH, TASKS * EACH));
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(log.close()).unwrap();
    let report = check(directory.path());
    assert!(report.is_intact(), "{:?}", report.problems);
    assert_eq!(report.n_records, TASKS * EACH * 2 + report.n_segments as u64);
}

/// Each task makes calls; returns the record numbers of their starts.
fn run_tasks(log: &AuditLog, number: u64, n_tasks: u64, n_calls: u64) -> Vec<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = (0..n_tasks)
        .map(|task| {
            let log = log.clone();
            local.spawn_local(async move {
                let mut numbers = Vec::new();
                for call in 0..n_calls {
                    let id = (number * n_tasks + task) * n_calls + call;
                    let durability = if call % 10 == 0 { Durability::Disk } else { Durability::Os };
                    numbers.push(log.append(&start(id), durability).await.unwrap());
                    log.append_later(&end(id)).await.unwrap();
                }
                numbers
            })
        })
        .collect();
    runtime.block_on(local.run_until(async move {
        let mut numbers = Vec::new();
        for task in tasks {
            numbers.extend(task.await.unwrap());
        }
        numbers
    }))
}

//! Failing disks. The log reports the error, and leaves nothing half done.

use std::sync::atomic::Ordering::SeqCst;

use octroi_core::audit::{CallId, Kind};

use super::support::{check, end, event, fill, frames, open, problems, small, start};
use crate::audit::format::segments;
use crate::audit::{AuditError, Durability, LogReader, Options};

#[tokio::test]
async fn a_write_that_fails_in_the_middle_leaves_nothing() {
    for n_bytes in (1..700).step_by(29) {
        let directory = tempfile::tempdir().unwrap();
        let options = small();
        let log = open(directory.path(), &options).log;
        options.faults.bytes_left.store(n_bytes, SeqCst);
        let mut acknowledged = Vec::new();
        let error = loop {
            match log.append(&event(1, ""), Durability::Os).await {
                Ok(seq) => acknowledged.push(seq),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, AuditError::DiskFull { .. }), "{error:?}");
        assert!(matches!(log.health(), Some(AuditError::DiskFull { .. })));
        assert!(log.flush().await.is_ok(), "what was acknowledged is still good");
        let n_records = frames(directory.path()).len() as u64;
        assert_eq!(n_records, log.position());
        // There is space again.
        options.faults.bytes_left.store(0, SeqCst);
        acknowledged.push(log.append(&event(2, ""), Durability::Disk).await.unwrap());
        assert!(log.health().is_none());
        assert_eq!(*acknowledged.last().unwrap(), log.position());
        log.close().await.unwrap();
        assert_eq!(problems(directory.path()), Vec::<String>::new(), "{n_bytes}");
    }
}

#[tokio::test]
async fn nothing_is_written_behind_half_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let options = small();
    let log = open(directory.path(), &options).log;
    options.faults.bytes_left.store(100, SeqCst);
    options.faults.cut.store(true, SeqCst);
    log.append(&event(1, ""), Durability::Os).await.unwrap_err();
    // The disk works again, but the rest cannot be truncated: then nothing is written.
    options.faults.bytes_left.store(0, SeqCst);
    log.append(&event(1, ""), Durability::Os).await.unwrap_err();
    options.faults.cut.store(false, SeqCst);
    log.append(&event(1, ""), Durability::Os).await.unwrap();
    log.close().await.unwrap();
    assert_eq!(problems(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn ends_of_calls_are_kept_until_they_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1 << 20, ..small() };
    let log = open(directory.path(), &options).log;
    for number in 0..10 {
        log.append(&start(number), Durability::Os).await.unwrap();
    }
    options.faults.bytes_left.store(10, SeqCst);
    for number in 0..10 {
        log.append_later(&end(number)).await.unwrap();
    }
    // Waiting callers get the error, although the kept records stay in the queue.
    log.append(&start(99), Durability::Os).await.unwrap_err();
    log.flush().await.unwrap_err();
    options.faults.bytes_left.store(0, SeqCst);
    log.flush().await.unwrap();
    log.close().await.unwrap();
    let mut reader = LogReader::open(directory.path()).unwrap();
    let ended: Vec<_> = reader
        .records(1)
        .unwrap()
        .map(Result::unwrap)
        .filter(|record| record.entry().unwrap().kind == Kind::ToolInvocationEnd)
        .map(|record| record.entry().unwrap().call.unwrap())
        .collect();
    assert_eq!(ended, (0..10).map(CallId).collect::<Vec<_>>());
    assert!(open(directory.path(), &small()).unfinished.is_empty());
}

#[tokio::test]
async fn kept_records_are_tried_again_without_anybody_asking() {
    let directory = tempfile::tempdir().unwrap();
    let options = small();
    let log = open(directory.path(), &options).log;
    let mut positions = log.positions();
    options.faults.bytes_left.store(10, SeqCst);
    log.append_later(&end(1)).await.unwrap();
    log.flush().await.unwrap_err();
    options.faults.bytes_left.store(0, SeqCst);
    positions.wait_for(|&position| position == 2).await.unwrap();
}

#[tokio::test]
async fn after_a_failed_sync_the_log_goes_on_in_a_new_segment() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 1 << 20, ..small() };
    let log = open(directory.path(), &options).log;
    fill(&log, 3).await;
    log.flush().await.unwrap();
    options.faults.sync.store(true, SeqCst);
    let refused = log.append(&event(1, ""), Durability::Disk).await;
    assert!(matches!(refused, Err(AuditError::Io { .. })), "{refused:?}");
    assert!(log.health().is_some());
    // A second sync would succeed: the kernel has forgotten what it lost. It is not reported as success.
    log.flush().await.unwrap_err();
    let seq = log.append(&event(2, ""), Durability::Disk).await.unwrap();
    assert!(log.health().is_none());
    assert_eq!(segments(directory.path()).unwrap().len(), 2);
    assert_eq!(log.close().await.unwrap(), seq);
    assert!(check(directory.path()).is_intact());
}

#[tokio::test]
async fn a_dropped_log_ends_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &small()).log;
    let mut positions = log.positions();
    fill(&log, 5).await;
    drop(log);
    // Ends when the writer is gone.
    while positions.changed().await.is_ok() {}
    assert!(check(directory.path()).is_intact());
}

//! Killed gateways, real full disks, and memory usage: tests that need a separate process. The test binary
//! starts itself again.

#![expect(clippy::disallowed_methods, reason = "processes are started here to be killed")]

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::support::{check, event, open, small, wait_until_compressed};
use crate::audit::{AuditError, Durability, LogReader, Options};

const DIRECTORY: &str = "OCTROI_AUDIT_TEST_DIRECTORY";

fn directory() -> PathBuf {
    env::var_os(DIRECTORY).unwrap().into()
}

#[tokio::test]
#[ignore = "started by another test, to be killed"]
async fn child_that_appends() {
    let options = Options { segment_bytes: 20_000, compress: true, ..small() };
    let log = open(&directory(), &options).log;
    let mut output = std::io::stdout();
    for number in 0.. {
        let durability = if number % 7 == 0 { Durability::Disk } else { Durability::Os };
        let seq = log.append(&event(number, ""), durability).await.unwrap();
        writeln!(output, "acknowledged {seq}").unwrap();
        output.flush().unwrap();
    }
}

/// SIGKILL: no more code of the process runs.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut n_total = 0;
    let mut last = 0;
    for round in 0..50_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["audit::tests::crashes::child_that_appends", "--exact", "--ignored", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = Vec::new();
        let mut read = |line: String| {
            let number = line.rsplit_once("acknowledged ").and_then(|(_, number)| number.parse().ok());
            acknowledged.extend(number.into_iter().collect::<Vec<u64>>());
            !acknowledged.is_empty()
        };
        // Killed somewhere after the first record.
        while !read(lines.next().unwrap().unwrap()) {}
        std::thread::sleep(Duration::from_micros(round * 211));
        child.kill().unwrap();
        child.wait().unwrap();
        lines.map_while(Result::ok).for_each(|line| {
            read(line);
        });
        n_total += acknowledged.len();

        let mut reader = LogReader::open(directory.path()).unwrap();
        assert!(acknowledged[0] > last, "round {round}: a number was given twice");
        for seq in acknowledged {
            assert!(reader.record(seq).unwrap().is_some(), "round {round}: record {seq} is missing");
            last = seq;
        }
    }
    let opened = open(directory.path(), &small());
    assert!(opened.problems.is_empty());
    drop(opened);
    let report = check(directory.path());
    assert!(report.is_intact(), "{:?}", report.problems);
    assert!(n_total > 100, "the children were killed too early to tell");
}

#[test]
fn a_disk_that_fills_up() {
    let directory = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=300k none \"${DIRECTORY}\"");
    let test = "audit::tests::crashes::child_on_a_disk_that_fills_up";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-ec"])
        .arg(format!("{mount}; exec \"$TEST\" {test} --exact --ignored"))
        .env("TEST", env::current_exe().unwrap())
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && report.contains("1 passed"),
        "this needs a disk of its own: allow user namespaces, or run the tests as root\n{report}{complaint}"
    );
}

#[tokio::test]
#[ignore = "started by another test, on a small disk"]
async fn child_on_a_disk_that_fills_up() {
    let directory = directory().join("audit");
    let options = Options { segment_bytes: 50_000, ..small() };
    let log = open(&directory, &options).log;
    let mut n_written = 0;
    let error = loop {
        match log.append(&event(n_written, ""), Durability::Os).await {
            Ok(_) => n_written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, AuditError::DiskFull { .. }), "{error:?}");
    assert!(n_written > 100);
    for _ in 0..3 {
        log.append(&event(1, ""), Durability::Disk).await.unwrap_err();
    }
    assert!(matches!(log.health(), Some(AuditError::DiskFull { .. })));
    let position = log.position();
    // There is space again: the same log continues.
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "remount,size=20m", "none"])
        .arg(env::var_os(DIRECTORY).unwrap())
        .status();
    assert!(mount.unwrap().success());
    let seq = log.append(&event(1, ""), Durability::Disk).await.unwrap();
    assert!(seq == position + 1 || seq == position + 2, "nothing that failed has a number");
    assert!(log.health().is_none());
    log.close().await.unwrap();
    let report = check(&directory);
    assert!(report.is_intact(), "{:?}", report.problems);
    assert_eq!(report.n_records, n_written + 1 + report.n_segments as u64);
}

const N_RECORDS: u64 = 200_000;

#[tokio::test]
async fn many_records_take_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 8 << 20, ..Options::new(octroi_upstream::system_clock()) };
    let log = open(directory.path(), &options).log;
    for number in 0..N_RECORDS {
        log.append_later(&event(number, "")).await.unwrap();
    }
    wait_until_compressed(directory.path()).await;
    log.close().await.unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["audit::tests::crashes::child_that_reads_much", "--exact", "--ignored"])
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
}

#[test]
#[ignore = "started by another test, to be measured"]
fn child_that_reads_much() {
    let n_before = resident_kilobytes();
    let report = check(&directory());
    assert!(report.is_intact() && report.n_records >= N_RECORDS);
    let mut reader = LogReader::open(&directory()).unwrap();
    assert!(reader.records(1).unwrap().count() as u64 >= N_RECORDS);
    assert_eq!(reader.page_before(u64::MAX, 100).unwrap().len(), 100);
    // The log has about fifty megabytes.
    let n_more = resident_kilobytes() - n_before;
    assert!(n_more < 1_000, "{n_more} kB");
}

/// The peak memory of the process, without the pages of its program, which are loaded as it runs.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let figure = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    figure("VmHWM:").saturating_sub(figure("RssFile:"))
}

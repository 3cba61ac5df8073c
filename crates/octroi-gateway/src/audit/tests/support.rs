//! Small logs and helpers for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use octroi_core::audit::{Actor, ActorKind, CallId, Event, Kind};
use tempfile::TempDir;

use crate::audit::cursor::{Cursor, Step};
use crate::audit::file::Faults;
use crate::audit::format::segments;
use crate::audit::replacement::{Compressing, Replacement};
use crate::audit::{
    AuditError, AuditLog, Durability, Opened, Options, PurgeLimits, Report, VerifyOptions, verify,
};

pub(super) const AT_MS: u64 = 1_700_000_000_000;

/// Segments of a few records, and a checkpoint for every few.
pub(super) fn small() -> Options {
    Options {
        node: Some("n".to_owned()),
        segment_bytes: 1_500,
        checkpoint_records: 4,
        // Tests that change files must find them as they were written.
        compress: false,
        ..Options::new(octroi_upstream::system_clock())
    }
}

/// The limits of a purge of everything but the segment in use.
pub(super) const EVERYTHING: PurgeLimits = PurgeLimits { before_ms: Some(u64::MAX), max_bytes: None };

pub(super) fn event(number: u64, context: &str) -> Event<'_> {
    Event {
        call: Some(CallId(number.into())),
        agent: Some("helper"),
        server: Some("files"),
        tool: Some("mcp:files:read"),
        context,
        ..Event::new(AT_MS + number, Kind::PolicyDecision, Actor::new(ActorKind::User, "ann"))
    }
}

pub(super) fn start(number: u64) -> Event<'static> {
    Event { kind: Kind::ToolInvocationStart, ..event(number, "") }
}

pub(super) fn end(number: u64) -> Event<'static> {
    Event { kind: Kind::ToolInvocationEnd, ..event(number, "") }
}

pub(super) fn open(directory: &Path, options: &Options) -> Opened {
    AuditLog::open(directory, options).unwrap()
}

/// Appends so many events one after the other.
pub(super) async fn fill(log: &AuditLog, n_events: u64) {
    for number in 0..n_events {
        log.append(&event(number, r#"{"a":1}"#), Durability::Os).await.unwrap();
    }
}

/// A closed log with so many events.
pub(super) async fn filled(n_events: u64, options: &Options) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), options).log;
    fill(&log, n_events).await;
    log.close().await.unwrap();
    directory
}

pub(super) fn check(directory: &Path) -> Report {
    verify(directory, &VerifyOptions::default()).unwrap()
}

/// The problems found, as text.
pub(super) fn problems(directory: &Path) -> Vec<String> {
    check(directory).problems.iter().map(ToString::to_string).collect()
}

pub(super) fn copy(from: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        fs::copy(item.path(), copy.path().join(item.file_name())).unwrap();
    }
    copy
}

/// A frame of a closed log: its segment, start and end.
#[derive(Clone, Debug)]
pub(super) struct FramePosition {
    pub(super) path: PathBuf,
    pub(super) seq: u64,
    pub(super) from: usize,
    pub(super) until: usize,
}

pub(super) fn frames(directory: &Path) -> Vec<FramePosition> {
    let mut frames = Vec::new();
    for file in segments(directory).unwrap() {
        let (mut cursor, _) = Cursor::open(&file.path).unwrap().unwrap();
        loop {
            let from = usize::try_from(cursor.offset()).unwrap();
            let Step::Frame(frame) = cursor.next().unwrap() else { break };
            let seq = frame.seq;
            let until = usize::try_from(cursor.offset()).unwrap();
            frames.push(FramePosition { path: file.path.clone(), seq, from, until });
        }
    }
    frames
}

/// Whether each segment is compressed.
pub(super) fn compressed(directory: &Path) -> Vec<bool> {
    let files = segments(directory).unwrap();
    files.iter().map(|file| Cursor::open(&file.path).unwrap().unwrap().0.is_compressed()).collect()
}

/// Tries to compress a closed segment, without replacing it yet.
pub(super) fn compressing(
    directory: &Path,
    number: u32,
    faults: &Arc<Faults>,
) -> Result<Compressing, AuditError> {
    let files = segments(directory).unwrap();
    let place = files.iter().position(|file| file.number == number).unwrap();
    Replacement::make(&files[place], &files[place + 1], &|| Ok(()), faults)
}

/// Compresses a closed segment.
pub(super) fn compress(directory: &Path, number: u32) {
    match compressing(directory, number, &Arc::default()).unwrap() {
        Compressing::Ready(copy) => assert!(copy.put_in_place().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Compresses all segments but the last.
pub(super) fn compress_closed(directory: &Path) {
    let mut files = segments(directory).unwrap();
    files.pop();
    for file in &files {
        compress(directory, file.number);
    }
}

/// Waits for the log to compress all segments but the last.
pub(super) async fn wait_until_compressed(directory: &Path) {
    while compressed(directory).iter().rev().skip(1).any(|is_compressed| !is_compressed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Changes a file.
pub(super) fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

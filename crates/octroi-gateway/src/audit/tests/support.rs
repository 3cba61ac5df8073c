//! Small logs and helpers for them.

use std::fs;
use std::path::{Path, PathBuf};

use octroi_core::audit::{Actor, ActorKind, CallId, Event, Kind};
use tempfile::TempDir;

use crate::audit::cursor::{Cursor, Step};
use crate::audit::format::segments;
use crate::audit::{AuditLog, Durability, Opened, Options, PurgeLimits, Report, VerifyOptions, verify};

pub(super) const AT_MS: u64 = 1_700_000_000_000;

/// Segments of a few records, and a checkpoint for every few.
pub(super) fn small() -> Options {
    Options {
        node: Some("n".to_owned()),
        segment_bytes: 1_500,
        checkpoint_records: 4,
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

/// Changes a file.
pub(super) fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

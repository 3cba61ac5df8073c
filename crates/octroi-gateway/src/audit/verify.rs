//! Verifies a whole log, and names the first record that was changed.
//!
//! Reads only, with little memory, also while a gateway writes. The owner of the disk and the key can
//! rewrite the log consistently, but not checkpoints that are kept elsewhere, so pass those in.

mod signed;

use std::path::Path;
use std::time::Duration;

use octroi_core::audit::checkpoint::origin;
use octroi_core::audit::{Checkpoint, Entry, Hash, Kind, PublicKey, Purge, chain};
use serde_json::{Value, json};

use self::signed::Signed;
use super::carried::Carried;
use super::checkpoints::last_signed;
use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::format::{Header, HeaderError, SegmentFile, segments};
use super::recover::public_key;
use super::walk::{LogProblem, LogWalk};

/// The maximum number of reported problems.
const PROBLEMS_MAX: usize = 100;
/// A record that is just being written is complete after this time.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 50 });

/// What to verify against.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// The key that checkpoints must be signed with; by default the one beside the log. A copy from elsewhere
    /// is better: an attacker who can rewrite the log can replace the key beside it.
    pub public_key: Option<PublicKey>,
    /// Checkpoints that were kept elsewhere, as notes.
    pub witnesses: Vec<String>,
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct Report {
    /// The node of the log.
    pub node: String,
    /// The key that checkpoints were verified with, as text.
    pub key: String,
    /// The first record.
    pub first_seq: u64,
    /// The last record.
    pub last_seq: u64,
    /// The number of records that were read.
    pub n_records: u64,
    /// The number of segments.
    pub n_segments: usize,
    /// The number of checkpoints that match the records.
    pub n_checkpoints: u64,
    /// Everything up to this record is covered by a matching checkpoint.
    pub signed_until: u64,
    /// The chain value at the end.
    pub chain: Hash,
    /// The root of the tree over all records.
    pub root: Hash,
    /// What is wrong, by record; empty if the log is intact.
    pub problems: Vec<LogProblem>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }

    /// The records up to this one were purged, as a signed record says; 0 if none were.
    pub fn purged_until(&self) -> u64 {
        let is_explained =
            !self.problems.iter().any(|problem| matches!(problem, LogProblem::Beginning { .. }));
        if is_explained { self.first_seq.saturating_sub(1) } else { 0 }
    }

    /// The report as JSON, for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "intact": self.is_intact(),
            "node": self.node,
            "key": self.key,
            "purged_until": self.purged_until(),
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "records": self.n_records,
            "segments": self.n_segments,
            "checkpoints": self.n_checkpoints,
            "signed_until": self.signed_until,
            "chain": self.chain.to_base64(),
            "root": self.root.to_base64(),
            "problems": self.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

/// Verifies the log in a directory.
pub fn verify(directory: &Path, options: &VerifyOptions) -> Result<Report, AuditError> {
    let key = match &options.public_key {
        Some(key) => key.clone(),
        None => public_key(directory)?,
    };
    // Read before the segments, so that the signed records must be in them.
    let signed = Signed::open(directory, &key, &options.witnesses)?;
    let files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let mut run = Verification {
        key,
        signed,
        walk: None,
        node: String::new(),
        start: None,
        first_seq: 1,
        signed_before: 0,
        n_records: 0,
        n_segments: files.len(),
        last_number: None,
        was_lost: false,
        is_compressed: false,
        problems: Vec::new(),
    };
    let n_files = files.len();
    for (place, file) in files.iter().enumerate() {
        run.segment(file, place + 1 == n_files)?;
    }
    // Read after the segments: what they say about it was true before.
    let newest = last_signed(directory, &run.key)?;
    // A segment may have been begun since then, and the one before it compressed.
    let files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let is_last = files.last().map(|last| last.number) == run.last_number;
    Ok(run.finish(newest, is_last))
}

struct Verification {
    key: PublicKey,
    signed: Signed,
    walk: Option<LogWalk>,
    node: String,
    /// The first header, if the log does not begin with record 1; cleared when a purge explains it.
    start: Option<Header>,
    first_seq: u64,
    /// How many records were signed, as the log itself says.
    signed_before: u64,
    n_records: u64,
    n_segments: usize,
    last_number: Option<u32>,
    /// The end of the last segment could not be read, so its content is unknown.
    was_lost: bool,
    /// Whether the last segment is compressed, so that there was another one after it.
    is_compressed: bool,
    problems: Vec<LogProblem>,
}

impl Verification {
    fn segment(&mut self, file: &SegmentFile, is_last: bool) -> Result<(), AuditError> {
        self.is_compressed = false;
        let mut opened = Cursor::open(&file.path)?;
        if is_last && matches!(opened, Err(HeaderError::Short)) {
            std::thread::sleep(PATIENCE);
            opened = Cursor::open(&file.path)?;
        }
        let expected = self.walk.as_ref().map_or(1, |walk| walk.expected);
        let (mut cursor, header) = match opened {
            Ok(opened) => opened,
            Err(HeaderError::Short) if is_last => {
                self.report(LogProblem::Torn { seq: expected, segment: file.number });
                return Ok(());
            }
            Err(HeaderError::Short | HeaderError::Foreign) => {
                self.report(LogProblem::SegmentHeader { segment: file.number, seq: expected });
                self.was_lost = true;
                self.last_number = Some(file.number);
                return Ok(());
            }
        };
        self.is_compressed = cursor.is_compressed();
        let mut walk = self.enter(file.number, &header);
        self.signed.compare(&mut walk, &mut self.problems);
        let mut may_wait = is_last;
        loop {
            match cursor.next()? {
                Step::Frame(frame) => {
                    let problem = walk.take(file.number, frame.seq, frame.chain, frame.body);
                    self.n_records += 1;
                    self.look_at_log_records(frame.body);
                    match problem {
                        None => {}
                        Some(problem @ LogProblem::Unreadable { .. }) => {
                            self.report(problem);
                            self.was_lost = true;
                            break;
                        }
                        Some(problem) => self.report(problem),
                    }
                    self.signed.compare(&mut walk, &mut self.problems);
                }
                Step::End => break,
                Step::Torn { .. } if may_wait => {
                    std::thread::sleep(PATIENCE);
                    may_wait = false;
                }
                Step::Torn { .. } => {
                    self.report(LogProblem::Torn { seq: walk.expected, segment: file.number });
                    walk.is_tainted = true;
                    self.was_lost = true;
                    break;
                }
                Step::Unreadable => {
                    self.report(LogProblem::Unreadable { seq: walk.expected, segment: file.number });
                    walk.is_tainted = true;
                    self.was_lost = true;
                    break;
                }
            }
        }
        self.walk = Some(walk);
        Ok(())
    }

    /// The walk at the beginning of a segment.
    fn enter(&mut self, number: u32, header: &Header) -> LogWalk {
        let was_lost = std::mem::take(&mut self.was_lost);
        let before = self.last_number.replace(number);
        let Some(mut walk) = self.walk.take() else {
            self.node.clone_from(&header.node);
            self.first_seq = header.first_seq;
            let is_beginning = header.first_seq == 1 && !was_lost;
            if is_beginning && header.chain != chain::start(&header.node) {
                self.report(LogProblem::SegmentHeader { segment: number, seq: 1 });
            } else if header.first_seq > 1 && !was_lost {
                self.start = Some(header.clone());
            }
            return LogWalk::new(header);
        };
        let problem = walk.enter(number, header);
        let missing_number = before.map(|before| before + 1).filter(|next| *next < number);
        match (problem, missing_number) {
            (Some(LogProblem::Missing { .. }), _) if was_lost => {}
            (Some(LogProblem::Missing { first, last }), Some(segment)) => {
                self.report(LogProblem::SegmentMissing { segment, first, last });
            }
            (Some(problem), _) => self.report(problem),
            (None, _) if header.node != self.node => {
                self.report(LogProblem::SegmentHeader { segment: number, seq: header.first_seq });
            }
            (None, _) => {}
        }
        walk
    }

    /// Records about the log itself: a signed purge explains why it begins where it does, and an opening says
    /// how many records were signed.
    fn look_at_log_records(&mut self, body: &[u8]) {
        const MARK: &[u8] = b"\"kind\":\"audit_";
        let head = &body[..body.len().min(64)];
        if !head.windows(MARK.len()).any(|window| window == MARK) {
            return;
        }
        let Ok(entry) = Entry::parse(body) else { return };
        if entry.kind == Kind::AuditOpened {
            let signed_until = Carried::read(entry.context).map_or(0, |carried| carried.signed_until);
            self.signed_before = self.signed_before.max(signed_until);
        }
        let Some(start) = self.start.as_ref().filter(|_| entry.kind == Kind::AuditPurged) else { return };
        let explains = Purge::open(entry.context, &self.node, &self.key).is_some_and(|purge| {
            purge.last_seq + 1 == start.first_seq && purge.chain == start.chain && purge.tree == start.tree
        });
        if explains {
            self.start = None;
        }
    }

    fn report(&mut self, problem: LogProblem) {
        // A record that comes late was not missing.
        if let LogProblem::OutOfOrder { found, .. } = problem {
            let gap = self.problems.iter_mut().find_map(|known| match known {
                LogProblem::Missing { first, last } if (*first..=*last).contains(&found) => {
                    Some((*first, *last))
                }
                _ => None,
            });
            if let Some((first, last)) = gap {
                let early = LogProblem::OutOfOrder { expected: first, found: last + 1 };
                let missing = LogProblem::Missing { first, last };
                self.problems.iter_mut().filter(|known| **known == missing).for_each(|known| {
                    *known = early.clone();
                });
                return;
            }
        }
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Ends it; `newest` is the size of the newest checkpoint that is signed with the key, `is_last` says whether
    /// there is still no further segment.
    fn finish(mut self, newest: u64, is_last: bool) -> Report {
        if let Some(start) = &self.start {
            let seq = start.first_seq;
            self.report(LogProblem::Beginning { seq });
        }
        let walk = self.walk.take().unwrap_or_else(|| LogWalk::new(&Header::first(&self.node)));
        let known = if is_last && self.is_compressed { walk.last() + 1 } else { walk.last() };
        self.signed.finish(walk.last(), known, &mut self.problems);
        if self.signed_before > newest {
            self.report(LogProblem::CheckpointsMissing { size: self.signed_before });
        }
        self.problems.sort_by_key(LogProblem::record);
        let name = if self.node.is_empty() { self.signed.node().unwrap_or_default() } else { self.node };
        Report {
            key: self.key.to_text(&origin(&name)),
            node: name,
            first_seq: self.first_seq,
            last_seq: walk.last(),
            n_records: self.n_records,
            n_segments: self.n_segments,
            n_checkpoints: self.signed.n_matched(),
            signed_until: self.signed.until(),
            chain: walk.head(),
            root: walk.tree.root(),
            problems: self.problems,
        }
    }
}

/// Opens a note that was kept elsewhere; `None` if it was not signed with this key.
pub(super) fn witness(note: &str, key: &PublicKey) -> Option<Checkpoint> {
    Checkpoint::open(note.trim_start(), key).ok()
}

//! Opening a log: its node, its end, and the calls that the last run left unfinished.
//!
//! Only the last segment is read. It is not compressed: that happens to a segment only when the next one is on disk.
//! If it is, later records are gone, and it is not continued. A torn end is truncated; any other damage is left unchanged, for
//! [`verify`](super::verify()) to report, and the log continues in a new segment.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use octroi_core::audit::checkpoint::origin;
use octroi_core::audit::{Checkpoint, Entry, Kind, PublicKey, SigningKey};

use super::carried::Carried;
use super::cursor::{Cursor, Step};
use super::error::AuditError;
use super::file::{Faults, LogFile, sync_directory, write_whole};
use super::format::{Header, HeaderError, SegmentFile, segments};
use super::walk::{LogProblem, LogWalk};
use super::writer::{Head, Segment};

const LOCK_FILE: &str = "lock";
pub(super) const KEY_FILE: &str = "key";
const PUBLIC_KEY_FILE: &str = "key.pub";

/// An unfinished end of the last run, which was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub segment: u32,
    /// The number of truncated bytes.
    pub n_bytes: u64,
}

/// The end of a log.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) node: String,
    pub(super) head: Head,
    /// The last record that is there. The head may be further: signed numbers are never used again.
    pub(super) last_read: u64,
    pub(super) carried: Carried,
    /// The segment to continue; `None` if a new one must be begun.
    pub(super) segment: Option<Segment>,
    /// The highest segment number.
    pub(super) last_number: u32,
    pub(super) cut: Option<Cut>,
    pub(super) problems: Vec<LogProblem>,
}

/// The lock of the directory. The operating system releases it with the process.
#[derive(Debug)]
pub(super) struct LogLock {
    file: File,
    /// The directory itself is locked as well: somebody may remove the file.
    directory: File,
}

impl LogLock {
    pub(super) fn acquire(directory: &Path) -> Result<Self, AuditError> {
        let path = directory.join(LOCK_FILE);
        let failed = |error| AuditError::io(&path, error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(failed)?;
        let whole = File::open(directory).map_err(|error| AuditError::io(directory, error))?;
        match whole.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(AuditError::InUse { directory: directory.to_owned() });
            }
            // Not every file system can lock a directory; the file is locked in any case.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        match file.try_lock() {
            Ok(()) => Ok(Self { file, directory: whole }),
            Err(TryLockError::WouldBlock) => Err(AuditError::InUse { directory: directory.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl Drop for LogLock {
    fn drop(&mut self) {
        // A child that is just being spawned shares the file, so closing it is not enough.
        let _ = self.file.unlock();
        let _ = self.directory.unlock();
    }
}

/// The signing key, created if there is none.
pub(super) fn signing_key(directory: &Path) -> Result<SigningKey, AuditError> {
    let path = directory.join(KEY_FILE);
    let seed = match fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| AuditError::Unreadable {
            path: path.clone(),
            what: "a key has 32 bytes".to_owned(),
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut seed = [0_u8; 32];
            getrandom::fill(&mut seed).map_err(|_| AuditError::NoRandomness)?;
            write_whole(&path, &seed)?;
            seed
        }
        Err(error) => return Err(AuditError::io(&path, error)),
    };
    Ok(SigningKey::from_seed(&seed))
}

/// Writes the public key beside the log, if it is missing.
pub(super) fn publish_key(directory: &Path, node: &str, key: &PublicKey) -> Result<(), AuditError> {
    let path = directory.join(PUBLIC_KEY_FILE);
    let text = format!("{}\n", key.to_text(&origin(node)));
    if fs::read_to_string(&path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    write_whole(&path, text.as_bytes())?;
    sync_directory(directory)
}

/// The public key that is beside the log; `None` if there is none.
pub(super) fn published_key(directory: &Path) -> Option<PublicKey> {
    PublicKey::parse(&fs::read_to_string(directory.join(PUBLIC_KEY_FILE)).ok()?)
}

/// The key for verifying checkpoints.
pub(super) fn public_key(directory: &Path) -> Result<PublicKey, AuditError> {
    let path = directory.join(PUBLIC_KEY_FILE);
    let text = fs::read_to_string(&path).map_err(|error| AuditError::io(&path, error))?;
    PublicKey::parse(&text)
        .ok_or_else(|| AuditError::Unreadable { path, what: "this is not a public key".to_owned() })
}

/// Finds the end of the log. `begin` names the node if there is no log yet.
pub(super) fn recover(
    directory: &Path,
    signed: Option<&Checkpoint>,
    faults: &Arc<Faults>,
    begin: impl FnOnce() -> Result<String, AuditError>,
) -> Result<Recovered, AuditError> {
    let mut files = segments(directory).map_err(|error| AuditError::io(directory, error))?;
    let mut last_number = files.last().map_or(0, |last| last.number);
    let mut unreadable = Vec::new();
    let mut cut = None;
    while let Some(last) = files.pop() {
        match Cursor::open(&last.path)? {
            Ok((cursor, header)) => {
                let tail = Tail { last, cursor, last_number, unreadable, signed, faults };
                return tail.read(&header, cut);
            }
            // It was just being created, so it contains no acknowledged record.
            Err(HeaderError::Short) if last.number == last_number => {
                let n_bytes = fs::metadata(&last.path).map_or(0, |data| data.len());
                fs::remove_file(&last.path).map_err(|error| AuditError::io(&last.path, error))?;
                cut = Some(Cut { segment: last.number, n_bytes });
                last_number = files.last().map_or(0, |last| last.number);
            }
            Err(HeaderError::Short | HeaderError::Foreign) => unreadable.push(last.number),
        }
    }
    // No segment can be read. If something was signed, the log continues after that.
    let node = match signed {
        Some(signed) => signed.node.clone(),
        None => begin()?,
    };
    let mut walk = LogWalk::new(&Header::first(&node));
    let mut problems: Vec<_> =
        unreadable.iter().map(|&segment| LogProblem::Unreadable { seq: 1, segment }).collect();
    if let Some(signed) = signed {
        problems.push(LogProblem::CutOff { last: 0, known: signed.size });
        walk.jump(signed.size, signed.chain);
    }
    Ok(Recovered {
        node,
        head: Head { seq: walk.last(), chain: walk.head(), tree: walk.tree },
        last_read: 0,
        carried: Carried::default(),
        segment: None,
        last_number,
        cut,
        problems,
    })
}

/// The last readable segment.
struct Tail<'a> {
    last: SegmentFile,
    cursor: Cursor,
    last_number: u32,
    /// Later segments that cannot be read.
    unreadable: Vec<u32>,
    signed: Option<&'a Checkpoint>,
    faults: &'a Arc<Faults>,
}

impl Tail<'_> {
    fn read(mut self, header: &Header, mut cut: Option<Cut>) -> Result<Recovered, AuditError> {
        let mut problems = Vec::new();
        let number = self.last.number;
        let mut walk = LogWalk::new(header);
        let mut carried = Carried::default();
        let mut n_records = 0;
        let mut n_torn = 0;
        problems.extend(self.compare(&walk));
        loop {
            match self.cursor.next()? {
                Step::Frame(frame) => {
                    let problem = walk.take(number, frame.seq, frame.chain, frame.body);
                    let is_lost = matches!(problem, Some(LogProblem::Unreadable { .. }));
                    problems.extend(problem);
                    if is_lost {
                        break;
                    }
                    note(&mut carried, frame.seq, frame.body);
                    n_records += 1;
                    problems.extend(self.compare(&walk));
                }
                Step::End => break,
                Step::Torn { n_bytes } => {
                    n_torn = n_bytes;
                    break;
                }
                Step::Unreadable => {
                    if self.cursor.is_zero_to_the_end()? {
                        n_torn = self.cursor.length()?.saturating_sub(self.cursor.offset());
                    } else {
                        problems.push(LogProblem::Unreadable { seq: walk.expected, segment: number });
                    }
                    break;
                }
            }
        }
        let seq = walk.expected;
        problems.extend(self.unreadable.iter().map(|&segment| LogProblem::Unreadable { seq, segment }));
        let last_read = walk.last();
        if let Some(signed) = self.signed.filter(|signed| signed.size > last_read) {
            problems.push(LogProblem::CutOff { last: last_read, known: signed.size });
            walk.jump(signed.size, signed.chain);
        } else if self.cursor.is_compressed() {
            let known = last_read + 1;
            problems.push(LogProblem::CutOff { last: last_read, known });
            walk.skip_to(known + 1);
        }
        let mut segment = None;
        if problems.is_empty() {
            let file = Arc::new(LogFile::open(&self.last.path, self.faults)?);
            let offset = self.cursor.offset();
            if n_torn > 0 {
                file.cut(offset)?;
                cut = Some(Cut { segment: number, n_bytes: n_torn });
            }
            // Records of the last run may not be on disk yet, and new ones depend on them.
            file.sync()?;
            segment = Some(Segment { number, file, offset, n_records, needs_cut: false });
        }
        Ok(Recovered {
            node: header.node.clone(),
            head: Head { seq: walk.last(), chain: walk.head(), tree: walk.tree },
            last_read,
            carried,
            segment,
            last_number: self.last_number,
            cut,
            problems,
        })
    }

    /// Compares the log with the last checkpoint, when the walk reaches it.
    fn compare(&self, walk: &LogWalk) -> Option<LogProblem> {
        let signed = self.signed.filter(|signed| signed.size == walk.last() && !walk.is_tainted)?;
        let is_same = walk.is_at(signed.chain) && walk.tree.root() == signed.root;
        (!is_same).then_some(LogProblem::Rewritten { first: 1, last: signed.size })
    }
}

/// Takes account of a record. Unreadable ones are ignored.
fn note(carried: &mut Carried, seq: u64, body: &[u8]) {
    let Ok(entry) = Entry::parse(body) else { return };
    if entry.kind != Kind::AuditOpened {
        carried.note(entry.kind, entry.call, seq, body);
    } else if let Some(opening) = Carried::read(entry.context) {
        *carried = opening;
    }
}

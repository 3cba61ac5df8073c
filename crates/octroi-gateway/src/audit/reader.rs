//! Reads records, forwards from any number and backwards in pages, with little memory.
//!
//! A sparse index of record positions is built for a segment when it is first needed. The integrity of
//! records is not checked here: that is what
//! [`verify`](super::verify()) does.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use octroi_core::audit::{Entry, EntryError, Hash};

use super::cursor::{Cursor, Frame, Step};
use super::error::AuditError;
use super::format::{SegmentFile, segments};

/// One index entry per this many bytes.
const INDEX_STEP: u64 = 64 << 10;
/// The maximum number of segment indexes in memory. One takes about 16 KiB.
const INDEXES_MAX: usize = 64;

/// A record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number.
    pub seq: u64,
    /// The chain value after it.
    pub chain: Hash,
    /// Its text.
    pub body: Vec<u8>,
}

impl Record {
    /// Parses the text.
    pub fn entry(&self) -> Result<Entry<'_>, EntryError> {
        Entry::parse(&self.body)
    }

    /// The decision that the record contains, as an event with the same number.
    pub fn decision(&self) -> Option<Self> {
        let body = self.entry().ok()?.decision()?;
        Some(Self { body, ..*self })
    }
}

/// Reads a log that may be growing.
#[derive(Debug)]
pub struct LogReader {
    directory: PathBuf,
    segments: Vec<KnownSegment>,
    indexes: HashMap<u32, Index>,
    /// Where the record after the last one that was read begins, so that continuing needs no search.
    stopped: Option<(u32, RecordLocation)>,
    /// Records after this one are not read: they are not acknowledged and may still be truncated.
    limit: u64,
}

#[derive(Clone, Debug)]
struct KnownSegment {
    file: SegmentFile,
    first_seq: u64,
}

/// The positions of some records of a segment.
#[derive(Debug)]
struct Index {
    places: Vec<RecordLocation>,
    /// The end of the indexed part of the segment.
    until: u64,
    /// The number of the last record before that.
    last_seq: u64,
}

#[derive(Clone, Copy, Debug)]
struct RecordLocation {
    seq: u64,
    offset: u64,
}

impl LogReader {
    /// Opens the log in a directory.
    pub fn open(directory: &Path) -> Result<Self, AuditError> {
        let mut reader = Self {
            directory: directory.to_owned(),
            segments: Vec::new(),
            indexes: HashMap::new(),
            stopped: None,
            limit: u64::MAX,
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// Sets the last record to read.
    pub fn set_limit(&mut self, seq: u64) {
        self.limit = seq;
    }

    /// All records from a number on, the oldest first.
    pub fn records(&mut self, from: u64) -> Result<Records<'_>, AuditError> {
        self.refresh()?;
        let place = self.segment_of(from);
        Ok(Records { reader: self, segment: place, cursor: None, next: from.max(1), has_begun: false })
    }

    /// The records that were written at a time or later, the oldest first, preceded by earlier ones of the
    /// same segment. Every segment begins with a record of its start time, so earlier segments are not read.
    pub fn records_since(&mut self, at_ms: u64) -> Result<Records<'_>, AuditError> {
        self.refresh()?;
        let mut first_seq = 1;
        for known in self.segments.iter().rev() {
            // A segment with an unknown start time may contain any, so the one before it is checked.
            if begun_at(&known.file.path)?.is_some_and(|begun_at_ms| begun_at_ms <= at_ms) {
                first_seq = known.first_seq;
                break;
            }
        }
        self.records(first_seq)
    }

    /// One record.
    pub fn record(&mut self, seq: u64) -> Result<Option<Record>, AuditError> {
        self.records(seq)?.next().transpose().map(|record| record.filter(|record| record.seq == seq))
    }

    /// Up to `n_max` records before a number, the newest first. Pass `u64::MAX` to begin at the end.
    pub fn page_before(&mut self, before: u64, n_max: usize) -> Result<Vec<Record>, AuditError> {
        self.refresh()?;
        let before = before.min(self.limit.saturating_add(1));
        let mut page = Vec::new();
        let mut place = self.segment_of(before.saturating_sub(1)) + 1;
        while place > 0 && page.len() < n_max {
            place -= 1;
            let Some(known) = self.segments.get(place).cloned() else { continue };
            let Some(cursor) = self.index(&known)? else { continue };
            self.page_of_segment(&known, cursor, before, n_max, &mut page)?;
        }
        Ok(page)
    }

    /// Adds the records of a segment, block by block from its end.
    fn page_of_segment(
        &self,
        known: &KnownSegment,
        mut cursor: Cursor,
        before: u64,
        n_max: usize,
        page: &mut Vec<Record>,
    ) -> Result<(), AuditError> {
        let Some(index) = self.indexes.get(&known.file.number) else { return Ok(()) };
        let mut n_blocks = index.places.partition_point(|place| place.seq < before);
        while n_blocks > 0 && page.len() < n_max {
            n_blocks -= 1;
            let until = index.places.get(n_blocks + 1).map_or(index.until, |next| next.offset);
            cursor.seek(index.places[n_blocks].offset);
            let mut block = Vec::new();
            while cursor.offset() < until {
                match cursor.next()? {
                    Step::Frame(frame) if frame.seq < before => block.push(record(&frame)),
                    Step::Frame(_) => {}
                    Step::End | Step::Torn { .. } | Step::Unreadable => break,
                }
            }
            let n_missing = n_max - page.len();
            page.extend(block.into_iter().rev().take(n_missing));
        }
        Ok(())
    }

    /// Updates the list of segments.
    fn refresh(&mut self) -> Result<(), AuditError> {
        let found = segments(&self.directory).map_err(|error| AuditError::io(&self.directory, error))?;
        let old = std::mem::take(&mut self.segments);
        for file in found {
            let known = old.iter().find(|known| known.file == file).cloned();
            let known = match known {
                Some(known) => Some(known),
                None => match Cursor::open(&file.path) {
                    Ok(Ok((_, header))) => Some(KnownSegment { file, first_seq: header.first_seq }),
                    // A segment that is just being created or purged, or is damaged.
                    Ok(Err(_)) => None,
                    Err(AuditError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                        None
                    }
                    Err(error) => return Err(error),
                },
            };
            self.segments.extend(known);
        }
        let segments = &self.segments;
        self.indexes.retain(|number, _| segments.iter().any(|known| known.file.number == *number));
        Ok(())
    }

    /// The index of the segment that contains a record, or the first one.
    fn segment_of(&self, seq: u64) -> usize {
        self.segments.partition_point(|known| known.first_seq <= seq).saturating_sub(1)
    }

    /// Updates the index of a segment, and opens the segment.
    fn index(&mut self, known: &KnownSegment) -> Result<Option<Cursor>, AuditError> {
        let Ok((mut cursor, _)) = Cursor::open(&known.file.path)? else { return Ok(None) };
        if self.indexes.len() >= INDEXES_MAX && !self.indexes.contains_key(&known.file.number) {
            self.indexes.clear();
        }
        let start = cursor.offset();
        let index = self.indexes.entry(known.file.number).or_insert_with(|| Index {
            places: Vec::new(),
            until: start,
            last_seq: 0,
        });
        cursor.seek(index.until);
        while index.last_seq < self.limit {
            let Step::Frame(frame) = cursor.next()? else { break };
            if frame.seq > self.limit {
                break;
            }
            let is_far = index.places.last().is_none_or(|last| frame.offset - last.offset >= INDEX_STEP);
            if is_far {
                index.places.push(RecordLocation { seq: frame.seq, offset: frame.offset });
            }
            index.last_seq = frame.seq;
            index.until = frame.offset + (super::format::FRAME_HEAD + frame.body.len()) as u64;
        }
        Ok(Some(cursor))
    }

    /// Opens a segment near a record. The index is only built for reads that begin in the middle.
    fn open_near(&mut self, known: &KnownSegment, seq: u64) -> Result<Option<Cursor>, AuditError> {
        let number = known.file.number;
        let stopped = self.stopped.filter(|(segment, place)| *segment == number && place.seq == seq);
        if seq <= known.first_seq || stopped.is_some() {
            let Ok((mut cursor, _)) = Cursor::open(&known.file.path)? else { return Ok(None) };
            if let Some((_, place)) = stopped {
                cursor.seek(place.offset);
            }
            return Ok(Some(cursor));
        }
        let Some(mut cursor) = self.index(known)? else { return Ok(None) };
        if let Some(index) = self.indexes.get(&number) {
            let n_before = index.places.partition_point(|place| place.seq <= seq);
            if let Some(place) = n_before.checked_sub(1).and_then(|last| index.places.get(last)) {
                cursor.seek(place.offset);
            }
        }
        Ok(Some(cursor))
    }
}

/// Records in order. Ends where the log ends; called again later, it continues if there is more.
#[derive(Debug)]
pub struct Records<'a> {
    reader: &'a mut LogReader,
    segment: usize,
    cursor: Option<Cursor>,
    /// The number of the next record.
    next: u64,
    /// Whether one was read. From then on, records are returned in file order, whatever their numbers are.
    has_begun: bool,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.segment;
        let step = self.step();
        // Unreadable data is reported once.
        if step.is_err() && self.segment == before {
            self.cursor = None;
            self.segment += 1;
        }
        step.transpose()
    }
}

impl Records<'_> {
    fn step(&mut self) -> Result<Option<Record>, AuditError> {
        loop {
            let Some(known) = self.reader.segments.get(self.segment) else { return Ok(None) };
            let number = known.file.number;
            let is_last = self.segment + 1 == self.reader.segments.len();
            let cursor = match &mut self.cursor {
                Some(cursor) => cursor,
                empty => match self.reader.open_near(&known.clone(), self.next)? {
                    Some(cursor) => empty.insert(cursor),
                    None => return self.give_up(),
                },
            };
            match cursor.next()? {
                Step::Frame(frame) if frame.seq < self.next && !self.has_begun => {}
                Step::Frame(frame) if frame.seq > self.reader.limit => {
                    let offset = frame.offset;
                    cursor.seek(offset);
                    return Ok(None);
                }
                Step::Frame(frame) => {
                    let record = record(&frame);
                    self.next = record.seq.saturating_add(1);
                    self.has_begun = true;
                    self.reader.stopped =
                        Some((number, RecordLocation { seq: self.next, offset: cursor.offset() }));
                    return Ok(Some(record));
                }
                Step::End | Step::Torn { .. } if is_last => return Ok(None),
                Step::End => {
                    self.cursor = None;
                    self.segment += 1;
                }
                Step::Torn { .. } | Step::Unreadable => return self.give_up(),
            }
        }
    }

    /// Reports that the rest of a segment is unreadable, and continues with the next one.
    fn give_up(&mut self) -> Result<Option<Record>, AuditError> {
        let damaged = self.reader.segments.get(self.segment);
        let path = damaged.map_or_else(|| self.reader.directory.clone(), |known| known.file.path.clone());
        self.cursor = None;
        self.segment += 1;
        Err(AuditError::Unreadable { path, what: format!("what should be record {} is damaged", self.next) })
    }
}

/// When a segment was begun, according to its first record.
fn begun_at(path: &Path) -> Result<Option<u64>, AuditError> {
    let Ok((mut cursor, _)) = Cursor::open(path)? else { return Ok(None) };
    Ok(match cursor.next()? {
        Step::Frame(frame) => Entry::parse(frame.body).ok().map(|entry| entry.at_ms),
        Step::End | Step::Torn { .. } | Step::Unreadable => None,
    })
}

fn record(frame: &Frame<'_>) -> Record {
    Record { seq: frame.seq, chain: frame.chain, body: frame.body.to_vec() }
}

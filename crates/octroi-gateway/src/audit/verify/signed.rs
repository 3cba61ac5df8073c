//! The checkpoints of a log and its witnesses, in the order in which the walk reaches them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Take};
use std::path::Path;

use octroi_core::audit::{Checkpoint, PublicKey};

use super::{PROBLEMS_MAX, witness};
use crate::audit::checkpoints::NoteReader;
use crate::audit::error::AuditError;
use crate::audit::walk::{LogProblem, LogWalk};

/// The signed checkpoints, and how many of them match the log.
pub(super) struct Signed {
    key: PublicKey,
    notes: Option<NoteReader<BufReader<Take<File>>>>,
    /// The next checkpoint of the file.
    next: Option<Checkpoint>,
    witnesses: BTreeMap<u64, Vec<Checkpoint>>,
    /// Problems found while reading ahead.
    problems: Vec<LogProblem>,
    n_matched: u64,
    until: u64,
    node: Option<String>,
}

impl Signed {
    pub(super) fn open(directory: &Path, key: &PublicKey, witnesses: &[String]) -> Result<Self, AuditError> {
        let mut signed = Self {
            key: key.clone(),
            notes: NoteReader::open(directory)?,
            next: None,
            witnesses: BTreeMap::new(),
            problems: Vec::new(),
            n_matched: 0,
            until: 0,
            node: None,
        };
        for (place, note) in (1..).zip(witnesses) {
            match witness(note, key) {
                Some(checkpoint) => signed.witnesses.entry(checkpoint.size).or_default().push(checkpoint),
                None => signed.problems.push(bad(note, place)),
            }
        }
        signed.advance();
        Ok(signed)
    }

    pub(super) fn n_matched(&self) -> u64 {
        self.n_matched
    }

    /// The size of the last matching checkpoint.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    pub(super) fn node(&self) -> Option<String> {
        self.node.clone()
    }

    /// Compares the log with every checkpoint at this position.
    pub(super) fn compare(&mut self, walk: &mut LogWalk, problems: &mut Vec<LogProblem>) {
        let last = walk.last();
        while self.next.as_ref().is_some_and(|next| next.size <= last) {
            if let Some(checkpoint) = self.next.take() {
                self.hold_against(&checkpoint, walk, problems);
            }
            self.advance();
        }
        while self.witnesses.first_key_value().is_some_and(|(size, _)| *size <= last) {
            for checkpoint in self.witnesses.pop_first().into_iter().flat_map(|(_, witnesses)| witnesses) {
                self.hold_against(&checkpoint, walk, problems);
            }
        }
    }

    fn hold_against(&mut self, checkpoint: &Checkpoint, walk: &mut LogWalk, problems: &mut Vec<LogProblem>) {
        // Purged records cannot be compared.
        if checkpoint.size != walk.last() {
            return;
        }
        if walk.is_at(checkpoint.chain) && walk.tree.root() == checkpoint.root {
            self.n_matched += 1;
            self.until = checkpoint.size;
            walk.is_tainted = false;
        } else if !walk.is_tainted {
            // After a known problem, a mismatch is expected.
            walk.is_tainted = true;
            if problems.len() < PROBLEMS_MAX {
                problems.push(LogProblem::Rewritten { first: self.until + 1, last: checkpoint.size });
            }
        }
    }

    /// Reads the next valid checkpoint of the file.
    fn advance(&mut self) {
        while let Some(notes) = &mut self.notes {
            let Ok(Some(note)) = notes.next() else {
                self.notes = None;
                return;
            };
            let place = notes.position();
            match Checkpoint::open(&note.text, &self.key) {
                Ok(checkpoint) => {
                    self.node.get_or_insert_with(|| checkpoint.node.clone());
                    self.next = Some(checkpoint);
                    return;
                }
                // The last one may just be being written.
                Err(_) if !note.is_whole && matches!(notes.next(), Ok(None)) => self.notes = None,
                Err(_) => {
                    if self.problems.len() < PROBLEMS_MAX {
                        self.problems.push(bad(&note.text, place));
                    }
                }
            }
        }
    }

    /// Reports whether records are missing at the end, and the problems of checkpoints. There were at least
    /// `known` records.
    pub(super) fn finish(&mut self, last: u64, mut known: u64, problems: &mut Vec<LogProblem>) {
        known = self.witnesses.last_key_value().map_or(known, |(size, _)| known.max(*size));
        while let Some(next) = self.next.take() {
            known = known.max(next.size);
            self.advance();
        }
        if known > last {
            problems.push(LogProblem::CutOff { last, known });
        }
        problems.append(&mut self.problems);
    }
}

/// The problem of an invalid note.
fn bad(note: &str, place: u64) -> LogProblem {
    match Checkpoint::claimed(note) {
        Some(claimed) => LogProblem::ForgedCheckpoint { size: claimed.size },
        None => LogProblem::UnreadableCheckpoint { place },
    }
}

//! The checkpoints of a log and its witnesses, in the order in which the walk comes by them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Take};
use std::path::Path;

use octroi_core::audit::{Checkpoint, PublicKey};

use super::{PROBLEMS_MAX, witness};
use crate::audit::checkpoints::Notes;
use crate::audit::error::AuditError;
use crate::audit::walk::{Problem, Walk};

/// What was signed, and how much of it was found to be true.
pub(super) struct Signed {
    key: PublicKey,
    notes: Option<Notes<BufReader<Take<File>>>>,
    /// The next one of the file.
    next: Option<Checkpoint>,
    witnesses: BTreeMap<u64, Vec<Checkpoint>>,
    /// Found while reading ahead.
    problems: Vec<Problem>,
    n_matched: u64,
    until: u64,
    node: Option<String>,
}

impl Signed {
    pub(super) fn open(directory: &Path, key: &PublicKey, witnesses: &[String]) -> Result<Self, AuditError> {
        let mut signed = Self {
            key: key.clone(),
            notes: Notes::open(directory)?,
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

    /// The size of the last checkpoint that agrees.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    pub(super) fn node(&self) -> Option<String> {
        self.node.clone()
    }

    /// Holds the log against every checkpoint that was made at this place.
    pub(super) fn compare(&mut self, walk: &mut Walk, problems: &mut Vec<Problem>) {
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

    fn hold_against(&mut self, checkpoint: &Checkpoint, walk: &mut Walk, problems: &mut Vec<Problem>) {
        // Of records that were purged nothing can be said.
        if checkpoint.size != walk.last() {
            return;
        }
        if walk.is_at(checkpoint.chain) && walk.tree.root() == checkpoint.root {
            self.n_matched += 1;
            self.until = checkpoint.size;
            walk.is_tainted = false;
        } else if !walk.is_tainted {
            // Where something is known to be wrong, this is no news.
            walk.is_tainted = true;
            if problems.len() < PROBLEMS_MAX {
                problems.push(Problem::Rewritten { first: self.until + 1, last: checkpoint.size });
            }
        }
    }

    /// Reads the next checkpoint of the file that can be believed.
    fn advance(&mut self) {
        while let Some(notes) = &mut self.notes {
            let Ok(Some(note)) = notes.next() else {
                self.notes = None;
                return;
            };
            let place = notes.place();
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

    /// Says whether there were more records than there are, and what was wrong with checkpoints.
    pub(super) fn finish(&mut self, last: u64, problems: &mut Vec<Problem>) {
        let mut known = self.witnesses.last_key_value().map_or(0, |(size, _)| *size);
        while let Some(next) = self.next.take() {
            known = known.max(next.size);
            self.advance();
        }
        if known > last {
            problems.push(Problem::CutOff { last, known });
        }
        problems.append(&mut self.problems);
    }
}

/// What is wrong with a note that cannot be believed.
fn bad(note: &str, place: u64) -> Problem {
    match Checkpoint::claimed(note) {
        Some(claimed) => Problem::ForgedCheckpoint { size: claimed.size },
        None => Problem::UnreadableCheckpoint { place },
    }
}

//! Follows the chain and the tree from record to record, and reports where they break.
//!
//! After a break it continues with the stored values, so that later breaks are found too. Opening and
//! verifying a log use the same walk: what one accepts, so does the other.

use std::fmt;

use octroi_core::audit::merkle::Tree;
use octroi_core::audit::{Hash, chain};

use super::format::Header;

/// A larger gap in the numbers counts as unreadable data.
const GAP_MAX: u64 = 10_000_000;

/// A problem of a log. The numbers are those of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogProblem {
    /// The record was changed.
    Edited {
        /// The number of the record.
        seq: u64,
    },
    /// Records are missing.
    Missing {
        /// The first missing record.
        first: u64,
        /// The last missing record.
        last: u64,
    },
    /// Another record is in the place of the expected one.
    OutOfOrder {
        /// The expected record.
        expected: u64,
        /// The record that was found.
        found: u64,
    },
    /// The record and the rest of its segment cannot be read.
    Unreadable {
        /// The number of the record.
        seq: u64,
        /// The segment.
        segment: u32,
    },
    /// The segment ends in the middle of this record.
    Torn {
        /// The number of the record.
        seq: u64,
        /// The segment.
        segment: u32,
    },
    /// A segment file is missing.
    SegmentMissing {
        /// Its number.
        segment: u32,
        /// Its first record.
        first: u64,
        /// Its last record, with those of further missing segments.
        last: u64,
    },
    /// The header of a segment was changed.
    SegmentHeader {
        /// Its number.
        segment: u32,
        /// The record that should be its first.
        seq: u64,
    },
    /// The log begins neither with record 1 nor where a purge left it.
    Beginning {
        /// The first record.
        seq: u64,
    },
    /// Records at the end are missing: a checkpoint covers more.
    CutOff {
        /// The last record.
        last: u64,
        /// How many there were.
        known: u64,
    },
    /// Records are consistent with each other, but not with a signed checkpoint.
    Rewritten {
        /// The first record of the affected range.
        first: u64,
        /// The last record of the affected range.
        last: u64,
    },
    /// A checkpoint that is not signed with the key of this log.
    ForgedCheckpoint {
        /// The number of records that it claims.
        size: u64,
    },
    /// Text among the checkpoints that is not a checkpoint.
    UnreadableCheckpoint {
        /// Its position, counted from one.
        place: u64,
    },
    /// Checkpoints are gone: the log says that there was one, and none covers as much.
    CheckpointsMissing {
        /// How many records it covered.
        size: u64,
    },
}

impl LogProblem {
    /// The first affected record; the maximum for problems that affect none.
    pub fn record(&self) -> u64 {
        match *self {
            Self::Edited { seq }
            | Self::Unreadable { seq, .. }
            | Self::Torn { seq, .. }
            | Self::SegmentHeader { seq, .. }
            | Self::Beginning { seq } => seq,
            Self::Missing { first, .. }
            | Self::SegmentMissing { first, .. }
            | Self::Rewritten { first, .. } => first,
            Self::OutOfOrder { expected, .. } => expected,
            Self::CutOff { last, .. } => last + 1,
            Self::ForgedCheckpoint { size } | Self::CheckpointsMissing { size } => size,
            Self::UnreadableCheckpoint { .. } => u64::MAX,
        }
    }
}

impl fmt::Display for LogProblem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { seq } => write!(to, "record {seq} was edited"),
            Self::Missing { first, last } if first == last => write!(to, "record {first} is missing"),
            Self::Missing { first, last } => write!(to, "records {first} to {last} are missing"),
            Self::OutOfOrder { expected, found } => {
                write!(to, "record {found} is where record {expected} should be")
            }
            Self::Unreadable { seq, segment } => {
                write!(to, "segment {segment} cannot be read from record {seq} on")
            }
            Self::Torn { seq, segment } => {
                write!(to, "segment {segment} ends in the middle of record {seq}")
            }
            Self::SegmentMissing { segment, first, last } => {
                write!(to, "segment {segment} is missing, and with it records {first} to {last}")
            }
            Self::SegmentHeader { segment, seq } => {
                write!(to, "the header of segment {segment}, before record {seq}, was edited")
            }
            Self::Beginning { seq } => {
                write!(to, "the log begins with record {seq}, and no purge explains it")
            }
            Self::CutOff { last, known } => {
                write!(to, "the log ends with record {last}, but there were {known}: the end was cut off")
            }
            Self::Rewritten { first, last } => write!(
                to,
                "the records from {first} to {last} are not those that were signed: at least one was rewritten"
            ),
            Self::ForgedCheckpoint { size } => {
                write!(to, "the checkpoint at record {size} is not signed with the key of this log")
            }
            Self::CheckpointsMissing { size } => {
                write!(to, "the checkpoint at record {size} is gone, and so are those after it")
            }
            Self::UnreadableCheckpoint { place } => write!(to, "checkpoint {place} cannot be read"),
        }
    }
}

/// The state of the walk.
#[derive(Clone, Debug)]
pub(super) struct LogWalk {
    /// The number of the next record.
    pub(super) expected: u64,
    /// The chain value before it, as computed.
    chain: Hash,
    /// The stored chain value before it, if that differs.
    stored: Option<Hash>,
    /// The tree before it.
    pub(super) tree: Tree,
    /// Whether there was a problem since chain and tree were last verified.
    pub(super) is_tainted: bool,
}

impl LogWalk {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            expected: header.first_seq,
            chain: header.chain,
            stored: None,
            tree: header.tree.clone(),
            is_tainted: false,
        }
    }

    /// The last record so far.
    pub(super) fn last(&self) -> u64 {
        self.expected - 1
    }

    /// The chain value to continue from: the stored one, if it differs.
    pub(super) fn head(&self) -> Hash {
        self.stored.unwrap_or(self.chain)
    }

    /// Whether the chain value is this one.
    pub(super) fn is_at(&self, chain: Hash) -> bool {
        self.chain == chain || self.stored == Some(chain)
    }

    /// Accepts a record, or returns the problem with it. After [`LogProblem::Unreadable`] no number can be
    /// trusted.
    pub(super) fn take(&mut self, segment: u32, seq: u64, stored: Hash, body: &[u8]) -> Option<LogProblem> {
        let expected = self.expected;
        let leaf = chain::leaf(expected, body);
        let befores = [Some(self.chain), self.stored];
        let fits = befores.into_iter().flatten().any(|before| chain::next(before, leaf) == stored);
        if fits || seq == expected {
            let computed = chain::next(self.chain, leaf);
            self.chain = if fits { stored } else { computed };
            // Either the body or the chain value was changed: the next record shows which one is right.
            self.stored = (!fits).then_some(stored);
            self.tree.push(leaf);
            self.expected += 1;
            return (!fits || seq != expected).then(|| self.tainted(LogProblem::Edited { seq: expected }));
        }
        if seq < expected {
            return Some(self.tainted(LogProblem::OutOfOrder { expected, found: seq }));
        }
        if seq - expected > GAP_MAX {
            return Some(self.tainted(LogProblem::Unreadable { seq: expected, segment }));
        }
        self.skip_to(seq);
        self.chain = stored;
        self.stored = None;
        self.tree.push(chain::leaf(seq, body));
        self.expected += 1;
        Some(self.tainted(LogProblem::Missing { first: expected, last: seq - 1 }))
    }

    /// Skips missing records.
    pub(super) fn skip_to(&mut self, seq: u64) {
        while self.expected < seq {
            self.tree.push(chain::lost_leaf(self.expected));
            self.expected += 1;
        }
        self.is_tainted = true;
    }

    /// Continues from a signed checkpoint, where records before it are lost.
    pub(super) fn jump(&mut self, size: u64, chain: Hash) {
        self.skip_to(size + 1);
        self.chain = chain;
        self.stored = None;
    }

    /// Enters the next segment. From there on, the values of its header are used.
    pub(super) fn enter(&mut self, segment: u32, header: &Header) -> Option<LogProblem> {
        let expected = self.expected;
        let problem = if header.first_seq > expected {
            Some(LogProblem::Missing { first: expected, last: header.first_seq - 1 })
        } else if header.first_seq < expected {
            Some(LogProblem::OutOfOrder { expected, found: header.first_seq })
        } else if self.is_tainted || (self.is_at(header.chain) && self.tree == header.tree) {
            None
        } else {
            Some(LogProblem::SegmentHeader { segment, seq: expected })
        };
        let is_tainted = self.is_tainted || problem.is_some();
        *self = Self::new(header);
        self.is_tainted = is_tainted;
        problem
    }

    fn tainted(&mut self, problem: LogProblem) -> LogProblem {
        self.is_tainted = true;
        problem
    }
}

//! Follows the chain and the tree from record to record, and says where they break.
//!
//! After a break it goes on with what the files say, so that later breaks are found too. Opening a log
//! and verifying it go the same way: what one builds upon, the other accepts.

use std::fmt;

use octroi_core::audit::merkle::Tree;
use octroi_core::audit::{Hash, chain};

use super::format::Header;

/// A number so far ahead is not a gap but nonsense.
const GAP_MAX: u64 = 10_000_000;

/// What is wrong with a log. The numbers are those of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The record is not the one that was written.
    Edited {
        /// Which one.
        seq: u64,
    },
    /// Records are not there.
    Missing {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// A record stands where another should be.
    OutOfOrder {
        /// Which one should be there.
        expected: u64,
        /// Which one is.
        found: u64,
    },
    /// What should be this record cannot be read, nor what follows in the same segment.
    Unreadable {
        /// Which one.
        seq: u64,
        /// The segment.
        segment: u32,
    },
    /// The segment ends in the middle of this record.
    Torn {
        /// Which one.
        seq: u64,
        /// The segment.
        segment: u32,
    },
    /// A segment file is not there.
    SegmentMissing {
        /// Its number.
        segment: u32,
        /// Its first record.
        first: u64,
        /// Its last record, with those of further missing segments.
        last: u64,
    },
    /// The header of a segment is not the one that was written.
    SegmentHeader {
        /// Its number.
        segment: u32,
        /// The record that should be its first.
        seq: u64,
    },
    /// The log does not begin at its beginning, nor where a purge left it.
    Beginning {
        /// The first record that is there.
        seq: u64,
    },
    /// Records at the end are gone: a checkpoint knows of more.
    CutOff {
        /// The last record that is there.
        last: u64,
        /// How many there were.
        known: u64,
    },
    /// Records agree with each other, but not with a signed checkpoint.
    Rewritten {
        /// One of the records from this one
        first: u64,
        /// to this one was changed.
        last: u64,
    },
    /// A checkpoint that the key of this log did not sign.
    ForgedCheckpoint {
        /// How many records it says there were.
        size: u64,
    },
    /// A text among the checkpoints that is none.
    UnreadableCheckpoint {
        /// Its place, counted from one.
        place: u64,
    },
}

impl Problem {
    /// The first record that is affected; the greatest number for what is none.
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
            Self::ForgedCheckpoint { size } => size,
            Self::UnreadableCheckpoint { .. } => u64::MAX,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { seq } => write!(to, "record {seq} was edited"),
            Self::Missing { first, last } if first == last => write!(to, "record {first} is missing"),
            Self::Missing { first, last } => write!(to, "records {first} to {last} are missing"),
            Self::OutOfOrder { expected, found } => {
                write!(to, "record {found} stands where record {expected} should be")
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
                write!(to, "the log begins with record {seq}, and no purge says so")
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
            Self::UnreadableCheckpoint { place } => write!(to, "checkpoint {place} cannot be read"),
        }
    }
}

/// Where the walk is.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The number of the next record.
    pub(super) expected: u64,
    /// The chain value before it, as computed.
    chain: Hash,
    /// The chain value before it as it is stored, where that differs.
    stored: Option<Hash>,
    /// The tree before it.
    pub(super) tree: Tree,
    /// Whether something was wrong since chain and tree were last known to be right.
    pub(super) is_tainted: bool,
}

impl Walk {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            expected: header.first_seq,
            chain: header.chain,
            stored: None,
            tree: header.tree.clone(),
            is_tainted: false,
        }
    }

    /// The last record there was.
    pub(super) fn last(&self) -> u64 {
        self.expected - 1
    }

    /// The chain value to go on from: what is stored, if that differs.
    pub(super) fn head(&self) -> Hash {
        self.stored.unwrap_or(self.chain)
    }

    /// Whether the chain value is this one.
    pub(super) fn is_at(&self, chain: Hash) -> bool {
        self.chain == chain || self.stored == Some(chain)
    }

    /// Takes a record, or says what is wrong with it. None of the numbers can be believed after
    /// [`Problem::Unreadable`].
    pub(super) fn take(&mut self, segment: u32, seq: u64, stored: Hash, body: &[u8]) -> Option<Problem> {
        let expected = self.expected;
        let leaf = chain::leaf(expected, body);
        let befores = [Some(self.chain), self.stored];
        let fits = befores.into_iter().flatten().any(|before| chain::next(before, leaf) == stored);
        if fits || seq == expected {
            let computed = chain::next(self.chain, leaf);
            self.chain = if fits { stored } else { computed };
            // Either the body or the chain value was changed: the next record tells which to believe.
            self.stored = (!fits).then_some(stored);
            self.tree.push(leaf);
            self.expected += 1;
            return (!fits || seq != expected).then(|| self.tainted(Problem::Edited { seq: expected }));
        }
        if seq < expected {
            return Some(self.tainted(Problem::OutOfOrder { expected, found: seq }));
        }
        if seq - expected > GAP_MAX {
            return Some(self.tainted(Problem::Unreadable { seq: expected, segment }));
        }
        self.skip_to(seq);
        self.chain = stored;
        self.stored = None;
        self.tree.push(chain::leaf(seq, body));
        self.expected += 1;
        Some(self.tainted(Problem::Missing { first: expected, last: seq - 1 }))
    }

    /// Passes over records that are not there.
    pub(super) fn skip_to(&mut self, seq: u64) {
        while self.expected < seq {
            self.tree.push(chain::lost_leaf(self.expected));
            self.expected += 1;
        }
        self.is_tainted = true;
    }

    /// Goes on from a signed checkpoint, where records before it are lost.
    pub(super) fn jump(&mut self, size: u64, chain: Hash) {
        self.skip_to(size + 1);
        self.chain = chain;
        self.stored = None;
    }

    /// Enters the next segment. What its header says counts from there on.
    pub(super) fn enter(&mut self, segment: u32, header: &Header) -> Option<Problem> {
        let expected = self.expected;
        let problem = if header.first_seq > expected {
            Some(Problem::Missing { first: expected, last: header.first_seq - 1 })
        } else if header.first_seq < expected {
            Some(Problem::OutOfOrder { expected, found: header.first_seq })
        } else if self.is_tainted || (self.is_at(header.chain) && self.tree == header.tree) {
            None
        } else {
            Some(Problem::SegmentHeader { segment, seq: expected })
        };
        let is_tainted = self.is_tainted || problem.is_some();
        *self = Self::new(header);
        self.is_tainted = is_tainted;
        problem
    }

    fn tainted(&mut self, problem: Problem) -> Problem {
        self.is_tainted = true;
        problem
    }
}

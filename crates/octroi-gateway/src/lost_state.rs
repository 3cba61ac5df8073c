//! State that is lost is noticed: the database and the audit log each remember that the other was there.
//!
//! Starting as if new would forget which definitions were accepted and rejected, and which policies apply.

use std::fmt;
use std::path::Path;

use octroi_store::Store;

use crate::audit::{MissingParts, missing_parts};

/// More records than this without a checkpoint are not normal: one is signed for every thousand.
const UNSIGNED_MAX: u64 = 2_000;

/// A part of the data directory that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The database is gone, and the audit log is there.
    Database,
    /// The audit log is gone, and the database knows it.
    Log {
        /// How many records the database knows of.
        n_known: u64,
    },
    /// The audit log is shorter than the database knows.
    LogEnd {
        /// The last record of the log.
        last: u64,
        /// The last record that the database knows of.
        known: u64,
    },
    /// The audit log is another one than the database knows.
    OtherLog,
    /// The key that signs checkpoints is gone.
    SigningKey,
    /// Signed checkpoints are gone.
    Checkpoints,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => formatter.write_str(
                "the database: accepted and rejected definitions, policies, settings of agents and waiting \
                 approvals",
            ),
            Self::Log { n_known } => write!(formatter, "the audit log, which had {n_known} records"),
            Self::LogEnd { last, known } => {
                write!(
                    formatter,
                    "the end of the audit log: it ends with record {last}, and there were {known}"
                )
            }
            Self::OtherLog => {
                formatter.write_str("the audit log that the database knows; there is another one")
            }
            Self::SigningKey => formatter.write_str("the key that signs checkpoints of the audit log"),
            Self::Checkpoints => formatter.write_str("signed checkpoints of the audit log"),
        }
    }
}

/// What to do about lost state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// Nothing is opened.
    Refuse,
    /// A person accepted it: it is recorded, and Octroi goes on without.
    Accept,
}

/// What can be told from the files, before anything is opened or created.
pub(crate) fn missing_files(directory: &Path, log: &Path) -> Vec<Loss> {
    let MissingParts { has_segments, has_key, has_checkpoints } = missing_parts(log);
    if !has_segments {
        return Vec::new();
    }
    let mut losses = Vec::new();
    losses.extend((!Store::exists(directory)).then_some(Loss::Database));
    losses.extend((!has_key).then_some(Loss::SigningKey));
    losses.extend((!has_checkpoints).then_some(Loss::Checkpoints));
    losses
}

/// What the database knows of the audit log, if there is no log at all.
pub(crate) fn missing_log(log: &Path, known: &[(String, u64)]) -> Option<Loss> {
    let n_known = known.iter().map(|(_, last)| *last).max()?;
    (!missing_parts(log).has_segments).then_some(Loss::Log { n_known })
}

/// What the database knows of the audit log, compared with the log that was opened.
pub(crate) fn missing_records(
    known: &[(String, u64)],
    node: &str,
    last: u64,
    n_unsigned: u64,
) -> Option<Loss> {
    let of_this = known.iter().find(|(other, _)| other == node);
    match of_this {
        Some((_, known)) if *known > last => Some(Loss::LogEnd { last, known: *known }),
        None if !known.is_empty() => Some(Loss::OtherLog),
        Some(_) | None => (n_unsigned > UNSIGNED_MAX).then_some(Loss::Checkpoints),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_compared_with_what_the_database_knows() {
        let known = |node: &str, last| vec![(node.to_owned(), last)];
        for (known, last, n_unsigned, expected) in [
            (Vec::new(), 0, 0, None),
            (known("a", 9), 9, 9, None),
            (known("a", 9), 12, 3, None),
            (known("a", 9), 8, 0, Some(Loss::LogEnd { last: 8, known: 9 })),
            (known("b", 9), 9, 0, Some(Loss::OtherLog)),
            (known("a", 9_000), 9_000, 2_001, Some(Loss::Checkpoints)),
        ] {
            assert_eq!(missing_records(&known, "a", last, n_unsigned), expected, "{known:?}");
        }
    }
}

//! State that is lost is noticed: the database, the audit log and the other files of the data directory each
//! remember that the others were there, and how far they were.
//!
//! Starting as if new would forget which definitions were accepted and rejected, and which policies apply.

use std::fmt;
use std::path::Path;

use octroi_store::{KnownLog, Store};

use crate::audit::{LogFacts, MissingParts, missing_parts};

/// More records than this without a checkpoint are not normal: one is signed for every thousand.
const UNSIGNED_MAX: u64 = 2_000;

/// Files that are made after the database and the audit log, at the earliest: where one of them is, those two
/// were.
const LATER_FILES: [&str; 3] = ["admin.token", "default.token", "stdio.token"];

/// A part of the data directory that is missing, or that is not the one it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The database is gone.
    Database,
    /// The database is older than what the audit log has of it.
    DatabaseChanges {
        /// The number of the newest snapshot that the database knows.
        known: u64,
        /// The number of the newest snapshot in the log.
        newest: u64,
    },
    /// The audit log is gone.
    Log {
        /// How many records the database knows of.
        n_known: Option<u64>,
    },
    /// The audit log is shorter than the database or a checkpoint knows.
    LogEnd {
        /// The last record of the log.
        last: u64,
        /// The last record that is known.
        known: u64,
    },
    /// The audit log is another one than the database knows.
    OtherLog,
    /// The key that signs checkpoints is gone.
    SigningKey,
    /// The key that signs checkpoints is another one than before.
    OtherSigningKey,
    /// Signed checkpoints are gone.
    Checkpoints,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => formatter.write_str(
                "the database: accepted and rejected definitions, policies, settings of agents, users, \
                 tokens, stored secrets and waiting approvals",
            ),
            Self::DatabaseChanges { known, newest } => write!(
                formatter,
                "changes of the database: it is an older one, of snapshot {known}, and the audit log has \
                 snapshot {newest}"
            ),
            Self::Log { n_known: Some(n_known) } => {
                write!(formatter, "the audit log, which had {}", octroi_core::count(*n_known, "record"))
            }
            Self::Log { n_known: None } => formatter.write_str("the audit log"),
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
            Self::OtherSigningKey => {
                formatter.write_str("the key that signed checkpoints of the audit log; there is another one")
            }
            Self::Checkpoints => formatter.write_str("signed checkpoints of the audit log"),
        }
    }
}

/// What is lost, each thing once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LossList(Vec<Loss>);

impl LossList {
    /// Adds what was found, unless something larger is known to be lost with it.
    pub(crate) fn add(&mut self, losses: impl IntoIterator<Item = Loss>) {
        for loss in losses {
            let is_known = self.0.iter().any(|known| match known {
                Loss::Database => matches!(loss, Loss::Database | Loss::DatabaseChanges { .. }),
                Loss::Log { .. } => matches!(loss, Loss::Log { .. }),
                Loss::SigningKey => {
                    matches!(loss, Loss::SigningKey | Loss::OtherSigningKey | Loss::Checkpoints)
                }
                Loss::DatabaseChanges { .. }
                | Loss::LogEnd { .. }
                | Loss::OtherLog
                | Loss::OtherSigningKey
                | Loss::Checkpoints => loss == *known,
            });
            if !is_known {
                self.0.push(loss);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn to_vec(&self) -> Vec<Loss> {
        self.0.clone()
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

fn has_later_file(directory: &Path) -> bool {
    LATER_FILES.iter().any(|file| directory.join(file).exists())
}

/// What can be told from the files, before anything is opened or created.
pub(crate) fn missing_files(directory: &Path, log: &Path, master_key: &str) -> Vec<Loss> {
    let MissingParts { has_segments, has_key, checkpoint_bytes } = missing_parts(log);
    let has_later_file = has_later_file(directory);
    // A checkpoint covers at least one record, so an empty file says nothing.
    let was_signed = checkpoint_bytes.is_some_and(|n_bytes| n_bytes > 0);
    let had_log = has_segments || was_signed || has_later_file;
    let had_database = had_log || directory.join(master_key).exists();
    let is_database_there = Store::exists(directory);
    let mut losses = Vec::new();
    losses.extend((had_database && !is_database_there).then_some(Loss::Database));
    if has_segments {
        losses.extend((!has_key).then_some(Loss::SigningKey));
        losses.extend(checkpoint_bytes.is_none().then_some(Loss::Checkpoints));
    } else if had_log && !is_database_there {
        // With a database it is known how many records there were.
        losses.push(Loss::Log { n_known: None });
    }
    losses
}

/// What the database and other files know of the audit log, if there is no log at all.
pub(crate) fn missing_log(directory: &Path, log: &Path, known: &[(String, u64)]) -> Option<Loss> {
    let MissingParts { has_segments, checkpoint_bytes, .. } = missing_parts(log);
    let n_known = known.iter().map(|(_, last)| *last).max();
    let was_there =
        n_known.is_some() || checkpoint_bytes.is_some_and(|n_bytes| n_bytes > 0) || has_later_file(directory);
    (!has_segments && was_there).then_some(Loss::Log { n_known })
}

/// What the database knows of its audit log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// The logs whose records it has, each with the last one.
    pub(crate) nodes: Vec<(String, u64)>,
    /// What else it knows of them.
    pub(crate) logs: Vec<KnownLog>,
}

impl Knowledge {
    /// What it knows of a log besides its records.
    pub(crate) fn of_log(&self, node: &str) -> Option<&KnownLog> {
        self.logs.iter().find(|log| log.node == node)
    }
}

/// What the database knows of the audit log, compared with the log that was found.
pub(crate) fn compare(knowledge: &Knowledge, found: &LogFacts) -> Vec<Loss> {
    let of_this = knowledge.nodes.iter().find(|(node, _)| *node == found.node);
    let log = knowledge.of_log(&found.node);
    let mut losses = Vec::new();
    let known = of_this.map_or(0, |(_, last)| *last).max(found.signed_until);
    if known > found.last {
        losses.push(Loss::LogEnd { last: found.last, known });
    }
    let knows_other = !knowledge.nodes.is_empty() || !knowledge.logs.is_empty();
    if of_this.is_none() && log.is_none() && knows_other {
        losses.push(Loss::OtherLog);
    }
    let snapshot = log.map_or(0, |log| log.snapshot);
    if snapshot < found.snapshot {
        losses.push(Loss::DatabaseChanges { known: snapshot, newest: found.snapshot });
    }
    let signed_before = log.map_or(0, |log| log.signed_until).max(found.signed_before);
    if found.has_other_key || log.is_some_and(|log| log.key != found.key) {
        losses.push(Loss::OtherSigningKey);
    } else if signed_before > found.signed_until
        || found.has_only_other_checkpoints
        || found.last.saturating_sub(found.signed_until) > UNSIGNED_MAX
    {
        losses.push(Loss::Checkpoints);
    }
    losses
}

#[cfg(test)]
mod tests;

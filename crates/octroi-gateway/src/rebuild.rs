//! Makes a lost database again from the audit log.

use std::path::{Path, PathBuf};

use octroi_core::Clock;
use octroi_core::audit::{Actor, Event, Kind, Level};
use octroi_store::{KnownLog, Store, StoreError};
use serde_json::json;

use crate::audit::{
    AuditError, Durability, FoundLog, LogReader, MissingParts, Options, VerifyOptions, missing_parts, verify,
};
use crate::lost_state::OnLoss;
use crate::persistence::AUDIT;
use crate::persistence::key::KeyOrigin;
use crate::state_snapshot::{Rebuilt, SnapshotItem, SnapshotReader, write_state};

/// How many problems of a log an error names.
const PROBLEMS_SHOWN: usize = 3;

/// Why a database cannot be rebuilt. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// There is a database.
    #[error("there is nothing to rebuild: {} has a database", .directory.display())]
    HasDatabase {
        /// The data directory.
        directory: PathBuf,
    },
    /// There is no audit log.
    #[error("cannot rebuild the database: {} has no audit log", .directory.display())]
    NoLog {
        /// The data directory.
        directory: PathBuf,
    },
    /// The log has no snapshot.
    #[error("cannot rebuild the database: the audit log in {} has no snapshot of it", .directory.display())]
    NoSnapshot {
        /// The data directory.
        directory: PathBuf,
    },
    /// The log is not what was signed.
    #[error("the audit log in {} cannot be trusted: {}", .directory.display(), first_of(.problems))]
    Changed {
        /// The data directory.
        directory: PathBuf,
        /// What is wrong with the log.
        problems: Vec<String>,
    },
    /// The log cannot be used.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The database cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn first_of(problems: &[String]) -> String {
    let shown = problems.iter().take(PROBLEMS_SHOWN).cloned();
    let n_more = problems.len().saturating_sub(PROBLEMS_SHOWN);
    shown.chain((n_more > 0).then(|| format!("and {n_more} more"))).collect::<Vec<_>>().join("; ")
}

impl RebuildError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::HasDatabase { directory } => {
                let database = directory.join("octroi.db");
                let database = database.display();
                format!(
                    "start with `octroi up`; to rebuild it anyway, move {database}, {database}-wal and \
                     {database}-shm away first"
                )
            }
            Self::NoLog { .. } => {
                "name the right directory with --data DIR, or restore a copy of it; or start \
                                   without what is lost with `octroi up --accept-loss`"
                    .to_owned()
            }
            Self::NoSnapshot { .. } => {
                "restore a copy of octroi.db, or start without it with `octroi up --accept-loss`".to_owned()
            }
            Self::Changed { .. } => "look with `octroi audit verify`, and restore a copy of the log or of \
                                     octroi.db; or rebuild from what is there with `octroi db rebuild \
                                     --accept-loss`, which is recorded"
                .to_owned(),
            Self::Audit(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// Rebuilds definitions, policies, settings of agents, users, tokens and switches from the last snapshot in the log, and
/// records that. The log is verified first; only a person may accept one that was changed or cut.
pub async fn rebuild_database(
    directory: &Path,
    clock: &Clock,
    actor: Actor<'_>,
    on_loss: OnLoss,
) -> Result<Rebuilt, RebuildError> {
    let log = directory.join(AUDIT);
    let here = || directory.to_owned();
    if Store::exists(directory) {
        return Err(RebuildError::HasDatabase { directory: here() });
    }
    if !missing_parts(&log).has_segments {
        return Err(RebuildError::NoLog { directory: here() });
    }
    let Snapshot { seq, items } =
        last_snapshot(&log)?.ok_or_else(|| RebuildError::NoSnapshot { directory: here() })?;
    let mut problems = problems(&log, seq)?;
    if on_loss == OnLoss::Refuse && !problems.is_empty() {
        return Err(RebuildError::Changed { directory: here(), problems });
    }
    let found = FoundLog::find(&log, &Options::new(clock.clone()))?;
    let facts = found.facts();
    if facts.has_other_key {
        problems.push("the key that signs is not the one that was published".to_owned());
        if on_loss == OnLoss::Refuse {
            return Err(RebuildError::Changed { directory: here(), problems });
        }
    }
    let store =
        Store::open(directory, &|directory, known| KeyOrigin::IfThere.find(directory, known, OnLoss::Accept))
            .await?;
    let rebuilt = write_state(&store, items, clock.now_ms()).await?;
    let known = KnownLog {
        node: facts.node,
        key: facts.key,
        signed_until: facts.signed_until,
        snapshot: facts.snapshot,
    };
    store.save_known_log(&known).await?;
    let opened = found.open()?;
    let context = json!({
        "change": "database_rebuilt",
        "definitions": rebuilt.n_pins,
        "rejected": rebuilt.n_kept_out,
        "policies": rebuilt.n_policies,
        "agents": rebuilt.n_agents,
        "users": rebuilt.n_users,
        "tokens": rebuilt.n_tokens,
        "switches": rebuilt.n_switches,
        "lost": rebuilt.lost,
        "problems": problems,
    });
    let context = context.to_string();
    let now_ms = u64::try_from(clock.now_ms()).unwrap_or_default();
    let event = Event {
        level: Level::Warn,
        context: &context,
        ..Event::new(now_ms, Kind::AdministrativeChange, actor)
    };
    opened.log.append(&event, Durability::Disk).await?;
    opened.log.close().await?;
    store.checkpoint().await?;
    store.close().await;
    Ok(rebuilt)
}

/// Why the log, or its snapshot, may not be what was written.
fn problems(log: &Path, snapshot: u64) -> Result<Vec<String>, AuditError> {
    let MissingParts { has_key, checkpoint_bytes, .. } = missing_parts(log);
    let mut problems = Vec::new();
    if !has_key {
        problems.push("the key that signs its checkpoints is gone".to_owned());
    }
    if checkpoint_bytes.is_none() {
        problems.push("its checkpoints are gone".to_owned());
    }
    let report = verify(log, &VerifyOptions::default())?;
    problems.extend(report.problems.iter().map(ToString::to_string));
    if report.signed_until < snapshot {
        problems.push(format!("no checkpoint covers its last snapshot, record {snapshot}"));
    }
    Ok(problems)
}

/// A snapshot in the log.
struct Snapshot {
    /// Its last record.
    seq: u64,
    items: Vec<SnapshotItem>,
}

fn last_snapshot(log: &Path) -> Result<Option<Snapshot>, AuditError> {
    let mut found = SnapshotReader::default();
    let mut last_seq = 0;
    let mut reader = LogReader::open(log)?;
    for record in reader.records(1)? {
        let record = record?;
        // A record that cannot be read is not a snapshot; verification reports it.
        if let Ok(entry) = record.entry()
            && found.take(&entry)
        {
            last_seq = record.seq;
        }
    }
    Ok(found.into_complete().map(|items| Snapshot { seq: last_seq, items }))
}

#[cfg(test)]
mod tests;

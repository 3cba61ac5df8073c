//! Changes the master key, while no gateway runs.
//!
//! The new key is on the disk before the database is encrypted with it, and takes the place of the old one
//! afterwards. What clients carry, such as the ids of sessions, is not stored and ends with the old key.

use std::io;
use std::path::{Path, PathBuf};

use octroi_core::Clock;
use octroi_core::audit::{Actor, Event, Kind, Level};
use octroi_store::{MasterKey, Rekeyed, Store, StoreError};
use serde_json::json;
use tracing::error;

use crate::audit::{AuditError, Durability};
use crate::lost_state::OnLoss;
use crate::persistence::key::{self, KeyOrigin};
use crate::persistence::{Persistence, PersistenceError};

/// Why the master key cannot be changed. The old one is still in use then.
#[derive(Debug, thiserror::Error)]
pub enum RekeyError {
    /// No gateway ever used the directory.
    #[error("{} has no database of a gateway", .directory.display())]
    NoDatabase {
        /// The data directory.
        directory: PathBuf,
    },
    /// The key comes from a variable, and nobody said which is the next.
    #[error("OCTROI_MASTER_KEY is set, and OCTROI_NEW_MASTER_KEY is not")]
    NoNewKey,
    /// The new key is the old one.
    #[error("the new key is the one in use")]
    SameKey,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomNumbers,
    /// The new key cannot be written.
    #[error("the new key cannot be written to {}", .path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: io::Error,
    },
    /// The database is encrypted with the new key, which did not get its place.
    #[error("the new key is in use, and could not be moved to {}", .path.display())]
    NotMoved {
        /// The file.
        path: PathBuf,
        #[source]
        /// The underlying error.
        source: io::Error,
    },
    /// The data directory cannot be opened.
    #[error(transparent)]
    Persistence(#[from] PersistenceError),
    /// What is done cannot be recorded.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RekeyError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDatabase { .. } => "name the right directory with --data DIR".to_owned(),
            Self::NoNewKey => {
                "set OCTROI_NEW_MASTER_KEY to 64 random hexadecimal digits, as from `openssl rand -hex 32`"
                    .to_owned()
            }
            Self::SameKey => "set OCTROI_NEW_MASTER_KEY to another one".to_owned(),
            Self::NoRandomNumbers => "look at the log of the system".to_owned(),
            Self::NotWritten { .. } => "let this user write there, and run this again".to_owned(),
            Self::NotMoved { .. } => "let this user write there; the next start moves it".to_owned(),
            Self::Persistence(error) => error.hint_to_command(),
            Self::Audit(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// Encrypts everything with a new key, which is recorded first: a given one, else a random one. Returns what was
/// encrypted again, and the file that has the new key, if there is one.
pub async fn rekey(
    directory: &Path,
    origin: &KeyOrigin,
    new: Option<MasterKey>,
    clock: &Clock,
    actor: Actor<'_>,
) -> Result<(Rekeyed, Option<PathBuf>), RekeyError> {
    if !Store::exists(directory) {
        return Err(RekeyError::NoDatabase { directory: directory.to_owned() });
    }
    let files = origin.files(directory);
    let new = match (new, &files) {
        (Some(new), _) => new,
        (None, Some(_)) => MasterKey::random().ok_or(RekeyError::NoRandomNumbers)?,
        (None, None) => return Err(RekeyError::NoNewKey),
    };
    let mut persistence = Persistence::open_with(directory, clock.clone(), OnLoss::Refuse, origin).await?;
    let store = persistence.store().clone();
    if store.key_id().is_some_and(|id| id == new.id()) {
        return Err(RekeyError::SameKey);
    }
    let log = persistence.take_audit().map(|opened| opened.log);
    let record = async |failed: Option<&RekeyError>| {
        let Some(log) = &log else { return Ok(()) };
        let mut context = json!({ "change": "master_key_changed", "key": new.id() });
        if let Some(error) = failed {
            context["failed"] = true.into();
            context["reason"] = error.to_string().into();
        }
        let context = context.to_string();
        let at_ms = u64::try_from(clock.now_ms()).unwrap_or_default();
        let event =
            Event { level: Level::Warn, context: &context, ..Event::new(at_ms, Kind::SecretChanged, actor) };
        log.append(&event, Durability::Disk).await.map(drop)
    };
    record(None).await?;
    let changed = change(&store, files, &new).await;
    match &changed {
        // With an error of this kind the new key is in use all the same.
        Ok(_) | Err(RekeyError::NotMoved { .. }) => {}
        Err(error) => {
            if let Err(unrecorded) = record(Some(error)).await {
                error!(error = %unrecorded, "it was not recorded that the master key stays as it was");
            }
        }
    }
    if let Some(log) = &log
        && let Err(error) = log.close().await
    {
        error!(%error, hint = error.hint(), "the audit log could not be closed");
    }
    changed
}

/// Encrypts everything with the new key, which is on the disk before and gets its place afterwards.
async fn change(
    store: &Store,
    files: Option<(PathBuf, PathBuf)>,
    new: &MasterKey,
) -> Result<(Rekeyed, Option<PathBuf>), RekeyError> {
    let Some((file, next)) = files else {
        return Ok((store.rekey(new).await?, None));
    };
    key::write(&next, new).map_err(|source| RekeyError::NotWritten { path: next.clone(), source })?;
    let rekeyed = store.rekey(new).await?;
    key::replace(&next, &file).map_err(|source| RekeyError::NotMoved { path: file.clone(), source })?;
    Ok((rekeyed, Some(file)))
}

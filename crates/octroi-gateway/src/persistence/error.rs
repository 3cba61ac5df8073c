//! Why the data directory cannot be used, and what can be done about it.

use std::path::PathBuf;

use octroi_store::StoreError;

use crate::audit::AuditError;
use crate::lost_state::Loss;

/// Why persistent storage is not available.
#[derive(Debug, thiserror::Error)]
pub enum PersistenceError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The audit log cannot be opened.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// A part of what Octroi remembers is gone.
    #[error("{} has lost {}", .directory.display(), listed(.losses))]
    Lost {
        /// The data directory.
        directory: PathBuf,
        /// What is gone.
        losses: Vec<Loss>,
    },
}

fn listed(losses: &[Loss]) -> String {
    losses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and ")
}

impl PersistenceError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Store(error) => error.hint().clone(),
            Self::Audit(error) => error.hint(),
            Self::Lost { losses, .. } if losses[..] == [Loss::Database] => {
                "restore a copy; or rebuild definitions and policies from the audit log with `octroi db \
                 rebuild`; or start without them with `octroi up --accept-loss`"
                    .to_owned()
            }
            Self::Lost { directory, losses }
                if losses.iter().any(|loss| matches!(loss, Loss::DatabaseChanges { .. })) =>
            {
                let database = directory.join("octroi.db");
                let database = database.display();
                format!(
                    "restore a newer copy; or rebuild from the audit log: move {database}, {database}-wal and \
                     {database}-shm away and run `octroi db rebuild`; or go on with it with `octroi up \
                     --accept-loss`, which is recorded"
                )
            }
            Self::Lost { .. } => {
                "restore a copy, or go on without it with `octroi up --accept-loss`, which is recorded"
                    .to_owned()
            }
        }
    }

    /// The same for a command that needs the directory for itself.
    pub(crate) fn hint_to_command(&self) -> String {
        match (self.is_in_use(), self.holder()) {
            (true, Some(process)) => {
                format!("stop the gateway first, which is process {process}, and run this again")
            }
            (true, None) => "stop the gateway first, and run this again".to_owned(),
            (false, _) => self.hint(),
        }
    }

    /// Whether another process uses the directory.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(StoreError::InUse { .. }))
    }

    /// The process that uses the directory, if known.
    pub fn holder(&self) -> Option<u32> {
        match self {
            Self::Store(StoreError::InUse { process, .. }) => *process,
            Self::Store(_) | Self::Audit(_) | Self::Lost { .. } => None,
        }
    }
}

//! The audit log on disk: an append-only row of segment files that shows when somebody changed it.
//!
//! [`AuditLog`] writes, one at a time for all who bring records. [`Reader`] and [`Follower`] read,
//! [`verify()`] looks for changes, [`prove`] shows that a record is part of the log, [`export()`] hands
//! records to other programs. `docs/audit.md` describes the files.

mod checkpoints;
mod cursor;
mod error;
mod export;
mod file;
mod follower;
mod format;
mod handlers;
mod log;
mod proof;
mod purge;
mod queue;
mod reader;
mod recover;
mod syncer;
mod unfinished;
mod verify;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use error::AuditError;
pub use export::{ExportError, ExportFormat, Exported, export};
pub use follower::Follower;
pub(crate) use handlers::Posts;
pub use handlers::{AuditHandler, Delivery, HandlerError, HandlerReading, Handling};
pub use log::{AuditLog, Durability, Opened, Options};
pub use proof::{Proof, ProofError, check_proof, prove};
pub use purge::Purged;
pub use reader::{Reader, Record, Records};
pub use recover::Cut;
pub use unfinished::Unfinished;
pub use verify::{Report, VerifyOptions, verify};
pub use walk::Problem;

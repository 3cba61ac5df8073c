//! The audit log on disk: append-only segment files that are tamper-evident.
//!
//! [`AuditLog`] writes, on behalf of all callers. [`LogReader`] and [`Follower`] read, [`verify()`] detects
//! changes, [`prove`] proves that a record is part of the log, [`export()`] writes records for other
//! programs. `docs/audit.md` describes the files.

mod blocks;
mod carried;
mod checkpoints;
mod compressor;
mod cursor;
mod error;
mod export;
mod file;
mod follower;
mod format;
mod found;
mod handlers;
mod log;
mod missing;
mod proof;
mod purge;
mod queue;
mod reader;
mod recover;
mod replacement;
mod syncer;
mod unfinished;
mod verify;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use error::AuditError;
pub(crate) use export::matching_events;
pub use export::{ExportError, ExportFormat, Exported, export, export_some};
pub use follower::Follower;
pub(crate) use format::count_segments;
pub(crate) use found::{FoundLog, LogFacts};
pub(crate) use handlers::HandlerSet;
pub use handlers::{AuditHandler, Delivery, HandlerError, HandlerReading, Handling};
pub use log::{AuditLog, Durability, Opened, Options};
pub(crate) use missing::{MissingParts, missing_parts};
pub use proof::{Proof, ProofError, check_proof, prove};
pub use purge::{PurgeLimits, Purged};
pub use reader::{LogReader, Record, Records};
pub use recover::Cut;
pub use unfinished::Unfinished;
pub use verify::{Report, VerifyOptions, verify};
pub use walk::LogProblem;

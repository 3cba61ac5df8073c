//! Audit records, and the proof that nobody changed the log.
//!
//! [`Event`] is what is written, [`Entry`] what is read back. Records are linked by a hash chain ([`chain`])
//! and summarized in a Merkle tree ([`merkle`]), whose root is signed from time to time ([`checkpoint`]).
//! Files, threads and keys on disk belong to the gateway.

mod calls;
pub mod chain;
pub mod checkpoint;
pub mod context;
mod decision;
mod entry;
mod event;
mod filter;
mod key;
pub mod merkle;
pub mod purge;
mod session;
mod words;

pub use calls::{CallEnd, CallSums, DURATION_BOUNDS_MS, Durations};
pub use chain::Hash;
pub use checkpoint::Checkpoint;
pub use entry::{Entry, EntryError, EntryFrame, EntryReader};
pub use event::{Actor, CallId, Event};
pub use filter::Filter;
pub use key::{PublicKey, SigningKey};
pub use purge::Purge;
pub use session::session_name;
pub use words::{ActorKind, Kind, Level, Ruling, SourceType};

//! What an audit record is, and how a log of them proves that nobody changed it.
//!
//! [`Event`] is what is to be written, [`Entry`] what is read back. Records are linked by a hash chain
//! ([`chain`]) and summed up in a Merkle tree ([`merkle`]), whose root is signed now and then
//! ([`checkpoint`]). Files, threads and keys on disk are the gateway's business.

pub mod chain;
pub mod checkpoint;
mod entry;
mod event;
mod filter;
mod key;
pub mod merkle;
pub mod purge;
mod words;

pub use chain::Hash;
pub use checkpoint::Checkpoint;
pub use entry::{Entry, EntryError};
pub use event::{Actor, CallId, Event};
pub use filter::Filter;
pub use key::{PublicKey, SigningKey};
pub use purge::Purge;
pub use words::{ActorKind, Kind, Level, Ruling, SourceType};

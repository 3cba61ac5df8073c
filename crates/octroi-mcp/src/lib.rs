//! The Model Context Protocol without IO.
//!
//! Everything Octroi knows about JSON-RPC and about the five protocol versions is here: envelopes that keep
//! `params` and `result` as the received bytes, views of the few fields a gateway reads, rewriting of the few
//! it must change, and the translation between the legacy and the modern era as plain functions. Nothing in
//! this crate waits, reads a clock or opens a socket.

pub mod ask;
pub mod body;
pub mod capability;
pub mod client;
pub mod code;
pub mod envelope;
pub mod header;
pub mod json;
pub mod meta;
pub mod method;
pub mod outcome;
pub mod param_header;
pub mod params;
mod resemblance;
pub mod result;
pub mod sse;
pub mod task;
pub mod translate;
pub mod version;

pub use code::RpcError;
pub use envelope::{Envelope, Id, Incoming, Kind, Malformed};
pub use method::Method;
pub use resemblance::check_names;
pub use version::{Era, Version};

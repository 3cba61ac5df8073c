//! The server for the official MCP conformance suite.
//!
//! It has every tool, prompt and resource that the suite calls by name, and serves them in all protocol
//! versions on one endpoint. The suite runs against it directly, which proves the fixture, and through the
//! gateway, which proves that the gateway loses nothing. A tool that needs something from the client is
//! written once (`asking.rs`) and works in both eras, so that the same scenarios hold when the gateway is
//! between two eras.
//!
//! It is not a model for a real server: the key for request state is a constant, and nothing is authorised.

#![expect(
    deprecated,
    reason = "sampling, roots and logging are deprecated, but clients of older versions still use them"
)]

mod asking;
mod era;
mod fixture;
mod handler;
mod http;
mod prompts;
mod resources;
mod stdio;
mod stream_cut;
mod tools;

pub use self::asking::Asks;
pub use self::era::Era;
pub use self::http::{Answers, Server};
pub use self::stdio::serve_stdio;

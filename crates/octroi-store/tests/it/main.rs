//! Tests of the store through its public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must stop and say so, and processes are started here to be killed"
)]

mod contract;
mod crashes;
mod damage;
mod migrations;
mod mounts;
mod opening;
mod retention;
mod sealing;
mod support;

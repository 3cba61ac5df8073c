//! Tests of the real binary.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod conformance;
mod conformance_client;
mod door;
mod faults;
mod grid;
mod harness;
mod peers;
mod processes;
mod suite;

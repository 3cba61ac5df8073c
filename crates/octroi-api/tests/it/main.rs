//! Tests of the tables.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots like this")]

mod access;
mod errors;
mod generated;
mod operations;
mod requests;
mod resources;
mod responses;
mod rest;

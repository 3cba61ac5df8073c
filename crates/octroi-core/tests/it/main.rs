//! Tests of configuration and decisions through the public API.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots like this")]

mod decisions;
mod formats;
mod generated;
mod governance;
mod grammar;
mod harness;
mod layers;
mod overrides;
mod properties;
mod refusals;
mod schema;
mod shapes;
mod tool_lists;
mod tool_tables;

//! Tests of the configuration model through its front door.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots like this")]

mod formats;
mod generated;
mod grammar;
mod harness;
mod layers;
mod properties;
mod shapes;

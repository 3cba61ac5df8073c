//! Tests of gates as real programs, below a real reaper.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must stop, and tests start the programs they kill"
)]

mod bench;
mod examples;
mod failures;
mod leftovers;
mod life;
mod limits;
mod redirects;
mod watchdog;

//! Properties that hold for every input. `fuzz/` checks the same ones without a time limit.
#![expect(clippy::expect_used, reason = "a test that cannot go on must stop")]

mod generated;
mod properties;

//! Any JSON through the translation between the eras.

#![no_main]

#[path = "../../crates/octroi-mcp/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::translate::check(input));

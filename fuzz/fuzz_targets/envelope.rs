//! Any bytes as a message.

#![no_main]

#[path = "../../crates/octroi-mcp/tests/it/properties/mod.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|input: &[u8]| properties::envelope::check(input));

//! Any policy and any arguments: what rules, facts and redaction cost.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-rules", input));

//! Any templates and any URI: what comparing them costs.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-uris", input));

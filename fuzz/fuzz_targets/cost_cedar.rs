//! Any Cedar policies and any call: what loading and deciding cost.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-cedar", input));

//! Any definitions of tools: what judging them and comparing them costs.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-definitions", input));

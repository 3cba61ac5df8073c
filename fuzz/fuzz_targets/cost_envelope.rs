//! Any bytes as a message: what reading, checking, editing and translating cost.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-envelope", input));

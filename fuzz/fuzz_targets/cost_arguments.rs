//! Any schema and any arguments: what compiling and checking cost.

#![no_main]

mod meter;

libfuzzer_sys::fuzz_target!(|input: &[u8]| meter::check("cost-arguments", input));

//! Tests of the real binary.

mod conformance;
mod door;
mod faults;
mod grid;
mod harness;
